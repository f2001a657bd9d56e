import { addressOf, contains, familyOf, isLinkLocal, type Prefix } from "../base/address.ts";
import { LAN_TABLE, MARK_MASK, REMOTE_MARK, slotIn, tableOf } from "../network/slot.ts";
import { namesOf } from "./match.ts";
import { cabled } from "./mesh.ts";
import { usesPage } from "./networks.ts";
import { type Policy, type Remote, tunnelsOf } from "./policy.ts";
import { homeAt } from "./remote-part.ts";
import { LAST_METRIC, type TableRoute } from "./routed.ts";
import { PRIORITY as ALL, MARKED, type Rule } from "./routing-rules.ts";

/** Between those of WireGuard's packets to servers and those that lead to the LAN. */
const PRIORITY = { socket: 31, noSocket: 32, noHome: 34 };
const SOCKET = `fwmark 0x${REMOTE_MARK.toString(16)}/0x${MARK_MASK.toString(16)}`;

/**
 * The routing rules: what the socket sends goes through the uplink or by its tunnel, and by nothing else. What is for
 * devices away from home uses the LAN's table, which has an answer for all of their addresses.
 */
export function remoteRules(policy: Policy): Rule[] {
  const { remote } = policy;
  if (remote === undefined) return [];
  const [tunnel] = remote.through === null ? [] : tunnelsOf(remote.through, policy);
  const table = remote.through === null ? "main" : tunnel === undefined ? null : tableOf(slotIn(tunnel.mark));
  return [
    ...([4, 6] as const).flatMap((family) => [
      ...(table === null
        ? []
        : [{ family, priority: PRIORITY.socket, text: `${SOCKET} iif lo lookup ${table}` }]),
      { family, priority: PRIORITY.noSocket, text: `${SOCKET} unreachable` },
    ]),
    ...toRemote(policy, remote.networks),
    ...onlyMarkedFromHomes(remote),
    ...fromRemoteToLan(policy, remote.interface),
  ];
}

/** For what the LAN, the gateway, tunnels and the uplink answer them. Only networks with the page send to other homes. */
function toRemote(policy: Policy, networks: readonly Prefix[]): Rule[] {
  const linksOf = (lans: Policy["lans"]) => ["lo", ...new Set(namesOf(lans))].map((link) => `iif ${link}`);
  const ofHomes = policy.remote?.homes?.flatMap(({ prefixes }) => prefixes) ?? [];
  return networks.flatMap((network) => {
    const isHome = ofHomes.includes(network);
    const from = linksOf(isHome ? cabled(policy).filter((lan) => usesPage(policy, lan)) : cabled(policy));
    const family = familyOf(network);
    const rule = (priority: number, packets: string) => ({
      ...{ family, priority },
      text: `to ${network} ${packets} lookup ${LAN_TABLE}`,
    });
    return [rule(ALL.markedToRouted, MARKED), ...from.map((each) => rule(ALL.routed, each))];
  });
}

/** The firewall marks what other homes may send to the LAN. Nothing else of theirs has a route, and without it nothing has. */
function onlyMarkedFromHomes({ homes = [], interface: link }: Remote): Rule[] {
  return homes.flatMap(({ prefixes }) =>
    prefixes.map((prefix) => ({
      family: familyOf(prefix),
      priority: PRIORITY.noHome,
      text: `from ${prefix} iif ${link} unreachable`,
    })),
  );
}

/** Which of them may reach the LAN, the firewall knows. */
function fromRemoteToLan(policy: Policy, link: string): Rule[] {
  const behind = policy.routed.map(({ prefix }) => prefix);
  return [...new Set(cabled(policy).flatMap((lan) => lan.prefixes))]
    .filter((prefix) => !behind.includes(prefix) && !isLinkLocal(addressOf(prefix)))
    .map((prefix) => ({
      family: familyOf(prefix),
      priority: ALL.routed,
      text: `to ${prefix} iif ${link} lookup ${LAN_TABLE}`,
    }));
}

/** Whether a rule is one of those for the socket, which a stopped service may have left. */
export function isRemoteRule({ priority, text }: Rule): boolean {
  if (priority === PRIORITY.noHome) return / unreachable$/.test(text);
  if (priority === PRIORITY.noSocket) return text === `${SOCKET} unreachable`;
  return priority === PRIORITY.socket && new RegExp(`^${SOCKET} iif lo lookup (main|\\d+)$`).test(text);
}

/** The routes to remote devices, in the table with the routes to the LAN. */
export function routesToRemote(policy: Policy, hasIpv6: boolean): TableRoute[] {
  const { remote, addresses } = policy;
  if (remote === undefined) return [];
  const networks = remote.networks.filter((network) => hasIpv6 || familyOf(network) === 4);
  const own = remote.addresses.find((address) => familyOf(address) === 4);
  // Another home knows this one by the addresses of its LAN.
  const ofLan = addresses.find((address) =>
    cabled(policy).some(
      ({ prefixes }) => familyOf(address) === 4 && prefixes.some((each) => contains(each, address)),
    ),
  );
  return networks.flatMap((network) => {
    const source = homeAt(remote, addressOf(network)) === undefined ? own : ofLan;
    const from = familyOf(network) === 4 && source !== undefined ? ` src ${source}` : "";
    return [
      { key: `unreachable ${network} metric ${LAST_METRIC}`, to: "" },
      { key: network, to: ` dev ${remote.interface}${from}` },
    ];
  });
}
