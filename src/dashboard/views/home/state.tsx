import type { JournalPage } from "../../../journal/schema.ts";
import type { FavouriteList } from "../../../servers/schema.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { change } from "../../api.ts";
import { itsWords } from "../../codes.ts";
import { movedBy } from "../../exit-order.ts";
import { say } from "../../language.ts";
import { sameTargets, targetsText } from "../../order.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ViewLink } from "../../parts/link.tsx";
import { OnGateway } from "../../parts/on-gateway.tsx";
import { Told } from "../../parts/told.tsx";
import { TONE_ICONS } from "../../parts/tone.ts";
import { useGivenExits } from "../../protection.ts";
import { type Known, type Sentence, sentenceOf, viaText } from "../../sentence.ts";
import { leftText } from "./left.ts";

type Recent = FavouriteList["recent"];

interface StateProps {
  known: Known;
  events: JournalPage | null;
  /** The servers that `main` was connected to, the latest first. */
  recent: Recent;
}

/** One sentence that says whether the home is protected, why, and what helps. */
export function State({ known, events, recent }: StateProps) {
  const sentence = sentenceOf(known);
  const { tone, title, text, why, command } = sentence;
  const action = useAction();
  const isRepeated =
    why !== null && action.outcome !== null && itsWords(action.outcome.text) === itsWords(why);
  return (
    <section class={`state tone-${tone}`}>
      <h1>
        <Icon name={TONE_ICONS[tone]} /> {title}
      </h1>
      <p class="sentence" role="status">
        {text}
      </p>
      {why !== null && !isRepeated && (
        <p class="why">
          <Told text={why} />
        </p>
      )}
      {command !== undefined && <OnGateway commands={[command]} />}
      <div class="state-buttons">
        <Helping known={known} sentence={sentence} target={targetOf(known, events, recent)} action={action} />
      </div>
      <Outcome of={action} />
    </section>
  );
}

interface HelpingProps {
  known: Known;
  sentence: Sentence;
  target: Target | null;
  action: Action;
}

/** The one button that helps, and what else can be done about the tunnel `main`. */
function Helping({ known, sentence: { help }, target, action }: HelpingProps) {
  switch (help) {
    case "connect":
      return (
        <>
          {target !== null && (
            <Button
              action={action}
              kind="primary"
              doing={say("Connecting to {place}…", { place: target.shown })}
              work={target.connect}
            >
              {target.isAgain ? say("Try again") : say("Connect to {place}", { place: target.shown })}
            </Button>
          )}
          <ViewLink to="servers" class={`button ${target === null ? "primary" : ""}`}>
            {say("Choose a server")}
          </ViewLink>
          {known.status?.state === "reconnecting" && <Disconnect known={known} action={action} />}
        </>
      );
    case "another":
      return (
        <>
          <ViewLink to="servers" class="button primary">
            {say("Another server")}
          </ViewLink>
          {known.status?.connected === true && <Disconnect known={known} action={action} />}
        </>
      );
    case "cancel":
      return (
        <Button action={action} doing={say("Stopping…")} work={disconnect}>
          {say("Stop")}
        </Button>
      );
    case "killswitch":
      return (
        <OnGateway
          commands={["sudo portcullis killswitch on"]}
          forOwner={
            <Button action={action} kind="primary" doing={say("Turning on…")} work={turnOn}>
              {say("Turn on the kill switch")}
            </Button>
          }
        />
      );
    case null:
      return known.status?.connected === true && known.connection.name !== "lost" ? (
        <>
          <Disconnect known={known} action={action} />
          <ViewLink to="servers" class="button">
            {say("Another server")}
          </ViewLink>
        </>
      ) : null;
  }
}

function Disconnect({ known, action }: Pick<HelpingProps, "known" | "action">) {
  const main = known.tunnels?.find(({ name }) => name === "main");
  const isOff = known.status?.killswitch_active === false;
  const scheduled = useGivenExits();
  const moved = movedBy("main", known.devices?.devices ?? [], { tunnels: known.tunnels, scheduled });
  return (
    <Button
      action={action}
      doing={say("Disconnecting…")}
      work={disconnect}
      ask={{
        title: say("Disconnect?"),
        text: leftText(main?.devices, moved, isOff),
        confirm: say("Disconnect"),
      }}
    >
      {say("Disconnect")}
    </Button>
  );
}

/** The state says what happened; a connect that this interrupts is no error. */
const disconnect = async () => void (await change("POST", "disconnect"));

const turnOn = async () => void (await change("PUT", "owner/killswitch", { on: true }));

interface Target {
  shown: string;
  /** Whether it is where the tunnel should lead already. */
  isAgain: boolean;
  connect: () => Promise<void>;
}

/** Where the tunnel `main` should lead, or led last; null if it never led anywhere. */
function targetOf({ tunnels }: Known, events: JournalPage | null, [latest]: Recent): Target | null {
  const main = tunnels?.find(({ name }) => name === "main");
  if (main?.last !== undefined) return targetIn(main.last, events);
  const isAgain = main?.wanted != null;
  const server = main?.wanted ?? latest?.server;
  const provider = isAgain ? main.provider : latest?.provider;
  const via = isAgain ? main.wanted_via : latest?.via;
  if (server === undefined) return null;
  const one = { server, ...(via !== undefined && { via }), ...(provider != null && { provider }) };
  const body = isAgain && main.order !== undefined ? sameTargets(main.order) : one;
  return {
    shown: viaText(placeOf(server, events), via),
    isAgain,
    connect: async () => void (await change("PUT", "tunnels/main", body)),
  };
}

/** The last targets, or the place of the only one. */
function targetIn(last: NonNullable<TunnelRow["last"]>, events: JournalPage | null): Target {
  const [only, ...others] = last.targets;
  return {
    shown:
      only === undefined || others.length > 0
        ? targetsText(last)
        : viaText(placeOf(only.server, events), only.via),
    isAgain: false,
    connect: async () => void (await change("PUT", "tunnels/main", last)),
  };
}

/** A server's place, if the gateway has been connected to it lately; otherwise its name. */
function placeOf(server: string, events: JournalPage | null): string {
  const known = (events?.events ?? []).findLast(
    (each) => each.type === "tunnel_state" && each.server === server,
  );
  return (known?.type === "tunnel_state" && known.location) || server;
}
