import { addressOf, familyOf, isLinkLocal, type Prefix } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { LAN_TABLE, ROUTED_TABLE } from "../network/slot.ts";
import { TO_RESOLVER } from "./dns.ts";
import { byFamily, chain, fromHosts, MID_STREAM } from "./match.ts";
import type { Policy } from "./policy.ts";
import { PRIORITY, type Rule } from "./routing-rules.ts";
import { refuse } from "./strangers.ts";

const CLOSED = "from_closed_network";
const BETWEEN = "between_networks";
const INTO_OTHERS = "into_other_networks";

type Networks = Pick<Policy, "lans" | "networks">;

/** Whether a device of the network may use everything on the gateway. */
export function usesPage({ networks = [] }: Pick<Policy, "networks">, { interface: link }: Lan): boolean {
  return networks.find((each) => each.interface === link)?.page ?? true;
}

/** To the gateway, from a network that may not use its page: the rest is refused once all else is permitted. */
export function permitFromClosed(lan: Lan): string[] {
  return fromHosts(lan).map(
    (from) => `${from} jump ${CLOSED} comment "a network without the gateway's page"`,
  );
}

export function refuseFromClosed(policy: Policy): string[] {
  return closedIn(policy)
    .flatMap((lan) => fromHosts(lan))
    .flatMap((from) => refuse('comment "a network without the gateway\'s page"', `${from} `));
}

/**
 * What the gateway still sends on a connection from before would begin a new one, to which the device's packets are
 * answers. The reset ends it. A resolver's answers are in no connection, because its queries are in their exit's zone.
 */
export function endFormer(policy: Policy, lan: Lan): string[] {
  if (usesPage(policy, lan)) return [];
  const end = 'reject with tcp reset comment "connections from before the page was closed"';
  return [`oifname "${lan.interface}" ${MID_STREAM} tcp sport != { 53, 853 } ${end}`];
}

/** DNS, DHCP, and answers to what the gateway has begun. A redirected query has the port of its device. */
export function closedChain(policy: Policy): string[] {
  if (closedIn(policy).length === 0) return [];
  return [
    chain(CLOSED, null, [
      `${TO_RESOLVER} accept comment "queries"`,
      ...(policy.resolver === undefined
        ? []
        : [
            'meta l4proto { tcp, udp } ct direction original ct status dnat ct original proto-dst 53 accept comment "redirected queries"',
          ]),
      'udp dport { 67, 547 } accept comment "DHCP"',
      'icmp type echo-request accept comment "whether the gateway is there"',
      'icmpv6 type echo-request accept comment "whether the gateway is there"',
      'ct direction reply ct state established,related accept comment "answers"',
    ]),
  ];
}

function closedIn(policy: Networks): Lan[] {
  return policy.lans.filter((lan) => !usesPage(policy, lan));
}

/** On a network's interface: what is for another network that both sides let in is in no tunnel. */
export function toOtherNetworks(policy: Networks, { interface: from }: Lan, family: 4 | 6): string[] {
  const prefixes = openPairs(policy).flatMap(([one, other]) =>
    one.interface === from ? networkPrefixes(other) : [],
  );
  return byFamily(
    "daddr",
    prefixes.filter((prefix) => familyOf(prefix) === family),
  ).map((to) => `${to} jump ${BETWEEN} comment "to a network that both sides let in"`);
}

/** DNS takes the exit of its device: a resolver of another network would query by its own. */
export function betweenChain(policy: Networks): string[] {
  if (openPairs(policy).length === 0) return [];
  return [
    chain(BETWEEN, null, [
      `${TO_RESOLVER} return comment "queries take the exit of their device"`,
      'accept comment "connections between networks are in no tunnel"',
    ]),
  ];
}

/** Between two networks that both say so; all others are refused with the rest. */
export function forwardBetween(policy: Networks): string[] {
  return openPairs(policy).map(
    ([from, to]) =>
      `iifname "${from.interface}" oifname "${to.interface}" jump ${INTO_OTHERS} comment "networks that let each other in"`,
  );
}

export function intoOthersChain(policy: Networks, clamp: string): string[] {
  const pairs = openPairs(policy);
  if (pairs.length === 0) return [];
  return [
    chain(INTO_OTHERS, null, [
      ...refuse('comment "a resolver of another network would query by its own exit"', `${TO_RESOLVER} `),
      'ct state invalid,untracked drop comment "no connection"',
      clamp,
      ...pairs.flatMap(([from, to]) =>
        ([4, 6] as const).flatMap((family) =>
          byFamily("saddr", ofFamily(from, family)).flatMap((sender) =>
            byFamily("daddr", ofFamily(to, family)).map(
              (receiver) =>
                `iifname "${from.interface}" ${sender} oifname "${to.interface}" ${receiver} accept comment "between networks"`,
            ),
          ),
        ),
      ),
    ]),
  ];
}

/** The same in the other layer: a route leads from one network to another only if both say so. */
export function betweenRules(policy: Networks & Pick<Policy, "routed">): Rule[] {
  const behind = policy.routed.map(({ prefix }) => prefix);
  const rules = openPairs(policy).flatMap(([from, to]) =>
    networkPrefixes(to).map((prefix) => ({
      family: familyOf(prefix),
      priority: PRIORITY.between,
      text: `to ${prefix} iif ${from.interface} lookup ${behind.includes(prefix) ? ROUTED_TABLE : LAN_TABLE}`,
    })),
  );
  return [...new Map(rules.map((rule) => [rule.text, rule])).values()];
}

/** Whether it is one of these: only the service knows which networks let each other in. */
export function isBetweenRule({ priority }: Rule): boolean {
  return priority === PRIORITY.between;
}

/** The networks that let each other in, both ways. */
function openPairs({ lans, networks = [] }: Networks): (readonly [from: Lan, to: Lan])[] {
  const open = lans.filter((lan) => networks.some((each) => each.interface === lan.interface && each.others));
  return open.flatMap((from) => open.filter((to) => to !== from).map((to) => [from, to] as const));
}

/** Link-local addresses are those of each link. */
function networkPrefixes({ prefixes }: Lan): Prefix[] {
  return prefixes.filter((prefix) => !isLinkLocal(addressOf(prefix)));
}

function ofFamily(lan: Lan, family: 4 | 6): Prefix[] {
  return networkPrefixes(lan).filter((prefix) => familyOf(prefix) === family);
}
