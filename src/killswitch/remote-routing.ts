import { familyOf } from "../base/address.ts";
import { LAN_TABLE, MARK_MASK, REMOTE_MARK, slotIn, tableOf } from "../network/slot.ts";
import { type Policy, tunnelsOf } from "./policy.ts";
import { LAST_METRIC, type TableRoute } from "./routed.ts";
import type { Rule } from "./routing-rules.ts";

/** Between those of WireGuard's packets to servers and those that lead to the LAN. */
const PRIORITY = { socket: 31, noSocket: 32, network: 35 };
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
    ...remote.networks.map((network) => ({
      family: familyOf(network),
      priority: PRIORITY.network,
      text: `to ${network} lookup ${LAN_TABLE}`,
    })),
  ];
}

/** Whether a rule is one of those for the socket, which a stopped service may have left. */
export function isRemoteRule({ priority, text }: Rule): boolean {
  if (priority === PRIORITY.noSocket) return text === `${SOCKET} unreachable`;
  return priority === PRIORITY.socket && new RegExp(`^${SOCKET} iif lo lookup (main|\\d+)$`).test(text);
}

/** The routes to remote devices, in the table with the routes to the LAN. */
export function routesToRemote({ remote }: Policy, hasIpv6: boolean): TableRoute[] {
  if (remote === undefined) return [];
  const networks = remote.networks.filter((network) => hasIpv6 || familyOf(network) === 4);
  const source = remote.addresses.find((address) => familyOf(address) === 4);
  return networks.flatMap((network) => [
    { key: `unreachable ${network} metric ${LAST_METRIC}`, to: "" },
    {
      key: network,
      to: ` dev ${remote.interface}${familyOf(network) === 4 && source !== undefined ? ` src ${source}` : ""}`,
    },
  ]);
}
