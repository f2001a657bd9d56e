import { familyOf, type Prefix } from "../base/address.ts";
import { isBlockedExit } from "../shared/exits.ts";
import { type Family, lookUps } from "./destination-look-ups.ts";
import { leaves, OWN } from "./destination-ways.ts";
import { byFamily, chain, headerOf } from "./match.ts";
import { senderIn } from "./named-sets.ts";
import type { Destination, Exit, Policy } from "./policy.ts";

const FAMILIES = [4, 6] as const;

/** On the LAN's interfaces: what has no exit of its own goes on to the exit of its device. */
export function byDestination(policy: Policy, family: Family): string[] {
  return jumpTo(scopesOf(policy, family).lan, family);
}

/** The same for packets of remote devices. */
export function byDestinationFromRemote(policy: Policy): string[] {
  return FAMILIES.flatMap((family) => jumpTo(scopesOf(policy, family).remote, family));
}

/** The chains of these rules. A packet that has found its exit never comes back for another one. */
export function destinationChains(policy: Policy): string[] {
  const { destinations = [] } = policy;
  const scopes = FAMILIES.flatMap((family) => {
    const { lan, remote, owners, devices, all } = scopesOf(policy, family);
    return [lan, remote, ...owners.values(), devices, all];
  }).filter(isUsed);
  const used = new Map(scopes.map(({ name, rules }) => [name, rules]));
  return [
    ...[...used].map(([name, rules]) => chain(name, null, rules)),
    ...(used.size === 0 ? [] : leaves(destinations, policy)),
  ];
}

/** The rules for one kind of sender, and the name of their chain. */
interface Scope {
  name: string;
  rules: readonly string[];
}

interface Scopes {
  lan: Scope;
  remote: Scope;
  /** For networks behind routers, and for remote devices, that have rules of their own. */
  owners: ReadonlyMap<Prefix, Scope>;
  /** For the devices that are known by their MAC addresses. */
  devices: Scope;
  all: Scope;
}

/** A thousand prefixes take some milliseconds, and several parts of the table need them. */
const known = new WeakMap<Policy, Map<Family, Scopes>>();

function scopesOf(policy: Policy, family: Family): Scopes {
  const ofPolicy = known.get(policy) ?? new Map<Family, Scopes>();
  known.set(policy, ofPolicy);
  const scopes = ofPolicy.get(family) ?? makeScopes(policy, family);
  ofPolicy.set(family, scopes);
  return scopes;
}

function makeScopes(policy: Policy, family: Family): Scopes {
  const all = ofAll(policy, family);
  const devices = ofDevices(all, policy, family);
  const owners = ofOwners(all, policy, family);
  const lan = fromLan({ all, devices, owners }, policy, family);
  const remote = fromRemote({ all, owners }, policy, family);
  return { lan, remote, owners, devices, all };
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
function fromLan(
  { all, devices, owners }: Pick<Scopes, "all" | "devices" | "owners">,
  policy: Policy,
  family: Family,
): Scope {
  if (!isUsed(devices) && !isUsed(all) && owners.size === 0) return all;
  const networks = policy.routed
    .filter(({ prefix }) => familyOf(prefix) === family)
    .map(
      ({ prefix, exit }) => `${headerOf(family)} saddr ${prefix} ${ofOwner(prefix, exit, { all, owners })}`,
    );
  const own = isUsed(devices) ? [`${senderIn(macsIn(policy))}goto ${devices.name} ${OWN}`] : [];
  if (networks.length === 0 && own.length === 0) return all;
  return { name: `lan_to_ipv${family}`, rules: [...networks, ...own, ...goTo(all)] };
}

function fromRemote(scopes: Pick<Scopes, "all" | "owners">, { remote }: Policy, family: Family): Scope {
  const name = `road_to_ipv${family}`;
  if (remote === undefined || (!isUsed(scopes.all) && scopes.owners.size === 0)) return { name, rules: [] };
  const rules = remote.devices.flatMap(({ id, addresses, exit }) =>
    byFamily(
      "saddr",
      addresses.filter((address) => familyOf(address) === family),
    ).map((from) => `${from} ${ofOwner(id, exit, scopes)}`),
  );
  return { name, rules };
}

/** Where the packets of a network or of a remote device go on. If it is blocked, only its own rules permit more. */
function ofOwner(id: Prefix, exit: Exit, { all, owners }: Pick<Scopes, "all" | "owners">): string {
  const own = owners.get(id);
  const [to = `return ${OWN}`] = own ? goTo(own) : isBlockedExit(exit) ? [] : goTo(all);
  return to;
}

function ofAll(policy: Policy, family: Family): Scope {
  const { destinations = [] } = policy;
  const forAll = destinations.filter(({ devices }) => devices.length === 0);
  return { name: `all_to_ipv${family}`, rules: lookUps(forAll, policy, family) };
}

function ofDevices(all: Scope, policy: Policy, family: Family): Scope {
  const { destinations = [] } = policy;
  const some = destinations.filter(({ devices }) => macsOf(devices).length > 0);
  const own = lookUps(some, policy, family, (devices) => senderIn(macsOf(devices)));
  return { name: `devices_to_ipv${family}`, rules: own.length === 0 ? [] : [...own, ...goTo(all)] };
}

/** Owners with the same rules share a chain, which has the name of the first. */
function ofOwners(all: Scope, policy: Policy, family: Family): Map<Prefix, Scope> {
  const { destinations = [], routed, remote } = policy;
  const chains = new Map<string, Scope>();
  const owners = [
    ...routed.map(({ prefix, exit }) => ({ id: prefix, exit })),
    ...(remote?.devices ?? []).map(({ id, exit }) => ({ id, exit })),
  ];
  const scopes = owners.map(({ id, exit }) => {
    const own = destinations.filter(({ devices }) => devices.includes(id));
    const key = `${own.map((each) => destinations.indexOf(each)).join()} ${isBlockedExit(exit)}`;
    const shared = chains.get(key);
    if (shared !== undefined) return [id, shared] as const;
    const rules = lookUps(own, policy, family);
    const scope = {
      name: `of_${id.replaceAll(/[^0-9a-f]/g, "_")}_to_ipv${family}`,
      rules: rules.length === 0 || isBlockedExit(exit) ? rules : [...rules, ...goTo(all)],
    };
    chains.set(key, scope);
    return [id, scope] as const;
  });
  return new Map(scopes.filter(([, scope]) => isUsed(scope)));
}

function macsIn({ destinations = [] }: Policy): string[] {
  return [...new Set(destinations.flatMap(({ devices }) => macsOf(devices)))];
}

function macsOf(devices: Destination["devices"]): string[] {
  return devices.filter((id) => !id.includes("/"));
}
