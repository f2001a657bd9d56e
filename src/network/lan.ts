import { Type } from "typebox";
import {
  addressOf,
  familyOf,
  isLinkLocal,
  lengthOf,
  mustParsePrefix,
  networkOf,
  type Prefix,
  privateBlockOf,
} from "../base/address.ts";
import { savedJson } from "../base/saved.ts";

/** A LAN interface, and the prefixes of its hosts. */
export interface Lan {
  interface: string;
  prefixes: readonly Prefix[];
  /** Whether it is a mesh: then its devices have no MAC addresses, and each is its address. */
  mesh?: boolean;
}

/** One interface, as the kernel shows it. */
export interface Cable {
  interface: string;
  isEthernet: boolean;
  /** Addresses with their prefix lengths. */
  addresses: readonly Prefix[];
  /** The addresses that another router has leased to this machine. */
  leased?: readonly Prefix[];
}

/** The roles of the interfaces on a machine whose LAN has an interface of its own. */
export interface Roles {
  lan: readonly string[];
  /** Interfaces that were the uplink. */
  outside: readonly string[];
}

export const NO_ROLES: Roles = { lan: [], outside: [] };

/** The roles of the last start; specific to this machine, so not part of a backup. */
export const ROLES = savedJson(
  "roles",
  Type.Object({ lan: Type.Array(Type.String()), outside: Type.Array(Type.String()) }),
  NO_ROLES,
);

/** The facts that decide which interfaces are the LAN's. */
export interface LanCriteria {
  /** The operator's choice; empty for automatic. */
  named: readonly string[];
  uplink: string | null;
  /** Interfaces with a default route. */
  routed: readonly string[];
  roles: Roles;
}

/** Interfaces of containers, virtual machines and tunnels; Docker names its bridges by number. */
export const COMES_AND_GOES =
  /^(docker|br-[0-9a-f]{12}$|virbr|veth|vnet|lxcbr|lxdbr|incusbr|podman|cni|wg|tun|tap)/;

/** A self-assigned address reveals nothing about the network (RFC 3927). */
const SELF_ASSIGNED = /^169\.254\./;

/** Such addresses are those of neighbours that use IPv6 without a router. */
const LINK_LOCAL = mustParsePrefix("fe80::/10");

/** The LAN, and remarks for people on how it was found. */
export function lanOf(cables: readonly Cable[], criteria: LanCriteria): { lans: Lan[]; remarks: string[] } {
  const all = cables
    .map((cable) => ({ ...cable, prefixes: prefixesOf(cable) }))
    .filter(({ prefixes }) => prefixes.length > 0);
  const found = foundAmong(all, criteria);
  const chosen =
    criteria.named.length === 0 ? found : all.filter((one) => criteria.named.includes(one.interface));
  return {
    lans: chosen.map((one) => ({ interface: one.interface, prefixes: [...one.prefixes, LINK_LOCAL] })),
    remarks: [
      ...chosen.flatMap(cutOff),
      ...namedUplink(chosen, found, criteria),
      ...missingLan(chosen, criteria),
    ],
  };
}

/** The roles after a look at the network; a doubtful look adds nothing. */
export function rolesAfter(roles: Roles, lans: readonly Lan[], uplink: string | null): Roles {
  const names = lans.map((lan) => lan.interface);
  if (uplink === null || names.length === 0 || [...names, ...roles.lan].includes(uplink)) return roles;
  const united = (one: readonly string[], other: readonly string[]) =>
    [...new Set([...one, ...other])].sort();
  return { lan: united(roles.lan, names), outside: united(roles.outside, [uplink]) };
}

/** The part of an interface's prefix that is private address space; null if the address is public. */
export function lanPrefixOf(prefix: Prefix): Prefix | null {
  const block = privateBlockOf(addressOf(prefix));
  if (block === null || familyOf(block) !== familyOf(prefix)) return null;
  return networkOf(prefix, Math.max(lengthOf(prefix), lengthOf(block)));
}

interface Candidate extends Cable {
  prefixes: readonly Prefix[];
}

/**
 * Hosts on the uplink's link are strangers unless the uplink is also the LAN, because no other interface has a private
 * network. Once another interface had one, the uplink never takes its place: a LAN whose cable is disconnected has no
 * addresses.
 */
function foundAmong(all: readonly Candidate[], { uplink, routed, roles }: LanCriteria): Candidate[] {
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
  // If the uplink is unknown or seems to be a LAN interface, nothing new becomes LAN.
  const isDoubtful = roles.lan.length > 0 && (uplink === null || roles.lan.includes(uplink));
  if (isDoubtful) return known;
  if (uplink === null) {
    // An interface that has leased an address may be the uplink.
    const own = likely.filter(hasOwnNetwork);
    return own.length > 0 ? own : likely;
  }
  const others = inside.filter(
    (one) => hasOwnNetwork(one) && !isUplinks(one) && !routed.includes(one.interface),
  );
  const lan = likely.filter((one) => known.includes(one) || others.includes(one));
  return lan.length > 0 || roles.lan.length > 0 ? lan : likely.filter(isUplinks);
}

/**
 * Whether the network is this machine's own, and not that of a phone or an LTE stick, which leases an address and is a
 * way to the internet itself. Its default route is not visible, because the gateway's rules make the kernel refuse it.
 */
function hasOwnNetwork({ addresses, leased = [] }: Cable): boolean {
  const own = addresses.filter((address) => !leased.includes(address) && !SELF_ASSIGNED.test(address));
  return prefixesOf({ addresses: own }).length > 0;
}

/** The private prefixes on an interface, without link-local ones. */
export function prefixesOf({ addresses }: Pick<Cable, "addresses">): Prefix[] {
  const prefixes = addresses.filter((address) => !isLinkLocal(addressOf(address))).map(lanPrefixOf);
  return [...new Set(prefixes.filter((prefix) => prefix !== null))].sort();
}

function cutOff({ interface: name, addresses }: Cable): string[] {
  return addresses
    .filter((address) => !isLinkLocal(addressOf(address)))
    .map((address) => ({ address, part: lanPrefixOf(address) }))
    .filter(({ address, part }) => part !== null && lengthOf(address) < lengthOf(part))
    .map(
      ({ address, part }) =>
        `${name} has ${address}, but only ${part} of it counts as LAN, because private address space ends there; correct the prefix length on the gateway or the DHCP server`,
    );
}

function namedUplink(
  chosen: readonly Candidate[],
  found: readonly Candidate[],
  { uplink }: LanCriteria,
): string[] {
  const has = (some: readonly Candidate[]) => some.some((one) => one.interface === uplink);
  if (!has(chosen) || has(found) || found.length === 0) return [];
  const better = found.map((one) => one.interface).join(",");
  return [
    `the uplink ${uplink} is LAN because the settings name it: every host on its network may use the gateway; to exclude it: --lan ${better} (PORTCULLIS_LAN)`,
  ];
}

function missingLan(chosen: readonly Candidate[], { named, roles }: LanCriteria): string[] {
  if (chosen.length > 0 || named.length > 0 || roles.lan.length === 0) return [];
  return [
    `no LAN: ${roles.lan.join(", ")} was the LAN and has no private address now, and the uplink does not take its place; if the LAN is on another interface now, name it: --lan (PORTCULLIS_LAN)`,
  ];
}
