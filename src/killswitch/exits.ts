import { familyOf, type Prefix } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { Lan } from "../network/lan.ts";
import { exitMarkOf } from "../network/slot.ts";
import { isBlockedExit } from "../shared/exits.ts";
import { DIRECT, directZones, leaveDirectly } from "./direct.ts";
import { TO_RESOLVER } from "./dns.ts";
import { clientLinks } from "./link.ts";
import { byInterface, chain, elementsLine, headerOf, setMark, tableSet } from "./match.ts";
import { meshOf } from "./mesh.ts";
import { namedSets } from "./named-sets.ts";
import {
  type DefaultExit,
  directDevices,
  type Exit,
  type FirewallTunnel,
  MAIN,
  type Policy,
  tunnelsOf,
} from "./policy.ts";
import { refuse } from "./strangers.ts";

/** The set of all devices with an exit of their own, and an entry that is no device. */
export const ASSIGNED = "assigned";
/** An address that no device has. A packet looks it up by this mask, and so learns whether the set has been emptied. */
export const NO_DEVICE = "00:00:00:00:00:00" as Mac;
/** The set of the devices that are blocked, and of the entry that is no device. Only rules for destinations need it. */
export const BLOCKED_DEVICES = "blocked_devices";
const BY_DEVICE = "by_device";
const BY_SETS = "by_device_sets";
const OWN_EXIT = "own_exit";
const BY_NETWORK = "by_network";
/** The map from each device to the chain of its exit. */
const EXIT_OF = "exit_of";
/** The set that spares packets the look-ups of devices: it has elements only while no device has an exit of its own. */
const ALL_ALIKE = "all_alike";
/** Of <linux/netfilter.h>. */
const NFPROTO_IPV4 = 2;
const NFPROTO_IPV6 = 10;
const BLOCKED = "blocked";
const NO_TUNNEL = 'comment "the exit is blocked or down"';

/**
 * The devices by exit. The map and the sets exist even without devices, so that an assignment changes only elements.
 * The map answers in one look-up, however many exits there are. The sets replace it for a moment: when the table is
 * replaced, the kernel runs the previous chains for about a millisecond more, and finds nothing in their maps, but
 * everything in such sets (Linux 6.18).
 */
export function deviceSets(policy: Policy): string[] {
  if (clientLinks(policy).length === 0) return [];
  const open = openExits(policy);
  const devices = policy.devices.map(({ id, exit }) => ({ id, name: nameOf(exit, open) }));
  const on = (exit: string) => devices.filter(({ name }) => name === exit);
  return [
    setOf(ASSIGNED, [...devices.map(({ id }) => id), NO_DEVICE]),
    ...open.map((exit) =>
      setOf(
        setFor(exit),
        on(exit).map(({ id }) => id),
      ),
    ),
    exitMap(devices),
    allAlike(policy),
    ...(policy.destinations === undefined ? [] : [setOf(BLOCKED_DEVICES, [...blockedIn(policy), NO_DEVICE])]),
    ...namedSets(policy),
    ...directZones(policy),
  ];
}

function blockedIn({ devices }: Policy): Mac[] {
  return devices.filter(({ exit }) => isBlockedExit(exit)).map(({ id }) => id);
}

/** The chains that lead each device to its exit, and a chain for each exit. */
export function exits(policy: Policy, blocks: boolean): string[] {
  return [
    chain(BY_DEVICE, null, byDevice(`goto ${standardChain(policy)}`)),
    bySets(policy),
    ownExit(policy),
    ...byNetwork(policy),
    ...[...openExits(policy), BLOCKED].map((name) =>
      chain(chainFor(name), null, wayOut(name, policy, blocks)),
    ),
  ];
}

/** The same for some packets. */
export function someByDevice(match: string): string {
  return `${match}goto ${BY_DEVICE} comment "each device has its exit"`;
}

/**
 * The same by address, because what a router of the LAN forwards has the router's MAC address. The most specific prefix
 * comes first.
 */
