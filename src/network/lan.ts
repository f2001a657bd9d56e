import { formatPrefix, isLinkLocal, networkOf, parsePrefix, privateBlockOf } from "../address.ts";

/** A LAN interface, and the prefixes whose hosts are the LAN's. */
export interface Lan {
  interface: string;
  prefixes: readonly string[];
}

/** One interface, as the kernel shows it. */
export interface Cable {
  interface: string;
  isEthernet: boolean;
  /** With their prefix lengths. */
  addresses: readonly string[];
  /** Of these the ones that somebody else's router has given, for a while. */
  leased?: readonly string[];
}

/** What interfaces were found to be on a machine whose LAN has an interface of its own. */
export interface Roles {
  lan: readonly string[];
  /** Those that were the uplink. */
  outside: readonly string[];
}

export const NO_ROLES: Roles = { lan: [], outside: [] };

/** What decides which interfaces are the LAN's. */
export interface Outlook {
  /** The operator's choice; empty leaves it to us. */
  named: readonly string[];
  uplink: string | null;
  /** Interfaces with a default route. */
  routed: readonly string[];
  roles: Roles;
}

/** Interfaces that containers, virtual machines and tunnels make; a bridge of Docker's has a number for a name. */
export const COMES_AND_GOES =
  /^(docker|br-[0-9a-f]{12}$|virbr|veth|vnet|lxcbr|lxdbr|incusbr|podman|cni|wg|tun|tap)/;

/** An address that a machine gives itself says nothing of a cable (RFC 3927). */
const SELF_ASSIGNED = /^169\.254\./;

/** Where a neighbour on the cable speaks IPv6 without a router. */
const LINK_LOCAL = "fe80::/10";

/** The LAN, and what people should know of how it was found. */
export function lanOf(cables: readonly Cable[], outlook: Outlook): { lans: Lan[]; remarks: string[] } {
  const all = cables
    .map((cable) => ({ ...cable, prefixes: prefixesOf(cable) }))
    .filter(({ prefixes }) => prefixes.length > 0);
  const found = foundAmong(all, outlook);
  const chosen =
    outlook.named.length === 0 ? found : all.filter((one) => outlook.named.includes(one.interface));
  return {
    lans: chosen.map((one) => ({ interface: one.interface, prefixes: [...one.prefixes, LINK_LOCAL] })),
    remarks: [
      ...chosen.flatMap(cutOff),
      ...namedUplink(chosen, found, outlook),
      ...missingLan(chosen, outlook),
    ],
  };
}

/** What is known after a look; a look that is in doubt adds nothing. */
export function rolesAfter(roles: Roles, lans: readonly Lan[], uplink: string | null): Roles {
  const names = lans.map((lan) => lan.interface);
  if (uplink === null || names.length === 0 || [...names, ...roles.lan].includes(uplink)) return roles;
  const united = (one: readonly string[], other: readonly string[]) =>
    [...new Set([...one, ...other])].sort();
  return { lan: united(roles.lan, names), outside: united(roles.outside, [uplink]) };
}

/** The part of an interface's prefix that is private address space; null where the address is public. */
export function lanPrefixOf(address: string): string | null {
  const prefix = parsePrefix(address);
  const block = prefix === null ? null : privateBlockOf(prefix.address);
  if (prefix === null || block?.family !== prefix.family) return null;
  return formatPrefix(networkOf({ ...prefix, length: Math.max(prefix.length, block.length) }));
}

interface Candidate extends Cable {
  prefixes: readonly string[];
}

/**
 * Who shares the uplink's cable is a stranger, unless that cable is the LAN's, too: no other interface has a private
 * network of its own. Once one had, the uplink never takes its place, for a LAN whose cable is out has no addresses.
 */
function foundAmong(all: readonly Candidate[], { uplink, routed, roles }: Outlook): Candidate[] {
  const likely = all.filter(
    (one) =>
      one.isEthernet &&
      !COMES_AND_GOES.test(one.interface) &&
      one.prefixes.some((prefix) => !SELF_ASSIGNED.test(prefix)),
  );
  const onUplink = likely.find((one) => one.interface === uplink)?.prefixes ?? [];
  const isUplinks = (one: Candidate) => one.prefixes.some((prefix) => onUplink.includes(prefix));
  const inside = likely.filter((one) => uplink !== one.interface && !roles.outside.includes(one.interface));
  const known = inside.filter((one) => roles.lan.includes(one.interface));
  // Where it is not known which is the uplink, or a LAN's interface seems to be it, nothing new is a LAN.
  const isDoubtful = roles.lan.length > 0 && (uplink === null || roles.lan.includes(uplink));
  if (isDoubtful) return known;
  if (uplink === null) return likely;
  const others = inside.filter(
    (one) => hasOwnNetwork(one) && !isUplinks(one) && !routed.includes(one.interface),
  );
  const lan = likely.filter((one) => known.includes(one) || others.includes(one));
  return lan.length > 0 || roles.lan.length > 0 ? lan : likely.filter(isUplinks);
}

/**
 * Whether the network is this machine's own, and not the one of a telephone, say, that gives an address and is a way to
 * the internet itself. The default route that it names does not show: the gateway's own rules have the kernel refuse it.
 */
function hasOwnNetwork({ addresses, leased = [] }: Cable): boolean {
  const own = addresses.filter((address) => !leased.includes(address) && !SELF_ASSIGNED.test(address));
  return prefixesOf({ addresses: own }).length > 0;
}

/** The private prefixes on an interface, link-local ones left out. */
export function prefixesOf({ addresses }: Pick<Cable, "addresses">): string[] {
  const prefixes = addresses.filter((address) => !isLinkLocal(address.replace(/\/.*/, ""))).map(lanPrefixOf);
  return [...new Set(prefixes.filter((prefix) => prefix !== null))].sort();
}

function cutOff({ interface: name, addresses }: Cable): string[] {
  return addresses
    .filter((address) => !isLinkLocal(address.replace(/\/.*/, "")))
    .map((address) => ({ address, part: lanPrefixOf(address) }))
    .filter(({ address, part }) => part !== null && lengthOf(address) < lengthOf(part))
    .map(
      ({ address, part }) =>
        `${name} has ${address}, and only ${part} of that is taken for LAN: private address space ends there; correct the prefix length, on the gateway or at the DHCP server`,
    );
}

function namedUplink(
  chosen: readonly Candidate[],
  found: readonly Candidate[],
  { uplink }: Outlook,
): string[] {
  const has = (some: readonly Candidate[]) => some.some((one) => one.interface === uplink);
  if (!has(chosen) || has(found) || found.length === 0) return [];
  const better = found.map((one) => one.interface).join(",");
  return [
    `the uplink ${uplink} is LAN because the settings name it: whoever is on its cable may use the gateway; to leave it out: --lan ${better} (PORTCULLIS_LAN)`,
  ];
}

function missingLan(chosen: readonly Candidate[], { named, roles }: Outlook): string[] {
  if (chosen.length > 0 || named.length > 0 || roles.lan.length === 0) return [];
  return [
    `no LAN: ${roles.lan.join(", ")} was the LAN and has no private address now, and the uplink does not take its place; if the LAN is another interface by now, name it: --lan (PORTCULLIS_LAN)`,
  ];
}

function lengthOf(prefix: string): number {
  return Number(prefix.split("/")[1]);
}
