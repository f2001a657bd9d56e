import { type Address, familyOf, type Prefix } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { MARK_MASK } from "../network/slot.ts";

/** The four WireGuard message types with their three reserved zero bytes (WireGuard white paper, 5.4). */
export const WIREGUARD = "@th,64,32 { 0x01000000, 0x02000000, 0x03000000, 0x04000000 }";

/** Queries to a resolver. The port comes first: nearly all packets have another one. */
export const DNS = "th dport 53 meta l4proto { tcp, udp }";

/** TCP packets that are not the first of a connection. */
export const MID_STREAM = "ct state new tcp flags & (fin | syn | rst | ack) != syn";

/** A chain without a head is not hooked: a rule of another chain leads there. */
export function chain(name: string, head: string | null, rules: readonly string[]): string {
  const lines = [...(head === null ? [] : [head]), ...rules];
  return `  chain ${name} {\n${lines.map((line) => `    ${line}\n`).join("")}  }\n`;
}

/** A set of the table, which may be empty. The same elements in any order make the same text. */
export function tableSet(name: string, type: string, elements: readonly string[]): string {
  return `  set ${name} {\n    type ${type}\n${elementsLine([...new Set(elements)].sort())}  }\n`;
}

/** nft refuses a list of none. */
export function elementsLine(elements: readonly string[]): string {
  return elements.length === 0 ? "" : `    elements = { ${elements.join(", ")} }\n`;
}

/** With no more interfaces than these, comparisons of their names are as quick as a look-up in a map. */
const FEW = 4;

/**
 * Rules that lead what comes in by each interface to its chain. With many interfaces, one look-up is quicker. The
 * comparisons stay behind it: when the table is replaced, the kernel runs the previous chains for about a millisecond
 * more, but finds nothing in their maps (Linux 6.18).
 */
export function byInterface(
  ways: readonly (readonly [string, string])[],
  comment = 'comment "each interface has its own rules"',
): string[] {
  const entries = ways.map(([name, verdict]) => `"${name}" : ${verdict}`).join(", ");
  return [
    ...(ways.length > FEW
      ? [
          `iifname vmap { ${entries} } comment "the same as below, in one look-up, unless the table is being replaced"`,
        ]
      : []),
    ...ways.map(([name, verdict]) => `iifname "${name}" ${verdict} ${comment}`),
  ];
}

/** One match for what is sent to any of these addresses, or no match if there are none. */
export function toOneOf(family: 4 | 6, addresses: readonly Address[]): string[] {
  const some = addresses.filter((address) => familyOf(address) === family);
  return some.length === 0 ? [] : [`${headerOf(family)} daddr ${anyOf([...new Set(some)])}`];
}

/**
 * Matches for these addresses and prefixes: `ip saddr { … }` for the addresses of a family, and one for each prefix. A
 * set of prefixes seems empty for about a millisecond while the table is replaced (Linux 6.18); a set of addresses does
 * not.
 */
export function byFamily(field: "saddr" | "daddr", addresses: readonly (Address | Prefix)[]): string[] {
  return ([4, 6] as const).flatMap((family) => {
    const some = addresses.filter((address) => familyOf(address) === family);
    const prefixes = some.filter((address) => address.includes("/"));
    const hosts = some.filter((address) => !address.includes("/"));
    const values = [...(hosts.length === 0 ? [] : [anyOf(hosts)]), ...prefixes];
    return values.map((value) => `${headerOf(family)} ${field} ${value}`);
  });
}

/** A match for all addresses of the family but these. */
export function outsideOf(
  field: "saddr" | "daddr",
  family: 4 | 6,
  addresses: readonly (Address | Prefix)[],
): string {
  const some = addresses.filter((address) => familyOf(address) === family);
  if (some.length === 0) return `meta nfproto ipv${family}`;
  return some.map((address) => `${headerOf(family)} ${field} != ${address}`).join(" ");
}

/** One match for each prefix of the LAN's hosts. */
export function fromHosts(lan: Lan, to = ""): string[] {
  return byFamily("saddr", lan.prefixes).map((from) => `iifname "${lan.interface}" ${to}${from}`);
}

/** Matches packets that go through the interface to these addresses; nothing without an interface. */
export function toEach(name: string | null, addresses: readonly (Address | Prefix)[]): string[] {
  return on("oifname", name).flatMap((to) =>
    byFamily("daddr", addresses).map((destination) => `${to} ${destination}`),
  );
}

/** One match for all of these interfaces, or no match if there are none: nft refuses an empty set. */
export function among(field: "iifname" | "oifname", names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${field} ${set(names)}`];
}

/** One match for the interface, or no match without one. */
export function on(field: "iifname" | "oifname", name: string | null): string[] {
  return name === null ? [] : [`${field} "${name}"`];
}

export function namesOf(lans: readonly Lan[]): string[] {
  return lans.map((lan) => lan.interface);
}

export function set(names: readonly string[]): string {
  return anyOf(names.map((name) => `"${name}"`));
}

/** A single value is compared directly, which takes less time than a look-up in a set. */
export function anyOf(values: readonly string[]): string {
  return values.length === 1 ? `${values[0]}` : `{ ${values.join(", ")} }`;
}

/** The name of the family's header in a match. */
export function headerOf(family: 4 | 6): "ip" | "ip6" {
  return family === 4 ? "ip" : "ip6";
}

/** Compares only the gateway's bits, because other programs may have set theirs. */
export function isMarked(mark: number, operator: "==" | "!=" = "=="): string {
  return `meta mark & ${hex(MARK_MASK)} ${operator} ${hex(mark)}`;
}

/** Leaves the bits of other programs unchanged. */
export function setMark(mark: number): string {
  return `meta mark set meta mark & ${hex(~MARK_MASK)} | ${hex(mark)}`;
}

/** Leaves the bits of other programs unchanged. */
export function clearMark(): string {
  return `meta mark set meta mark & ${hex(~MARK_MASK)}`;
}

export function hex(bits: number): string {
  return `0x${(bits >>> 0).toString(16).padStart(8, "0")}`;
}
