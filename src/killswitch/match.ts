import { type Address, familyOf, type Prefix } from "../address.ts";
import type { Lan } from "../network/lan.ts";
import { MARK_MASK } from "../network/slot.ts";

export function chain(name: string, head: string, rules: readonly string[]): string {
  return `  chain ${name} {\n    ${head}\n${rules.map((rule) => `    ${rule}\n`).join("")}  }\n`;
}

type Field = "saddr" | "daddr";

/**
 * Matches of which one holds for each of these: `ip saddr { … }` for the addresses of a family, and one for each prefix.
 * A set of prefixes seems empty for about a millisecond while the table is replaced (Linux 6.18); a set of addresses
 * does not.
 */
export function byFamily(field: Field, addresses: readonly (Address | Prefix)[]): string[] {
  return ([4, 6] as const).flatMap((family) => matches(family, field, addresses, ""));
}

/** One match for each family, for all addresses but these. */
export function outsideOf(field: Field, addresses: readonly (Address | Prefix)[]): string[] {
  return ([4, 6] as const).map(
    (family) => matches(family, field, addresses, "!= ").join(" ") || `meta nfproto ipv${family}`,
  );
}

function matches(
  family: 4 | 6,
  field: Field,
  addresses: readonly (Address | Prefix)[],
  operator: "" | "!= ",
): string[] {
  const some = addresses.filter((address) => familyOf(address) === family);
  const prefixes = some.filter((address) => address.includes("/"));
  const hosts = some.filter((address) => !address.includes("/"));
  const sets = hosts.length === 0 ? [] : [`{ ${hosts.join(", ")} }`];
  return [...sets, ...prefixes].map((value) => `${headerOf(family)} ${field} ${operator}${value}`);
}

/** One match for each prefix of the LAN's hosts. */
export function fromHosts(lan: Lan, to = ""): string[] {
  return byFamily("saddr", lan.prefixes).map((from) => `iifname "${lan.interface}" ${to}${from}`);
}

/** What arrives by the interface from these addresses; nothing without an interface. */
export function fromEach(name: string | null, addresses: readonly (Address | Prefix)[]): string[] {
  return on("iifname", name).flatMap((from) =>
    byFamily("saddr", addresses).map((source) => `${from} ${source}`),
  );
}

/** What leaves by the interface to these addresses; nothing without an interface. */
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
  return `{ ${names.map((name) => `"${name}"`).join(", ")} }`;
}

/** The name of the family's header in a match. */
export function headerOf(family: 4 | 6): "ip" | "ip6" {
  return family === 4 ? "ip" : "ip6";
}

/** Compares only the gateway's bits: other programs may have set theirs. */
export function isMarked(mark: number, operator: "==" | "!=" = "=="): string {
  return `meta mark & ${hex(MARK_MASK)} ${operator} ${hex(mark)}`;
}

/** Leaves the bits of other programs unchanged. */
export function setMark(mark: number): string {
  return `meta mark set meta mark & ${hex(~MARK_MASK)} | ${hex(mark)}`;
}

function hex(bits: number): string {
  return `0x${(bits >>> 0).toString(16).padStart(8, "0")}`;
}
