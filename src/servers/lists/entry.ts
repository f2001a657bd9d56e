import { Type } from "typebox";
import { type Address, isIpv4 } from "../../base/address.ts";
import { checkerOf } from "../../base/checker.ts";
import { isName } from "../../base/name.ts";
import { isKey } from "../../wireguard/key-text.ts";
import { inRange, type PortRange } from "../ports.ts";

/** A WireGuard server of a provider's list: the fields that clients see, and those of the endpoint. */
export interface ListedServer {
  name: string;
  /** The `provider` of its public record. */
  label: string;
  country: string;
  city: string;
  ipv4: Address;
  port: number;
  /** Null if the server tells its key only when the gateway registers with it. */
  publicKey: string | null;
  /** The port at which every other server of its label forwards packets to this one. */
  multihopPort?: number;
  /** Its provider opens ports, but not at this server. */
  opensPorts?: false;
  /** Where it answers too. */
  ports?: readonly PortRange[];
  /** It understands LWO. */
  lwo?: true;
  /** Where it understands Shadowsocks; at these addresses, at every port. */
  shadowsocks?: { ports: readonly PortRange[]; addresses?: readonly Address[] };
  /** TCP ports at which it takes WireGuard's packets. */
  udp2tcp?: readonly number[];
  /** Inside the tunnel it agrees on keys that are safe from quantum computers. */
  ephemeralPeers?: true;
}

/** A server whose IPv4 address is not checked yet. */
export type UncheckedServer = Omit<ListedServer, "ipv4"> & { ipv4: string };

/** The result of an adapter from a document in its format. */
export interface Reading {
  servers: ListedServer[];
  /** The number of malformed entries. */
  skipped: number;
  /** The provider's resolver inside the tunnel, if the list names one. */
  resolver?: Address;
}

/** Null if the document is not in the adapter's format. */
export type Adapter = (document: unknown) => Reading | null;

/** The result for an entry; `left out` is for one that is not faulty, such as an inactive server. */
export type Outcome = ListedServer | "left out" | "malformed";

/** An entry with the name of an earlier one counts as malformed, so that a server's name is never ambiguous. */
export function readingOf<Entry>(entries: readonly Entry[], outcomeOf: (entry: Entry) => Outcome): Reading {
  const servers = new Map<string, ListedServer>();
  let skipped = 0;
  for (const entry of entries) {
    const outcome = outcomeOf(entry);
    if (outcome === "left out") continue;
    if (outcome === "malformed" || servers.has(outcome.name)) skipped++;
    else servers.set(outcome.name, outcome);
  }
  return { servers: [...servers.values()], skipped };
}

/** Checks the entries of every format: the author of a list chooses these texts, and clients print them. */
export function checked(server: UncheckedServer): ListedServer | "malformed" {
  const { name, ipv4, port, publicKey, multihopPort = 0, ports = [] } = server;
  const { lwo, shadowsocks, udp2tcp = [], ephemeralPeers } = server;
  const places = { label: tidied(server.label), country: tidied(server.country), city: tidied(server.city) };
  const named = [name, ...Object.values(places)].every((text) => isName(text) && isVisible(text));
  const keyed = publicKey === null || isKey(publicKey);
  if (!named || !isServerAddress(ipv4) || !isPort(port) || !keyed) return "malformed";
  // Without a usable multi-hop port, the server can still be reached directly.
  return {
    ...{ name, ...places, ipv4, port, publicKey },
    ...(isPort(multihopPort) && { multihopPort }),
    ...(ports.length > 0 && { ports }),
    ...(lwo && { lwo }),
    ...(shadowsocks && { shadowsocks }),
    ...(udp2tcp.length > 0 && { udp2tcp }),
    ...(ephemeralPeers && { ephemeralPeers }),
  };
}

/** More than any list has. */
const MAX_RANGES = 64;
const portRange = checkerOf(
  Type.Tuple([Type.Integer({ minimum: 1, maximum: 65535 }), Type.Integer({ minimum: 1, maximum: 65535 })]),
);

/** `[[53,53],[4000,33433],…]`; what cannot be read is left out. */
export function rangesIn(value: unknown): readonly PortRange[] {
  const ranges = Array.isArray(value) ? value.slice(0, MAX_RANGES) : [];
  return ranges.filter((each) => portRange.Check(each) && each[0] <= each[1]);
}

/** The offer of Shadowsocks, if there is one. */
export function shadowsocksIn(ports: unknown, addresses: unknown): Pick<ListedServer, "shadowsocks"> {
  const ranges = rangesIn(ports);
  const own = (Array.isArray(addresses) ? addresses : []).filter(
    (each): each is Address => typeof each === "string" && isServerAddress(each),
  );
  if (ranges.length === 0 && own.length === 0) return {};
  return { shadowsocks: { ports: ranges, ...(own.length > 0 && { addresses: own.slice(0, 1) }) } };
}

/** More than any list has. Each of them is tried, so they must be few. */
const MAX_UDP2TCP = 3;

/** `[443,80]`; what cannot be read is left out. */
export function portsIn(value: unknown): readonly number[] {
  const ports = Array.isArray(value) ? value.filter((each) => typeof each === "number" && isPort(each)) : [];
  return [...new Set<number>(ports)].slice(0, MAX_UDP2TCP);
}

/** The one that is preferred, or the first one if the list has others only. */
export function usualPort(preferred: number, ranges: readonly PortRange[]): number {
  return inRange(preferred, ranges) ? preferred : (ranges[0]?.[0] ?? preferred);
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65535;
}

/** Some lists are sloppy here: Windscribe's has cities that end in a space. */
function tidied(text: string): string {
  return text.normalize("NFC").trim();
}

/** Direction marks, zero-width characters and line separators would make a terminal show another name. */
function isVisible(text: string): boolean {
  return !/[\p{C}\p{Zl}\p{Zp}]/u.test(text);
}

/** Refuses "this host" (RFC 1122), loopback, link-local, multicast and reserved addresses: no server has one. */
function isServerAddress(ipv4: string): ipv4 is Address {
  return isIpv4(ipv4) && !/^(0|127|22[4-9]|2[3-5][0-9])\.|^169\.254\./.test(ipv4);
}
