import { REMOTE_MARK } from "../network/slot.ts";
import { isMarked, WIREGUARD } from "./match.ts";
import { type Policy, tunnelsOf } from "./policy.ts";

/**
 * WireGuard's packets at the socket for devices on the road: at that port from anywhere, and from that socket only, which
 * WireGuard lets answer only those that have proven who they are. They are not tracked: a connection of a device that
 * leaves by the same address and port would otherwise take what comes for WireGuard (CVE-2021-3773), and strangers could
 * fill the table of connections.
 */
export function permitRemoteSocket(direction: "in" | "out", policy: Policy): string[] {
  const { remote } = policy;
  if (remote === undefined) return [];
  return waysOf(policy).map((link) =>
    direction === "in"
      ? `iifname "${link}" udp dport ${remote.port} ${WIREGUARD} accept comment "WireGuard from devices on the road"`
      : `oifname "${link}" ${isMarked(REMOTE_MARK)} udp sport ${remote.port} ${WIREGUARD} accept comment "WireGuard to devices on the road"`,
  );
}

/** Runs before conntrack, on an interface by which devices on the road come in. */
export function untrackRemote(policy: Policy, link: string, match = ""): string[] {
  const { remote } = policy;
  if (remote === undefined || !waysOf(policy).includes(link)) return [];
  return [
    `${match}udp dport ${remote.port} ${WIREGUARD} fib daddr type local notrack accept comment "WireGuard from devices on the road"`,
  ];
}

/** The same for the answers. A redirection of DNS must not see those to port 53. */
export function untrackRemoteAnswers({ remote }: Policy): string[] {
  if (remote === undefined) return [];
  return [`${isMarked(REMOTE_MARK)} notrack accept comment "WireGuard to devices on the road"`];
}

/** What comes from anywhere to the socket, for reverse-path filtering on the uplink. */
export function toRemoteSocket({ remote, uplink }: Policy): string[] {
  if (remote === undefined || remote.through !== null || uplink === null) return [];
  return [`udp dport ${remote.port} ${WIREGUARD} fib daddr type local`];
}

/** The interfaces by which WireGuard's packets of devices on the road come and go. */
function waysOf(policy: Policy): string[] {
  const { remote, uplink } = policy;
  if (remote === undefined) return [];
  if (remote.through === null) return uplink === null ? [] : [uplink];
  return tunnelsOf(remote.through, policy).map((tunnel) => tunnel.interface);
}
