import { addressOf, contains, isLinkLocal, type Prefix } from "../base/address.ts";
import { exitMarkOf, MAIN_SLOT, markOf } from "../network/slot.ts";
import { TO_RESOLVER } from "./dns.ts";
import { among, byFamily, chain, setMark } from "./match.ts";
import { cabled } from "./mesh.ts";
import { usesPage } from "./networks.ts";
import type { FirewallTunnel, Policy, Remote } from "./policy.ts";
import { refuse } from "./strangers.ts";

const FROM_HOMES = "from_other_homes";
const MARK_FROM_HOMES = "mark_from_homes";
const REPLIES = "ct direction reply ct state established,related";

type Home = NonNullable<Remote["homes"]>[number];

/** On the interface of remote devices, ahead of their rules: what other homes send has a chain of its own. */
export function toHomesChain({ remote }: Policy): string[] {
  return (remote?.homes ?? []).flatMap(({ prefixes }) =>
    byFamily("saddr", prefixes).map((from) => `${from} goto ${FROM_HOMES} comment "from another home"`),
  );
}

/**
 * Another home has no exit here, and nothing of the gateway: what is not for the LAN ends here. The second chain knows
 * the connection. It marks what may pass, and the routing rules lead nothing else of theirs to the LAN.
 */
export function fromHomesChains(policy: Policy): string[] {
  const { remote } = policy;
  const homes = remote?.homes ?? [];
  if (remote === undefined || homes.length === 0) return [];
  const permitted = setMark(exitMarkOf(markOf(MAIN_SLOT)));
  const from = `iifname "${remote.interface}"`;
  return [
    chain(FROM_HOMES, null, [
      `${TO_RESOLVER} drop comment "a resolver of another home would query by its own exit"`,
      ...byFamily("daddr", [...new Set(cabled(policy).flatMap((lan) => lan.prefixes))].filter(isRouted)).map(
        (to) => `${to} accept comment "connections with another home are in no tunnel"`,
      ),
      'drop comment "another home reaches nothing else"',
    ]),
    chain(MARK_FROM_HOMES, "type filter hook prerouting priority mangle; policy accept;", [
      ...homes.flatMap((home) => [
        ...reachable(home).map(
          (pair) => `${from} ${pair} ${permitted} comment "to devices that it may reach"`,
        ),
        ...fromHome(home).map(
          (each) => `${from} ${each} ${REPLIES} ${permitted} comment "replies of another home"`,
        ),
      ]),
    ]),
  ];
}

/**
 * Must stand ahead of the rules that accept known connections. Two homes that have each other as their exit would pass
 * each packet back and forth. So would three in a circle, and none of them knows the exits of the other two.
 */
export function keepFromCircling({ remote, carrying }: Policy): string[] {
  const toHomes = carrying.filter((tunnel) => leadsToHome(tunnel, remote));
  const homes = (remote?.devices ?? []).filter(({ home }) => home).flatMap(({ addresses }) => addresses);
  return among(
    "oifname",
    toHomes.map((tunnel) => tunnel.interface),
  ).flatMap((to) =>
    byFamily("saddr", homes).flatMap((from) =>
      refuse(
        'comment "what comes from a home never leaves by a home"',
        `iifname "${remote?.interface}" ${to} ${from} `,
      ),
    ),
  );
}

export function leadsToHome({ peer }: FirewallTunnel, remote: Pick<Remote, "gateways"> | undefined): boolean {
  return peer !== undefined && remote?.gateways?.includes(peer) === true;
}

/** From other homes to the LAN: to the devices that each may reach, and replies. */
export function fromHomesToLan(policy: Policy): string[] {
  const lans = cabled(policy);
  return (policy.remote?.homes ?? []).flatMap((home) => [
    ...lans.flatMap((lan) => {
      const reaches = home.reaches.filter((each) => lan.prefixes.some((prefix) => contains(prefix, each)));
      return reachable({ ...home, reaches }).map(
        (pair) =>
          `oifname "${lan.interface}" ${pair} accept comment "to devices that the other home may reach"`,
      );
    }),
    ...fromHome(home).map((from) => `${from} ${REPLIES} accept comment "replies of another home"`),
  ]);
}

/** From the LAN to other homes, which decide what can be reached there. A network without the page reaches none. */
export function fromLanToHomes(policy: Policy): string[] {
  const { remote } = policy;
  const open = cabled(policy).filter((lan) => usesPage(policy, lan));
  return (remote?.homes ?? []).flatMap((home) => [
    ...byFamily("daddr", home.prefixes).flatMap((to) => [
      ...withSame(to, byFamily("saddr", home.reaches)).map(
        (from) => `${from} ${to} ${REPLIES} accept comment "replies to another home"`,
      ),
      ...refuse('comment "a resolver of another home would query by its own exit"', `${to} ${TO_RESOLVER} `),
      ...open.flatMap((lan) =>
        withSame(to, byFamily("saddr", lan.prefixes.filter(isRouted))).map(
          (from) =>
            `iifname "${lan.interface}" ${from} ${to} ct direction original ct state new,established,related accept comment "to another home"`,
        ),
      ),
    ]),
  ]);
}

function fromHome({ prefixes }: Home): string[] {
  return byFamily("saddr", prefixes);
}

function reachable({ prefixes, reaches }: Home): string[] {
  return byFamily("saddr", prefixes).flatMap((from) =>
    withSame(from, byFamily("daddr", reaches)).map((to) => `${from} ${to}`),
  );
}

/** Those of the same family. */
function withSame(match: string, others: readonly string[]): string[] {
  return others.filter((other) => other.split(" ")[0] === match.split(" ")[0]);
}

/** Link-local addresses are those of each link. */
function isRouted(prefix: Prefix): boolean {
  return !isLinkLocal(addressOf(prefix));
}
