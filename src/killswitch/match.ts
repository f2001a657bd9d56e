import type { Lan } from "../network/lan.ts";

export function isIpv4Prefix(prefix: string): boolean {
  return !prefix.includes(":");
}

/** One match a family that occurs: `ip saddr { … }`, `ip6 saddr { … }`. */
export function byFamily(field: "saddr" | "daddr", addresses: readonly string[]): string[] {
  const v4 = addresses.filter(isIpv4Prefix);
  const v6 = addresses.filter((address) => address.includes(":"));
  return [
    ...(v4.length > 0 ? [`ip ${field} { ${v4.join(", ")} }`] : []),
    ...(v6.length > 0 ? [`ip6 ${field} { ${v6.join(", ")} }`] : []),
  ];
}

/** One match a family of the addresses that are none of these. */
export function outsideOf(field: "saddr" | "daddr", addresses: readonly string[]): string[] {
  return ([4, 6] as const).map((family) => {
    const [match] = byFamily(
      field,
      addresses.filter((address) => address.includes(":") === (family === 6)),
    );
    return match?.replace("{", "!= {") ?? `meta nfproto ipv${family}`;
  });
}

/** One match a family of the LAN's hosts. */
export function fromHosts(lan: Lan, to = ""): string[] {
  return byFamily("saddr", lan.prefixes).map((from) => `iifname "${lan.interface}" ${to}${from}`);
}

/** One match of these interfaces, or none where there are none: nft refuses an empty set. */
export function among(field: "iifname" | "oifname", names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${field} ${set(names)}`];
}

/** One match of the interface, where there is one. */
export function on(field: "iifname" | "oifname", name: string | null): string[] {
  return name === null ? [] : [`${field} "${name}"`];
}

export function interfaceOf(lan: Lan): string {
  return lan.interface;
}

export function set(names: readonly string[]): string {
  return `{ ${names.map((name) => `"${name}"`).join(", ")} }`;
}

export function chain(name: string, head: string, rules: readonly string[]): string {
  return `  chain ${name} {\n    ${head}\n${rules.map((rule) => `    ${rule}\n`).join("")}  }\n`;
}
