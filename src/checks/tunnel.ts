import { viaText } from "../servers/hops.ts";
import { BLOCKED_WORDS } from "../shared/words.ts";
import { RELAYS, TRANSPORTS } from "../transports/list.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** WireGuard renews a session in use after two minutes, and drops it after three (white paper, 6.1). */
const SESSION_ENDS_MS = 180_000;

/** The facts about one tunnel. */
export interface TunnelFacts {
  row: Pick<
    TunnelRow,
    | "name"
    | "state"
    | "provider"
    | "server"
    | "via"
    | "port"
    | "transport"
    | "blocked"
    | "wanted"
    | "wanted_via"
    | "wanted_transport"
    | "quantum"
    | "latest_handshake"
    | "error"
    | "unanswered"
  >;
  /** Milliseconds since 1970. */
  now: number;
  /** Whether the uplink has a carrier and a route. */
  online: boolean;
  /** The route to the server, if it is not the default one; else null. */
  detour: string | null;
  /** Whether this machine's clock is behind the last handshake. */
  clockBehind: boolean;
  /** Whether another server has answered lately with the same provider's key. */
  othersAnswer: boolean;
  /** Whether data that was sent through it was answered; null if nothing was sent. */
  data: boolean | null;
}

/** Distinguishes the reasons why a tunnel carries nothing. */
export function tunnelFinding(facts: TunnelFacts): Finding {
  const { row, data } = facts;
  const title = titleOf(row);
  switch (row.state) {
    case "disconnected":
      return warning("not connected: nothing leaves by it", connectTo(row.name));
    case "connecting":
      return warning(`connecting to ${title}`, "Wait some seconds and check again.");
    case "failed":
    case "reconnecting":
      return silent(facts, title);
    case "connected":
      return (data === null ? row.unanswered : !data) ? noData(facts, title) : alive(facts, title);
  }
}

function titleOf({ server, via, wanted, wanted_via }: TunnelFacts["row"]): string {
  const [name, entry] = server === "" ? [wanted ?? "the server", wanted_via] : [server, via];
  return viaText(name, entry);
}

function alive({ row, now }: TunnelFacts, title: string): Finding {
  const age = ageOf(row.latest_handshake, now);
  if (age !== null && age < SESSION_ENDS_MS && row.quantum === false)
    return warning(
      `connected to ${title}${portText(row)}, but its keys are not safe from quantum computers: it agreed on none that are`,
      "Connect to another of Mullvad's servers, or again later. With --quantum require, nothing is carried without such keys.",
    );
  if (age !== null && age < SESSION_ENDS_MS) {
    const keys = row.quantum ? ", with keys that are safe from quantum computers" : "";
    return ok(`connected to ${title}${portText(row)}${keys}; last handshake ${secondsOf(age)} ago`);
  }
  return warning(
    `connected to ${title}, but there was no handshake for three minutes`,
    "The gateway reconnects by itself when the server stays silent. Check again in a minute.",
  );
}

function portText({ port, transport, blocked, wanted_transport }: TunnelFacts["row"]): string {
  if (transport !== undefined) {
    const { protocol, offered } = TRANSPORTS[transport];
    const here = blocked === undefined ? "plain WireGuard is blocked here" : BLOCKED_WORDS[blocked];
    const asked = wanted_transport === undefined ? `because ${here}` : "as was asked for";
    const why = offered.by === "configuration" ? "as its configuration says" : asked;
    return ` by ${RELAYS[transport].words.name} at ${protocol.toUpperCase()} port ${port}, ${why}`;
  }
  return port === undefined ? "" : ` at port ${port}, because it does not answer at its usual one from here`;
}

/** The server answers handshakes, so it is up and knows the key. */
function noData({ row, now }: TunnelFacts, title: string): Finding {
  const age = ageOf(row.latest_handshake, now);
  const shaken = age === null ? "" : ` ${secondsOf(age)} ago`;
  const account =
    row.provider === "managed"
      ? " Check whether your account has expired: sudo portcullis account show."
      : "";
  return fault(
    `${title} answered the handshake${shaken}, but no data came back`,
    `The server is up and knows your key, but does not carry your traffic.${account} Try another server: portcullis connect, with a country or a city.`,
  );
}

/** There is no handshake. WireGuard servers do not say why, so the likely cause depends on the other facts. */
function silent({ row, online, detour, clockBehind, othersAnswer }: TunnelFacts, title: string): Finding {
  const found = row.error ?? `${title} does not answer handshakes`;
  if (!online) return fault(found, "The uplink is down: repair it first.");
  if (detour !== null)
    return fault(
      `${found} (what is sent to it takes the route ${detour}, and not the default route)`,
      `If this route is not yours, a machine on the uplink has set it, by DHCP or router advertisements. Nothing leaves outside the tunnel by it. Remove it: sudo ip route del ${detour}`,
    );
  if (clockBehind) return fault(found, "The clock is behind: set it first.");
  if (row.error !== null && UNKEYED.test(row.error))
    return fault(
      found,
      "The server answers, but not with the keys that are required. Connect to another of Mullvad's servers, or do without: portcullis connect, with --quantum on.",
    );
  if (row.error !== null && !UNANSWERED.test(row.error))
    return fault(found, "The server was not contacted. Solve this first, then connect again.");
  if (othersAnswer)
    return fault(
      `${found} (another server accepts the same key)`,
      `The key is good and the uplink works, so ${row.wanted_via === undefined ? "this server" : "one of the two servers"} is down. Try another one: portcullis connect, with a country or a city.`,
    );
  if (row.provider === "managed")
    return fault(
      `${found} (no other server has accepted the key lately)`,
      "The server is down, or the provider refuses the key because the account has expired or the key was removed. To see which: sudo portcullis account show. If the account is good, try another server.",
    );
  return fault(
    found,
    "Check that the server is up, that its address, port and public key are right, and that it has this gateway's public key. Some networks block UDP: try another port if the server has one.",
  );
}

/** The message of the dialer, the probe and the supervisor about a server that is silent. */
const UNANSWERED = /answer(ed)? the WireGuard handshake|no longer answers/;

/** The message of the agreement on keys. */
const UNKEYED = /no keys that are safe from quantum computers/;

function connectTo(name: string): string {
  const command = name === "main" ? "portcullis connect" : `portcullis tunnel ${name} connect`;
  return `Connect it: ${command}, with a server, a country or a city.`;
}

function ageOf(handshake: string | null, now: number): number | null {
  return handshake === null ? null : Math.max(0, now - Date.parse(handshake));
}

function secondsOf(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