export function byPrefix(
  policy: Policy,
  families: readonly (4 | 6)[],
  match = "",
  lan: Lan | null = null,
): string[] {
  const open = openExits(policy);
  return policy.routed
    .filter(({ prefix }) => families.includes(familyOf(prefix)) && mayComeBy(lan, prefix, policy))
    .map(({ prefix, exit }) => {
      const from = `${match}${headerOf(familyOf(prefix))} saddr ${prefix}`;
      const what =
        meshOf(prefix, policy) === undefined ? "a network behind another router" : "a device of a mesh";
      return `${from} goto ${chainFor(nameOf(exit, open))} comment "${what}"`;
    });
}

/** The devices of a mesh come by no other interface, and no other devices by this one. */
function mayComeBy(lan: Lan | null, prefix: Prefix, policy: Policy): boolean {
  const mesh = meshOf(prefix, policy)?.interface;
  return lan === null || mesh === (lan.mesh ? lan.interface : undefined);
}

/**
 * The rules that lead each packet of a LAN to its device's exit. Nearly all packets end at the first rule or at the
 * second; so that the first jumps nowhere, it does what the chain of the exit would do.
 */
export function byDeviceOn({ interface: link }: Lan, policy: Policy, blocks: boolean): string[] {
  const own = ownDefaults(policy).find((each) => each.interface === link);
  const exit = own?.exit ?? policy.defaultExit;
  return byDevice(inOneRule(exit, policy, blocks) ?? `goto ${chainOf(exit, policy)}`);
}

function byDevice(standard: string): string[] {
  return [
    `meta nfproto @${ALL_ALIKE} ${standard} comment "the default exit, while no device has another"`,
    `ether saddr vmap @${EXIT_OF} comment "the exit of the device, unless the table is being replaced"`,
    `goto ${BY_SETS} comment "the other devices"`,
  ];
}

/**
 * Each look-up sees the map and the sets as they are at that moment. A packet that comes while its device is moved may
 * be in neither. It is refused, because its device is among the assigned ones before and after. Other programs can
 * empty the map or the set. Each can replace the other, and a device has the default exit only if neither has it and
 * the set has the entry that is no device. Without both, everything is refused.
 */
function bySets(policy: Policy): string {
  const standard = standardChain(policy);
  return chain(BY_SETS, null, [
    `ether saddr @${ASSIGNED} goto ${OWN_EXIT} comment "devices with an exit of their own"`,
    `ether saddr & ${NO_DEVICE} @${ASSIGNED} goto ${standard} comment "the default exit, unless the set was emptied"`,
    `meta iiftype != ether goto ${standard} comment "without a MAC address there are no devices"`,
    `goto ${chainFor(BLOCKED)} ${NO_TUNNEL}`,
  ]);
}

function ownExit(policy: Policy): string {
  return chain(OWN_EXIT, null, [
    ...openExits(policy).map(
      (name) => `ether saddr @${setFor(name)} goto ${chainFor(name)} comment "devices on this exit"`,
    ),
    `goto ${chainFor(BLOCKED)} ${NO_TUNNEL}`,
  ]);
}

function wayOut(name: string, policy: Policy, blocks: boolean): string[] {
  if (name === DIRECT) return leaveDirectly();
  const tunnels = tunnelsOf(name, policy);
  if (tunnels.length === 0) return noWay(name, blocks);
  return intoTunnel(tunnels, blocks, policy.destinations !== undefined);
}

/** A device and the name of its exit in chains and sets. */
type NamedExit = { id: Mac; name: string };

function exitMap(devices: readonly NamedExit[]): string {
  const entries = devices.map(({ id, name }) => `${id} : goto ${chainFor(name)}`).sort();
  return `  map ${EXIT_OF} {\n    type ether_addr : verdict\n${elementsLine(entries)}  }\n`;
}

/** While it is empty, each packet's device is looked up. Listings have the numbers of the families, too. */
function allAlike({ devices }: Policy): string {
  return tableSet(ALL_ALIKE, "nf_proto", devices.length > 0 ? [] : [NFPROTO_IPV4, NFPROTO_IPV6].map(String));
}

function setOf(name: string, ids: readonly Mac[]): string {
  return tableSet(name, "ether_addr", ids);
}

/** Main is included while it is down: the gateway's own services use it too, and still answer its devices. */
function openExits(policy: Policy): string[] {
  const tunnels = new Set([MAIN, ...policy.carrying.map(({ tunnel }) => tunnel)]);
  return [...tunnels, ...(directDevices(policy).length === 0 ? [] : [DIRECT])];
}

