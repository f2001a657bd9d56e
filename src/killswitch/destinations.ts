import { addressOf, familyOf, lengthOf, mustParsePrefix, networkOf, type Prefix } from "../base/address.ts";
import { DIRECT_MARK } from "../network/slot.ts";
import { DESTINATION_ZONE, DIRECT } from "./direct.ts";
import { TO_RESOLVER } from "./dns.ts";
import { ASSIGNED, BLOCKED_DEVICES, chainOf, NO_DEVICE } from "./exits.ts";
import { anyOf, byFamily, chain, headerOf, setMark } from "./match.ts";
import { type Destination, type Exit, leadsToDirect, type Policy } from "./policy.ts";

type Family = 4 | 6;
const FAMILIES = [4, 6] as const;
const OWN = 'comment "a destination with an exit of its own"';

/** On the LAN's interfaces: what has no exit of its own goes on to the exit of its device. */
export function byDestination(policy: Policy, family: Family): string[] {
  return jumpTo(fromLan(policy, family), family);
}

/** The same for packets of devices on the road. */
export function byDestinationFromRemote(policy: Policy): string[] {
  return FAMILIES.flatMap((family) => jumpTo(fromRemote(policy, family), family));
}

/**
 * The chains of these rules. A packet passes one look-up for each length of the prefixes and each exit, the longest
 * first. It is masked and looked up among networks without host bits: a set of prefixes seems empty for about a
 * millisecond while the table is replaced (Linux 6.18), and the packet would take the exit of its device. A packet that
 * has found its exit never comes back for another one.
 */
export function destinationChains(policy: Policy): string[] {
  const { destinations = [] } = policy;
  const scopes = FAMILIES.flatMap((family) => [
    fromLan(policy, family),
    fromRemote(policy, family),
    ...ofOwners(policy, family),
    ofDevices(policy, family),
    ofUnblocked(policy, family),
    ofAll(policy, family),
  ]).filter(isUsed);
  const used = new Map(scopes.map(({ name, rules }) => [name, rules]));
  return [
    ...[...used].map(([name, rules]) => chain(name, null, rules)),
    ...(used.size === 0 ? [] : leaves(destinations, policy)),
  ];
}

/** The chain that leads traffic to some destinations out of the tunnel; only then the table has it. */
export const LEAVE_DIRECTLY = `leave_by_${DIRECT}`;

/** The rules for one kind of sender, and the name of their chain. */
interface Scope {
  name: string;
  rules: readonly string[];
}

function isUsed({ rules }: Scope): boolean {
  return rules.length > 0;
}

function jumpTo(scope: Scope, family: Family): string[] {
  return isUsed(scope) ? [`meta nfproto ipv${family} jump ${scope.name} ${OWN}`] : [];
}

function goTo(scope: Scope): string[] {
  return isUsed(scope) ? [`goto ${scope.name} ${OWN}`] : [];
}

/**
 * A router of the LAN forwards packets of the networks behind it with its own MAC address. They do not take the rules of
 * the router.
 */
function fromLan(policy: Policy, family: Family): Scope {
  const [devices, all] = [ofDevices(policy, family), ofUnblocked(policy, family)];
  if (!isUsed(devices) && !isUsed(all) && ofOwners(policy, family).length === 0) return all;
  const networks = policy.routed
    .filter(({ prefix }) => familyOf(prefix) === family)
    .map(
      ({ prefix, exit }) => `${headerOf(family)} saddr ${prefix} ${ofOwner(prefix, exit, policy, family)}`,
    );
  const own = isUsed(devices) ? [`ether saddr ${anyOf(macsIn(policy))} goto ${devices.name} ${OWN}`] : [];
  if (networks.length === 0 && own.length === 0) return all;
  return { name: `lan_to_ipv${family}`, rules: [...networks, ...own, ...goTo(all)] };
}

function fromRemote(policy: Policy, family: Family): Scope {
  const name = `road_to_ipv${family}`;
  const { remote } = policy;
  const isNeeded = isUsed(ofAll(policy, family)) || ofOwners(policy, family).length > 0;
  if (remote === undefined || !isNeeded) return { name, rules: [] };
  const rules = remote.devices.flatMap(({ id, addresses, exit }) =>
    byFamily(
      "saddr",
      addresses.filter((address) => familyOf(address) === family),
    ).map((from) => `${from} ${ofOwner(id, exit, policy, family)}`),
  );
  return { name, rules };
}

/** Where the packets of a network or of a device on the road go on. If it is blocked, only its own rules permit more. */
function ofOwner(id: Prefix, exit: Exit, policy: Policy, family: Family): string {
  const own = ofOwners(policy, family).find((owner) => owner.id === id);
  const [to = `return ${OWN}`] = own ? goTo(own) : exit.to === "blocked" ? [] : goTo(ofAll(policy, family));
  return to;
}

/** The rules of all devices for the LAN's own devices, except those that are blocked. */
function ofUnblocked(policy: Policy, family: Family): Scope {
  const all = goTo(ofAll(policy, family));
  const stays = 'return comment "a blocked device reaches only what rules of its own permit"';
  return {
    name: `unblocked_to_ipv${family}`,
    rules: all.length === 0 ? [] : [...isBlocked(policy).map((match) => `${match} ${stays}`), ...all],
  };
}

