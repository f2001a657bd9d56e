import { viaText } from "../servers/hops.ts";
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
  switch (row.state) {
    case "disconnected":
      return warning("tunnel_off", { command: connectTo(row.name) });
    case "connecting":
      return warning("tunnel_connecting", serverIn(row));
    case "failed":
    case "reconnecting":
      return silent(facts);
    case "connected":
      return (data === null ? row.unanswered : !data) ? noData(facts) : alive(facts);
  }
}

/** What is to be connected, while nothing is. */
function serverIn(row: TunnelFacts["row"]): Record<"hops" | "server" | "via", string> {
  const [server, via] = row.server === "" ? [row.wanted, row.wanted_via] : [row.server, row.via];
  if (server == null) return { hops: "unknown", server: "", via: "" };
  return { hops: via === undefined ? "one" : "two", server, via: via ?? "" };
}

function alive({ row, now }: TunnelFacts): Finding {
  const age = ageOf(row.latest_handshake, now);
  const server = serverIn(row);
  if (age === null || age >= SESSION_ENDS_MS) return warning("tunnel_stale", server);
  const led = { ...server, ...wayTo(row) };
  if (row.quantum === false) return warning("tunnel_unsafe", led);
  return ok("tunnel_up", { ...led, keys: row.quantum ? "safe" : "usual", seconds: secondsOf(age) });
}

function wayTo({ port = 0, transport, blocked, wanted_transport }: TunnelFacts["row"]) {
  if (transport === undefined)
    return { way: port === 0 ? "usual" : "port", port, transport: "", protocol: "" };
  const { protocol, offered } = TRANSPORTS[transport];
  const asked = wanted_transport === undefined ? (blocked ?? "plain") : "asked";
  return {
    way: offered.by === "configuration" ? "configuration" : asked,
    ...{ port, transport: RELAYS[transport].words.name, protocol: protocol.toUpperCase() },
  };
}

/** The server answers handshakes, so it is up and knows the key. */
function noData({ row, now }: TunnelFacts): Finding {
  const age = ageOf(row.latest_handshake, now);
  const seconds = age === null ? "unknown" : secondsOf(age);
  return fault("tunnel_unanswered", { ...serverIn(row), seconds, provider: row.provider ?? "unknown" });
}

/** There is no handshake. WireGuard servers do not say why, so the likely cause depends on the other facts. */
function silent({ row, online, detour, clockBehind, othersAnswer }: TunnelFacts): Finding {
  const { hops } = serverIn(row);
  const reason = row.error ?? `${titleOf(row)} does not answer handshakes`;
  if (!online) return fault("tunnel_offline", { reason });
  if (detour !== null) return fault("tunnel_detour", { reason, detour });
  if (clockBehind) return fault("tunnel_clock_behind", { reason });
  if (row.error !== null && UNKEYED.test(row.error)) return fault("tunnel_unkeyed", { reason });
  if (row.error !== null && !UNANSWERED.test(row.error)) return fault("tunnel_uncontacted", { reason });
  if (othersAnswer) return fault("tunnel_server_down", { reason, hops });
  return fault(row.provider === "managed" ? "tunnel_refused" : "tunnel_silent", { reason });
}

/** The message of the dialer, the probe and the supervisor about a server that is silent. */
const UNANSWERED = /answer(ed)? the WireGuard handshake|no longer answers/;

/** The message of the agreement on keys. */
const UNKEYED = /no keys that are safe from quantum computers/;

function titleOf(row: TunnelFacts["row"]): string {
  const { hops, server, via } = serverIn(row);
  return hops === "unknown" ? "the server" : viaText(server, hops === "two" ? via : undefined);
}

function connectTo(name: string): string {
  return name === "main" ? "portcullis connect" : `portcullis tunnel ${name} connect`;
}

function ageOf(handshake: string | null, now: number): number | null {
  return handshake === null ? null : Math.max(0, now - Date.parse(handshake));
}

function secondsOf(ms: number): number {
  return Math.round(ms / 1_000);
}
