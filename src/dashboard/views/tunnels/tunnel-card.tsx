import { useState } from "preact/hooks";
import type { Device, DeviceList } from "../../../devices/schema.ts";
import { standingOf } from "../../../shared/verdict.ts";
import { placeOf } from "../../../shared/verdict-texts.ts";
import { sentenceFrom } from "../../../shared/words.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { useAction } from "../../action.ts";
import { connectedSince, knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { placeText } from "../../country.ts";
import { titleOf } from "../../exit.ts";
import { movedBy, movedText } from "../../exit-order.ts";
import { agoOf, bytesOf, rateOf, someOf, timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { leadAgain } from "../../lead-again.ts";
import { orderFacts, targetsText } from "../../order.ts";
import { Button, FormButton, Outcome } from "../../parts/button.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Keys } from "../../parts/keys.tsx";
import { portFact } from "../../parts/port-fact.ts";
import { qualityFact } from "../../parts/quality-fact.ts";
import { Say } from "../../parts/say.tsx";
import { Told } from "../../parts/told.tsx";
import { useGivenExits } from "../../protection.ts";
import { targetOf, viaText } from "../../sentence.ts";
import { tunnelLook } from "../../told.ts";
import { useNow, useTunnelRate } from "../../traffic.ts";
import { Lead } from "./lead.tsx";
import { TargetsInOrder } from "./targets-in-order.tsx";

interface TunnelCardProps {
  row: TunnelRow;
  devices: DeviceList | null;
}

export function TunnelCard({ row, devices }: TunnelCardProps) {
  const { icon, tone } = tunnelLook(row);
  return (
    <section class={`card tunnel tone-${tone}`}>
      <h2>
        <Icon name="tunnel" /> {row.name}
      </h2>
      <p class="tunnel-state">
        <Icon name={icon} />
        <span>
          <SentenceAbout row={row} />
        </span>
      </p>
      {row.error !== null && (
        <p class="tunnel-error">
          <Told text={inItsWords(sentenceFrom(row.error))} />
        </p>
      )}
      {row.state === "connected" && <Keys row={row} />}
      {row.state === "connected" && <Figures row={row} />}
      <Users row={row} devices={devices} />
      <Actions row={row} devices={devices} />
    </section>
  );
}

function SentenceAbout({ row }: { row: TunnelRow }) {
  const { state, wanted, server, via } = row;
  const place = viaText(placeOf(row), via);
  const target = targetOf(row) ?? say("its server");
  if (row.unanswered)
    return (
      <Say
        message="<strong>No data gets through</strong>: connected to {place}. Switch it to another server."
        parts={{ place }}
      />
    );
  switch (state) {
    case "connected":
      return wanted === server ? (
        <Say message="<strong>Connected</strong> to {place}" parts={{ place }} />
      ) : (
        <Say
          message="<strong>Connected</strong> to {place}, the nearest found in {wanted}"
          parts={{ place, wanted: placeText(wanted ?? "") }}
        />
      );
    case "connecting":
      return row.carrying === undefined ? (
        <Say message="<strong>Connecting</strong> to {target}…" parts={{ target }} />
      ) : (
        <Say
          message="<strong>Connecting</strong> to {target}… Its devices still go through {place}."
          parts={{ target, place: placeOf(standingOf(row)) }}
        />
      );
    case "reconnecting":
      return (
        <Say
          message="<strong>Blocked</strong>: {target} does not answer. The gateway keeps trying."
          parts={{ target }}
        />
      );
    case "failed":
      return (
        <Say
          message="<strong>Blocked</strong>: the tunnel to {target} could not be set up."
          parts={{ target }}
        />
      );
    case "disconnected":
      return <Say message="<strong>Disconnected</strong>: no server is chosen." />;
  }
}

function Figures({ row }: { row: TunnelRow }) {
  const now = useNow();
  const rate = useTunnelRate(row.name);
  const facts: Fact[] = [
    [say("Server"), row.server],
    ...(row.via === undefined ? [] : [[say("Via"), row.via] satisfies Fact]),
    ...portFact(row),
    [say("Address"), row.ip || say("IPv6, or not known")],
    [say("Connected since"), timeOf(connectedSince(row))],
    [
      say("Last handshake"),
      row.latest_handshake === null ? say("none yet") : agoOf(row.latest_handshake, now),
    ],
    ...qualityFact(row),
    ...orderFacts(row),
    [say("Receiving"), rate === null ? bytesOf(row.rx_bytes) : rateOf(rate.rx)],
    [say("Sending"), rate === null ? bytesOf(row.tx_bytes) : rateOf(rate.tx)],
  ];
  return <Facts of={facts} />;
}

/** The devices whose exit it is, by their names. */
function Users({ row, devices }: TunnelCardProps) {
  if (devices === null) return <p>{devicesText(row.devices)}</p>;
  const isDefault = devices.default_exit === row.name;
  const names = namesOn(row.name, devices);
  return (
    <p>
      {names.length === 0 ? (
        say("No device has this exit.")
      ) : (
        <Say
          message="Exit of <strong>{count, plural, one {# device} other {# devices}}</strong>: {names}."
          parts={{ count: names.length, names: someOf(names) }}
        />
      )}
      {isDefault && ` ${say("New devices get it too: it is the default exit.")}`}
    </p>
  );
}

function devicesText(count: number): string {
  return say("{count, plural, one {# device} other {# devices}}", { count });
}

function namesOn(tunnel: string, { devices }: DeviceList): string[] {
  return devices.filter(({ exit }) => exit === tunnel).map(titleOf);
}

function Actions({ row, devices }: TunnelCardProps) {
  const action = useAction();
  const [asked, setAsked] = useState<"server" | "targets" | null>(null);
  const { last } = row;
  const path = pathOf("tunnels", row.name);
  const isOff = knownOf(useAnswer("status"))?.killswitch_active === false;
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? null;
  const scheduled = useGivenExits();
  const moved = movedBy(row.name, devices?.devices ?? [], { tunnels, scheduled });
  const end = async () => void (await change("POST", `${path}/disconnect`));
  const { name: tunnel, wanted } = row;
  const canTry = row.wanted !== null && (row.state === "failed" || row.state === "reconnecting");
  return (
    <>
      {last !== undefined && (
        <p>
          {say(
            last.targets.length > 1
              ? "Its last targets, the best first: {targets}."
              : "It led to {targets} before.",
            { targets: targetsText(last) },
          )}
        </p>
      )}
      <div class="card-buttons">
        {last !== undefined && (
          <Button
            action={action}
            doing={say("Connecting…")}
            work={async () => void (await change("PUT", path, last))}
            label={say(
              last.targets.length > 1
                ? "Connect {tunnel} to the same targets"
                : "Connect {tunnel} to the same target",
              { tunnel },
            )}
          >
            {say(last.targets.length > 1 ? "Same targets" : "Same target")}
          </Button>
        )}
        {canTry && (
          <Button
            action={action}
            doing={say("Connecting to {place}…", { place: targetOf(row) ?? "" })}
            kind="primary"
            work={() => leadAgain(row)}
            label={say("Try again: {tunnel}", { tunnel })}
          >
            {say("Try again")}
          </Button>
        )}
        <FormButton
          label={say(wanted === null ? "Connect {tunnel}" : "Change server: {tunnel}", { tunnel })}
          open={() => setAsked("server")}
        >
          {say(wanted === null ? "Connect" : "Change server")}
        </FormButton>
        <FormButton label={say("Targets of {tunnel}", { tunnel })} open={() => setAsked("targets")}>
          {say("Targets…")}
        </FormButton>
        {row.state === "connecting" && (
          <Button
            action={action}
            doing={say("Stopping…")}
            work={end}
            label={say("Stop connecting {tunnel}", { tunnel })}
          >
            {say("Stop")}
          </Button>
        )}
        {(row.state === "connected" || row.state === "reconnecting" || row.state === "failed") && (
          <Button
            action={action}
            doing={say("Disconnecting…")}
            work={end}
            label={say("Disconnect {tunnel}", { tunnel })}
            ask={{
              title: say("Disconnect {tunnel}?", { tunnel }),
              text: whatDisconnectingDoes(row, devices, moved, isOff),
              confirm: say("Disconnect"),
            }}
          >
            {say("Disconnect")}
          </Button>
        )}
        {row.name !== "main" && (
          <Button
            kind="danger"
            action={action}
            doing={say("Removing…")}
            work={async () => void (await change("DELETE", path))}
            label={say("Remove {tunnel}", { tunnel })}
            ask={{
              title: say("Remove the tunnel {tunnel}?", { tunnel }),
              text: whatRemovingDoes(row, devices),
              confirm: say("Remove"),
            }}
          >
            {say("Remove")}
          </Button>
        )}
      </div>
      {asked === "server" && <Lead row={row} action={action} onClose={() => setAsked(null)} />}
      {asked === "targets" && <TargetsInOrder row={row} action={action} onClose={() => setAsked(null)} />}
      {asked === null && <Outcome of={action} />}
    </>
  );
}

/** What becomes of those who go through a tunnel once it is disconnected. */
function whatDisconnectingDoes(
  row: TunnelRow,
  devices: DeviceList | null,
  moved: readonly Device[],
  isOff: boolean,
): string {
  const staying = whoStays(row, devices, moved);
  const isAll = moved.length > 0 && staying.count === 0 && !staying.isDefault;
  const rest = isAll ? "" : isOff ? openText(staying) : blockedText(staying);
  return [rest, movedText(moved)].join(" ").trim();
}

/** Those with no other exit. */
function blockedText({ names, count, isDefault }: Staying): string {
  if (names !== "")
    return isDefault
      ? say(
          "{names}, and each new device, will have no internet until the tunnel is connected again. No other tunnel takes its place.",
          { names },
        )
      : say(
          "{count, plural, one {{names} will have} other {{names} will have}} no internet until the tunnel is connected again. No other tunnel takes its place.",
          { count, names },
        );
  return isDefault
    ? say(
        "New devices will have no internet until the tunnel is connected again. No other tunnel takes its place.",
      )
    : say(
        "{count, plural, one {# device} other {# devices}} will have no internet until the tunnel is connected again. No other tunnel takes its place.",
        { count },
      );
}

/** The same if the kill switch is not in place. */
function openText({ names, count, isDefault }: Staying): string {
  if (names !== "")
    return isDefault
      ? say(
          "The kill switch is not in place: {names}, and each new device, might then leave outside every tunnel.",
          { names },
        )
      : say(
          "The kill switch is not in place: {count, plural, one {{names} might then leave} other {{names} might then leave}} outside every tunnel.",
          { count, names },
        );
  return isDefault
    ? say("The kill switch is not in place: new devices might then leave outside every tunnel.")
    : say(
        "The kill switch is not in place: {count, plural, one {# device} other {# devices}} might then leave outside every tunnel.",
        { count },
      );
}

interface Staying {
  /** Empty if they are not known. */
  names: string;
  count: number;
  /** Whether new devices get the exit, too. */
  isDefault: boolean;
}

function whoStays(row: TunnelRow, list: DeviceList | null, moved: readonly Device[]): Staying {
  const isDefault = list?.default_exit === row.name;
  const staying = list?.devices.filter((each) => each.exit === row.name && !moved.includes(each)) ?? [];
  const count = staying.length || Math.max(0, row.devices - moved.length);
  return { names: someOf(staying.map(titleOf)), count, isDefault };
}

function whatRemovingDoes(row: TunnelRow, devices: DeviceList | null): string {
  const has = ({ exit, exit_order }: DeviceList["devices"][number]) =>
    exit === row.name || exit_order?.includes(row.name);
  const names = devices?.devices.filter(has).map(titleOf) ?? [];
  if (names.length > 0)
    return say(
      "It is the exit of {names}. The gateway keeps it until you have chosen another exit for them.",
      { names: someOf(names) },
    );
  if (devices?.default_exit === row.name)
    return say("It is the default exit. The gateway keeps it until you have chosen another one.");
  return say("No device uses it, so no device loses the internet.");
}
