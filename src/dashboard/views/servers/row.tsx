import type { ComponentChildren } from "preact";
import type { Provider } from "../../../servers/schema.ts";
import type { Order } from "../../../tunnel/order.ts";
import { useMayChange } from "../../access.ts";
import { useAction } from "../../action.ts";
import { change, pathOf } from "../../api.ts";
import { say } from "../../language.ts";
import { targetsText } from "../../order.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { answerOf } from "../../store.ts";
import { type Connecting, isConnected, plainly, type ServerChoice } from "./connecting.ts";
import { PlaceButton } from "./place-form.tsx";

interface ServerRowProps {
  provider: Provider;
  name: string;
  /** The server through which it is reached, if any. */
  via?: string;
  /** What else is known about it: its place, its round trip, its provider. */
  facts: readonly string[];
  isFavourite: boolean;
  connecting: Connecting;
  /** Where an imported one is, which a person may say. */
  place?: string;
  /** The list that the row is in: a server may be in several. */
  list: string;
  canRemove?: boolean;
}

/** A server: a star, its name and what is known about it, and what can be done with it. */
export function ServerRow(props: ServerRowProps) {
  const { provider, name, facts, isFavourite, connecting, list, place, canRemove } = props;
  const via = props.via ?? connecting.entry ?? undefined;
  const star = useAction();
  const mayChange = useMayChange();
  const isHere = isConnected(connecting, provider, name, via);
  const at = `${list}/${provider}/${name}/${via ?? ""}`;
  return (
    <li class="server">
      <button
        type="button"
        class="star"
        aria-pressed={isFavourite}
        aria-busy={star.running !== null}
        aria-disabled={!mayChange}
        aria-label={say("Favourite: {server}", { server: name })}
        onClick={() => mayChange && star.start("star", "", () => mark(provider, name, !isFavourite))}
      >
        <Icon name="star" />
      </button>
      <div class="server-name">
        <strong>{name}</strong>
        {facts.length > 0 && <span class="quiet small">{facts.join(" · ")}</span>}
      </div>
      <div class="server-buttons">
        {provider === "imported" && <PlaceButton name={name} place={place ?? ""} />}
        {canRemove && !isHere && <Remove provider={provider} name={name} />}
        {isHere ? (
          <ConnectedTag />
        ) : (
          <Connect at={at} connecting={connecting} to={{ provider, server: name, ...(via && { via }) }} />
        )}
      </div>
      <RowOutcome connecting={connecting} at={at} />
      {star.outcome !== null && <Outcome of={star} />}
    </li>
  );
}

/** A country or a city; it may open. */
export function PlaceRow(props: {
  provider: Provider;
  /** As the gateway takes it: "Sweden", or "Gothenburg, Sweden". */
  place: string;
  list: string;
  connecting: Connecting;
  children: ComponentChildren;
}) {
  const { provider, place, list, connecting, children } = props;
  const at = `${list}/${provider}/${place}`;
  return (
    <div class="server">
      {children}
      <div class="server-buttons">
        <Connect
          at={at}
          connecting={connecting}
          to={{ provider, server: place, ...(connecting.entry !== null && { via: connecting.entry }) }}
        />
      </div>
      <RowOutcome connecting={connecting} at={at} />
    </div>
  );
}

export function ConnectedTag() {
  return (
    <span class="tag tone-protected">
      <Icon name="shield" /> {say("Connected")}
    </span>
  );
}

function Connect({ at, connecting, to }: { at: string; connecting: Connecting; to: ServerChoice }) {
  const { server: place, via } = to;
  const order = connecting.main?.order;
  return (
    <Button
      action={connecting.action}
      doing={say("Connecting…")}
      label={
        via === undefined
          ? say("Connect to {place}", { place })
          : say("Connect to {place} via {via}", { place, via })
      }
      work={() => connecting.connect(at, to)}
      {...(order !== undefined && { ask: askAbout(order, place) })}
    >
      {say("Connect")}
    </Button>
  );
}

/** One target replaces all that the tunnel has. */
function askAbout(order: Order, place: string) {
  return {
    title: say("Replace the targets?"),
    text: say(
      "The main tunnel has targets in order: {targets}. If you connect it to {place}, it has only this one.",
      { targets: targetsText(order), place },
    ),
    confirm: say("Connect"),
  };
}

function RowOutcome({ connecting, at }: { connecting: Connecting; at: string }) {
  return connecting.at === at ? <Outcome of={connecting.action} /> : null;
}

const REMOVE: Readonly<Record<Exclude<Provider, "managed">, string>> = {
  custom: "custom/remove",
  imported: "import",
};

function Remove({ provider, name }: { provider: Provider; name: string }) {
  if (provider === "managed") return null;
  return (
    <Button
      kind="plain"
      doing={say("Removing…")}
      label={say("Remove {server}", { server: name })}
      work={() => plainly(change("DELETE", `${REMOVE[provider]}/${encodeURIComponent(name)}`))}
      ask={{
        title: say("Remove the server {server}?", { server: name }),
        text: say(
          "The gateway forgets it, its keys included. To use it again you need its file or its settings. Servers that a tunnel uses cannot be removed.",
        ),
        confirm: say("Remove"),
      }}
    >
      {say("Remove")}
    </Button>
  );
}

/** What the gateway has confirmed is shown at once; after several stars in a second, its answer comes later. */
async function mark(provider: Provider, server: string, isFavourite: boolean): Promise<void> {
  const path = pathOf("favourites", provider, server);
  await plainly(change(isFavourite ? "PUT" : "DELETE", path));
  const answer = answerOf("favourites");
  if (answer.value?.state !== "ready") return;
  const { favourites, recent } = answer.value.value;
  const others = favourites.filter((each) => each.provider !== provider || each.server !== server);
  const value = { favourites: isFavourite ? [...others, { provider, server }] : others, recent };
  answer.value = { state: "ready", value };
}
