import { addressOf, contains, familyOf, isLinkLocal, lengthOf, type Prefix } from "../../src/base/address.ts";
import { ruleChanges } from "../../src/killswitch/kernel-rules.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { wantedFor } from "../../src/killswitch/wanted.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import type { LanRoute } from "../../src/network/lan-routes.ts";
import { slotIn, tableOf } from "../../src/network/slot.ts";
import { LAN_ROUTES, NETWORK } from "../killswitch/example.ts";
import { addressBits } from "./address-bits.ts";
import type { Link, Machine } from "./machine.ts";
import type { Family } from "./packet.ts";
import { AnyRouting, OwnRouting, parseRoutes, parseRules } from "./routing.ts";
import { parseRuleset } from "./ruleset.ts";

// A policy, and the texts that a gateway with it hands to the kernel.

export interface State {
  name: string;
  policy: Policy;
  ruleset: string;
  /** For `ip -batch -`, of each family. */
  rules: Readonly<Record<Family, string>>;
  routes: Readonly<Record<Family, string>>;
  /** In a transition, the state before: its interfaces and connections are still there. */
  before?: State;
}

/** Which of the two layers is in the kernel. Without the firewall nothing is forwarded but by routing. */
export type Layer = "both layers" | "the firewall alone" | "routing alone";

export function stateOf(name: string, policy: Policy, ruleset?: string): State {
  const network = networkOf(policy);
  const wanted = wantedFor(policy, network, true);
  const rules = (family: Family) =>
    ruleChanges(
      [],
      wanted.rules.filter((rule) => rule.family === family),
    ).join("\n");
  const routes = (family: Family) =>
    [
      ...tunnelRoutes(policy, family),
      ...wanted.lanRoutes.map(({ key, to }) => `route replace ${key}${to} table 20565`),
      ...wanted.routes.map(({ key, to }) => `route replace ${key}${to} table 20564`),
    ].filter((line) => line.includes(":") === (family === 6));
  return {
    ...{ name, policy, ruleset: ruleset ?? wanted.ruleset },
    rules: { 4: rules(4), 6: rules(6) },
    routes: { 4: routes(4).join("\n"), 6: routes(6).join("\n") },
  };
}

/** The moment in which the ruleset has been replaced and nothing else, nor yet anything that follows. */
export function transition(before: State, after: State): State {
  return { ...after, name: `${before.name} > ${after.name}`, before };
}

export function machineOf({ policy, ruleset, rules, routes, before }: State, layer: Layer): Machine {
  const links = merged(linksOf(policy), before === undefined ? new Map() : linksOf(before.policy));
  const names = [...links.keys()];
  const own = [...links.values()].flatMap(({ addresses }) => addresses);
  const ofBoth = <T>(
    parse: (family: Family, text: string) => T[],
    texts: Readonly<Record<Family, string>>,
  ) => [...parse(4, texts[4]), ...parse(6, texts[6])];
  return {
    links,
    ruleset: layer === "routing alone" ? null : parseRuleset(ruleset),
    earlier: before === undefined ? null : parseRuleset(before.ruleset),
    routing:
      layer === "the firewall alone"
        ? new AnyRouting(names, own)
        : new OwnRouting(names, own, ofBoth(parseRules, rules), ofBoth(parseRoutes, routes)),
  };
}

/** What the policy was made from. */
function networkOf(policy: Policy): HostNetwork {
  const behind = policy.routed.map(({ prefix }) => prefix);
  const lans = policy.lans.map((lan) => ({
    ...lan,
    prefixes: lan.prefixes.filter((prefix) => !behind.includes(prefix)),
  }));
  const { uplink, uplinkAddresses, uplinkPrefixes, addresses, resolvers, online } = policy;
  return {
    ...{ ...NETWORK, uplink, online, lans },
    ...{ uplinkAddresses: [...uplinkAddresses], uplinkPrefixes: [...uplinkPrefixes] },
    ...{ addresses: [...addresses], resolvers: [...resolvers] },
    lanRoutes: [...(behind.length === 0 ? [] : LAN_ROUTES), ...meshRoutes(lans)],
    linkRoutes: lans.flatMap(({ interface: link, prefixes }) =>
      prefixes
        .filter((prefix) => !isLinkLocal(addressOf(prefix)))
        .map((prefix) => ({ prefix, interface: link, source: null })),
    ),
  };
}

function meshRoutes(lans: Policy["lans"]): LanRoute[] {
  return lans.flatMap(({ interface: link, mesh, prefixes }) =>
    mesh ? prefixes.map((prefix) => ({ prefix, via: null, interface: link })) : [],
  );
}

/** In a switch, the route is that of either tunnel. */
function tunnelRoutes({ carrying }: Policy, family: Family): string[] {
  return carrying
    .filter(({ addresses }) => addresses.some((address) => familyOf(address) === family))
    .map(
      ({ interface: link, mark }) =>
        `route replace ${family === 4 ? "0.0.0.0/0" : "::/0"} dev ${link} table ${tableOf(slotIn(mark))}`,
    );
}

/** The loopback, the LANs, the uplink, the tunnels, and the interface of remote devices. */
function linksOf(policy: Policy): Map<string, Link> {
  const { lans, uplink, uplinkAddresses, uplinkPrefixes, addresses, endpoints, remote } = policy;
  const links = new Map<string, Link>([["lo", { isEther: false, addresses: [], broadcasts: [] }]]);
  const add = (name: string, isEther: boolean, own: readonly string[], prefixes: readonly Prefix[] = []) =>
    links.set(
      name,
      joined({ isEther, addresses: own, broadcasts: prefixes.flatMap(broadcastOf) }, links.get(name)),
    );
  for (const { interface: name, mesh, prefixes } of lans)
    add(
      name,
      !mesh,
      addresses.filter((address) => prefixes.some((prefix) => contains(prefix, address))),
      prefixes,
    );
  if (uplink !== null) add(uplink, true, uplinkAddresses, uplinkPrefixes);
  for (const tunnel of endpoints) add(tunnel.interface, false, tunnel.addresses);
  if (remote !== undefined) add(remote.interface, false, remote.addresses);
  return links;
}

function merged(one: ReadonlyMap<string, Link>, other: ReadonlyMap<string, Link>): Map<string, Link> {
  const links = new Map(one);
  for (const [name, link] of other) links.set(name, joined(link, links.get(name)));
  return links;
}

function joined(link: Link, before: Link | undefined): Link {
  return {
    isEther: link.isEther,
    addresses: [...new Set([...(before?.addresses ?? []), ...link.addresses])],
    broadcasts: [...new Set([...(before?.broadcasts ?? []), ...link.broadcasts])],
  };
}

function broadcastOf(prefix: Prefix): bigint[] {
  if (familyOf(prefix) === 6 || lengthOf(prefix) > 30) return [];
  return [addressBits(addressOf(prefix)) | ((1n << BigInt(32 - lengthOf(prefix))) - 1n)];
}