/** The chain of the default exit: the home's, unless networks have their own. */
function standardChain(policy: Policy): string {
  return ownDefaults(policy).length === 0 ? chainOf(policy.defaultExit, policy) : BY_NETWORK;
}

/** What a device without an exit of its own gets, by the interface that it comes by. */
function byNetwork(policy: Policy): string[] {
  const own = ownDefaults(policy);
  if (own.length === 0) return [];
  return [
    chain(BY_NETWORK, null, [
      ...byInterface(
        own.map(({ interface: link, exit }) => [link, `goto ${chainOf(exit, policy)}`] as const),
        'comment "the network\'s default exit"',
      ),
      `goto ${chainOf(policy.defaultExit, policy)} comment "the home's default exit"`,
    ]),
  ];
}

function ownDefaults({ networks = [] }: Policy): { interface: string; exit: DefaultExit }[] {
  return networks.flatMap(({ interface: link, exit }) => (exit === null ? [] : [{ interface: link, exit }]));
}

/** A tunnel that is down or does not exist, or an uplink that is down, is as good as blocked. */
function nameOf(exit: Exit, open: readonly string[]): string {
  const name = exit.to === "tunnel" ? exit.name : exit.to;
  return open.includes(name) ? name : BLOCKED;
}

/** The chain of an exit. */
export function chainOf(exit: Exit, policy: Policy): string {
  return chainFor(nameOf(exit, openExits(policy)));
}

function chainFor(name: string): string {
  return `exit_${name}`;
}

/** The set of the devices on an exit. */
export function setFor(name: string): string {
  return `on_${name}`;
}

/**
 * Marks a packet for the tunnel's routing table, and puts it into the tunnel's zone. During a switch the route decides
 * between two zones, because the route moves to the next tunnel at once. The same applies if nothing blocks, because
 * then not everything uses a tunnel. Otherwise the zone is known without a look-up.
 */
function intoTunnel(tunnels: readonly FirewallTunnel[], blocks: boolean, hasDestinations: boolean): string[] {
  const zone = (tunnel: FirewallTunnel, match = "") =>
    `${match}${zoneOf(tunnel)} accept comment "each tunnel has its own connections"`;
  return tunnels.slice(0, 1).flatMap((current) => [
    ...(isZoneKnown(tunnels, blocks)
      ? [`${inZone(current)} comment "the tunnel's routes, and its own connections"`]
      : [
          `${markFor(current)} comment "the mark selects the tunnel's routes"`,
          ...tunnels.map((tunnel) => zone(tunnel, `fib daddr . mark oifname "${tunnel.interface}" `)),
          // DNS queries to the gateway itself.
          zone(current, "fib daddr type local "),
          // A packet to a destination with an exit of its own must not go on to the exit of its device.
          ...(hasDestinations ? ['accept comment "nothing carries it without a route by this exit"'] : []),
        ]),
  ]);
}

function isZoneKnown(tunnels: readonly FirewallTunnel[], blocks: boolean): boolean {
  return blocks && tunnels.length === 1;
}

/** What the chain of a default exit does, if that is one rule; null otherwise. */
function inOneRule(exit: DefaultExit, policy: Policy, blocks: boolean): string | null {
  const tunnels = exit.to === "tunnel" ? tunnelsOf(exit.name, policy) : [];
  const [only] = tunnels;
  return only !== undefined && isZoneKnown(tunnels, blocks) ? inZone(only) : null;
}

function inZone(tunnel: FirewallTunnel): string {
  return `${markFor(tunnel)} ${zoneOf(tunnel)} accept`;
}

function markFor({ mark }: FirewallTunnel): string {
  return setMark(exitMarkOf(mark));
}

function zoneOf({ zone }: FirewallTunnel): string {
  return `ct zone set ${zone}`;
}

/** A resolver on the gateway queries through main, so it must not answer devices that have another exit. */
function noWay(name: string, blocks: boolean): string[] {
  if (!blocks) return ['accept comment "the kill switch is off"'];
  return [
    ...(name === MAIN ? [] : refuse(NO_TUNNEL, `${TO_RESOLVER} `)),
    'fib daddr type { local, broadcast, multicast } accept comment "not for the internet"',
    ...refuse(NO_TUNNEL),
  ];
}
