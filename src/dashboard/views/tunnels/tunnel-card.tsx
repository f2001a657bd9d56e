import { useState } from "preact/hooks";
import type { DeviceList } from "../../../devices/schema.ts";
import { tunnelTitle } from "../../../shared/words.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { useAction } from "../../action.ts";
import { connectedSince, knownOf, useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { agoOf, bytesOf, countOf, rateOf, sentenceFrom, someOf, timeOf } from "../../format.ts";
import { leadAgain } from "../../lead-again.ts";
import { Button, FormButton, Outcome } from "../../parts/button.tsx";
import { type Fact, Facts } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icon.tsx";
import { placeOf, targetOf, viaText } from "../../sentence.ts";
import { tunnelLook } from "../../told.ts";
import { useNow, useTunnelRate } from "../../traffic.ts";
import { Lead } from "./lead.tsx";

interface TunnelCardProps {
  row: TunnelRow;
  devices: DeviceList | null;
}

export function TunnelCard({ row, devices }: TunnelCardProps) {
  const { icon, tone, word } = tunnelLook(row);
  return (
    <section class={`card tunnel tone-${tone}`}>
      <h2>
        <Icon name="tunnel" /> {row.name}
      </h2>
      <p class="tunnel-state">
        <Icon name={icon} />
        <span>
          <strong>{word}</strong>
          {sentenceAbout(row)}
        </span>
      </p>
      {row.error !== null && <p class="tunnel-error">{sentenceFrom(row.error)}</p>}
      {row.state === "connected" && <Figures row={row} />}
      <Users row={row} devices={devices} />
      <Actions row={row} devices={devices} />
    </section>
  );
}

function sentenceAbout(row: TunnelRow): string {
  const { state, wanted, server, via } = row;
  const target = targetOf(row) ?? "its server";
  if (row.unanswered) return `: connected to ${viaText(placeOf(row), via)}. Move it to another server.`;
  switch (state) {
    case "connected":
      return ` to ${viaText(placeOf(row), via)}${wanted === server ? "" : `, the nearest found in ${wanted}`}`;
    case "connecting":
      return ` to ${target}…`;
    case "reconnecting":
      return `: ${target} does not answer. The gateway keeps trying.`;
    case "failed":
      return `: the tunnel to ${target} could not be set up.`;
    case "disconnected":
      return ": no server is chosen.";
  }
}

function Figures({ row }: { row: TunnelRow }) {
  const now = useNow();
  const rate = useTunnelRate(row.name);
  const facts: Fact[] = [
    ["Server", row.server],
    ...(row.via === undefined ? [] : [["Via", row.via] satisfies Fact]),
    ...(row.port === undefined
      ? []
      : [["Port", `${row.port}, because its usual one does not answer`] satisfies Fact]),
    ["Address", row.ip || "IPv6, or not known"],
    ["Connected since", timeOf(connectedSince(row))],
    ["Last handshake", row.latest_handshake === null ? "none yet" : agoOf(row.latest_handshake, now)],
    ["Receiving", rate === null ? bytesOf(row.rx_bytes) : rateOf(rate.rx)],
    ["Sending", rate === null ? bytesOf(row.tx_bytes) : rateOf(rate.tx)],
  ];
  return <Facts of={facts} />;
}

/** The devices whose exit it is, by their names. */
function Users({ row, devices }: TunnelCardProps) {
  if (devices === null) return <p>{countOf(row.devices, "device")}</p>;
  const isDefault = devices.default_exit === row.name;
  const names = namesOn(row.name, devices);
  return (
    <p>
      {names.length === 0 ? (
        "No device has this exit."
      ) : (
        <>
          Exit of <strong>{countOf(names.length, "device")}</strong>: {someOf(names)}.
        </>
      )}
      {isDefault && " New devices get it too: it is the default exit."}
    </p>
  );
}

function namesOn(tunnel: string, { devices }: DeviceList): string[] {
  return devices.filter(({ exit }) => exit === tunnel).map(titleOf);
}

function Actions({ row, devices }: TunnelCardProps) {
  const action = useAction();
  const [isMoving, setMoving] = useState(false);
  const path = pathOf("tunnels", row.name);
  const isOff = knownOf(useAnswer("status"))?.killswitch_active === false;
  const who = whoLeavesBy(row, devices);
  const ending = isOff
    ? `The kill switch is not in place: ${who} may then leave outside every tunnel.`
    : `${who} will have no internet until the tunnel is connected again. No other tunnel takes its place.`;
  const end = async () => void (await change("POST", `${path}/disconnect`));
  const lead = row.wanted === null ? "Connect" : "Move";
  const canTry = row.wanted !== null && (row.state === "failed" || row.state === "reconnecting");
  return (
    <>
      <div class="card-buttons">
        {canTry && (
          <Button
            action={action}
            doing={`Connecting to ${targetOf(row)}…`}
            kind="primary"
            work={() => leadAgain(row)}
            label={`Try again: ${row.name}`}
          >
            Try again
          </Button>
        )}
        <FormButton label={`${lead} ${row.name}`} open={() => setMoving(true)}>
          {lead}
        </FormButton>
        {row.state === "connecting" && (
          <Button action={action} doing="Stopping…" work={end} label={`Stop connecting ${row.name}`}>
            Stop
          </Button>
        )}
        {(row.state === "connected" || row.state === "reconnecting" || row.state === "failed") && (
          <Button
            action={action}
            doing="Disconnecting…"
            work={end}
            label={`Disconnect ${row.name}`}
            ask={{
              title: `Disconnect ${row.name}?`,
              text: ending,
              confirm: "Disconnect",
            }}
          >
            Disconnect
          </Button>
        )}
        {row.name !== "main" && (
          <Button
            kind="danger"
            action={action}
            doing="Removing…"
            work={async () => void (await change("DELETE", path))}
            label={`Remove ${row.name}`}
            ask={{
              title: `Remove the ${tunnelTitle(row.name)}?`,
              text: whatRemovingDoes(row, devices),
              confirm: "Remove",
            }}
          >
            Remove
          </Button>
        )}
      </div>
      {isMoving ? (
        <Lead row={row} action={action} onClose={() => setMoving(false)} />
      ) : (
        <Outcome of={action} />
      )}
    </>
  );
}

function whoLeavesBy(row: TunnelRow, devices: DeviceList | null): string {
  const names = devices === null ? [] : namesOn(row.name, devices);
  const isDefault = devices?.default_exit === row.name;
  if (names.length === 0) return isDefault ? "New devices" : countOf(row.devices, "device");
  return isDefault ? `${someOf(names)}, and each new device,` : someOf(names);
}

function whatRemovingDoes(row: TunnelRow, devices: DeviceList | null): string {
  const names = devices === null ? [] : namesOn(row.name, devices);
  if (names.length > 0)
    return `It is the exit of ${someOf(names)}. The gateway keeps it until you have chosen another exit for them.`;
  if (devices?.default_exit === row.name)
    return "It is the default exit. The gateway keeps it until you have chosen another one.";
  return "No device leaves by it, so nobody loses the internet.";
}