/** Matches for the packets of devices that people have blocked, by themselves or by the default exit. */
function isBlocked({ defaultExit }: Policy): string[] {
  const byDefault = [`ether saddr != @${ASSIGNED}`, "meta iiftype != ether"];
  return [`ether saddr @${BLOCKED_DEVICES}`, ...(defaultExit.to === "blocked" ? byDefault : [])];
}

function ofAll(policy: Policy, family: Family): Scope {
  const { destinations = [] } = policy;
  const rules = lookUps(
    destinations.filter(({ devices }) => devices.length === 0),
    policy,
    family,
  );
  return { name: `all_to_ipv${family}`, rules };
}

/** For the devices that are known by their MAC addresses. */
function ofDevices(policy: Policy, family: Family): Scope {
  const { destinations = [] } = policy;
  const some = destinations
    .map((each) => ({ ...each, devices: each.devices.filter((id) => !id.includes("/")) }))
    .filter(({ devices }) => devices.length > 0);
  const own = lookUps(some, policy, family, ({ devices }) => `ether saddr ${anyOf(devices.toSorted())} `);
  const all = goTo(ofUnblocked(policy, family));
  return { name: `devices_to_ipv${family}`, rules: own.length === 0 ? [] : [...own, ...all] };
}

/** For each network behind a router, and each device on the road, that has rules of its own. */
function ofOwners(policy: Policy, family: Family): (Scope & { id: Prefix })[] {
  const { destinations = [], routed, remote } = policy;
  const owners = [
    ...routed.map(({ prefix, exit }) => ({ id: prefix, exit })),
    ...(remote?.devices ?? []).map(({ id, exit }) => ({ id, exit })),
  ];
  return owners.flatMap(({ id, exit }) => {
    const own = lookUps(
      destinations.filter(({ devices }) => devices.includes(id)),
      policy,
      family,
    );
    const name = `${id.replaceAll(/[^0-9a-f]/g, "_")}_to_ipv${family}`;
    const all = exit.to === "blocked" ? [] : goTo(ofAll(policy, family));
    return own.length === 0 ? [] : [{ id, name: `of_${name}`, rules: [...own, ...all] }];
  });
}

function macsIn({ destinations = [] }: Policy): string[] {
  const ids = destinations.flatMap(({ devices }) => devices).filter((id) => !id.includes("/"));
  return [...new Set(ids)].sort();
}

function lookUps(
  destinations: readonly Destination[],
  policy: Policy,
  family: Family,
  senders: (destination: Destination) => string = () => "",
): string[] {
  const entries = destinations.flatMap((each) =>
    each.prefixes
      .filter((prefix) => familyOf(prefix) === family)
      .map((prefix) => ({ prefix, from: senders(each), to: leaveBy(each.exit, policy) })),
  );
  const byLength = Map.groupBy(entries, ({ prefix }) => lengthOf(prefix));
  return [...byLength]
    .sort(([one], [other]) => other - one)
    .flatMap(([length, some]) => {
      const groups = Map.groupBy(some, ({ from, to }) => `${from}|${to}`);
      return [...groups.values()].map((group) => {
        const [{ from, to } = { from: "", to: "" }] = group;
        const prefixes = group.map(({ prefix }) => prefix);
        return `${from}${headerOf(family)} daddr ${within(prefixes, length, family)} goto ${to} ${OWN}`;
      });
    });
}

/** Compares with prefixes of one length. */
function within(prefixes: readonly Prefix[], length: number, family: Family): string {
  const whole = mustParsePrefix(
    family === 4 ? "255.255.255.255/32" : `${"ffff:".repeat(8).slice(0, -1)}/128`,
  );
  const networks = prefixes.map(addressOf).sort();
  if (length === lengthOf(whole)) return anyOf(networks);
  const [single] = prefixes;
  return prefixes.length === 1 ? `${single}` : `& ${addressOf(networkOf(whole, length))} ${anyOf(networks)}`;
}

/** The chains by which these destinations leave. */
function leaves(destinations: readonly Destination[], policy: Policy): string[] {
  const exits = new Map(destinations.map(({ exit }) => [leaveBy(exit, policy), exit]));
  return [...exits]
    .filter(([name]) => name.startsWith(LEAVE))
    .map(([name, exit]) =>
      chain(name, null, [
        `${TO_RESOLVER} return comment "DNS takes the exit of its device"`,
        `ether saddr & ${NO_DEVICE} != @${BLOCKED_DEVICES} goto ${chainOf({ to: "blocked" }, policy)} comment "the set was emptied: nobody knows which devices are blocked"`,
        ...(exit.to === "direct" ? leaveDirectly() : [`goto ${chainOf(exit, policy)} ${OWN}`]),
      ]),
    );
}

const LEAVE = "leave_by_";

/** What is blocked, or has no way out now, is refused whatever it is. */
function leaveBy(exit: Exit, policy: Policy): string {
  if (exit.to === "direct")
    return leadsToDirect(policy) ? LEAVE_DIRECTLY : chainOf({ to: "blocked" }, policy);
  const way = chainOf(exit, policy);
  return way === chainOf({ to: "blocked" }, policy)
    ? way
    : `${LEAVE}${exit.to === "tunnel" ? exit.name : exit.to}`;
}

function leaveDirectly(): string[] {
  return [
    `${setMark(DIRECT_MARK)} comment "the mark selects the machine's own routes"`,
    `ct original zone set ${DESTINATION_ZONE} accept comment "these connections end with the rules"`,
  ];
}
