import { DIRECT_MARK, REMOTE_MARK } from "../network/slot.ts";
import type { Connection } from "../system/host.ts";
import { isMarked, WIREGUARD } from "./match.ts";
import { isAnyDirect, type Policy, tunnelsOf } from "./policy.ts";

/** The kernel chooses WireGuard's own port among those from 32768 on (`ip_local_port_range`). */
export const NOT_WIREGUARDS = { first: 1_024, last: 32_767 };
const UDP = 17;

/**
 * WireGuard's packets at the socket for remote devices: at that port from anywhere, and from that socket only, which
 * WireGuard lets answer only those that have proven who they are. They are not tracked: a connection of a device that
 * goes through the same address and port would otherwise take what comes for WireGuard (CVE-2021-3773), and strangers
 * could fill the table of connections.
 */
export function permitRemoteSocket(direction: "in" | "out", policy: Policy): string[] {
  const { remote } = policy;
  if (remote === undefined) return [];
  return waysOf(policy).map((link) =>
    direction === "in"
      ? `iifname "${link}" udp dport ${remote.port} ${WIREGUARD} accept comment "WireGuard from remote devices"`
      : `oifname "${link}" ${isMarked(REMOTE_MARK)} udp sport ${remote.port} ${WIREGUARD} accept comment "WireGuard to remote devices"`,
  );
}

/** Runs before conntrack, on an interface by which remote devices come in. */
export function untrackRemote(policy: Policy, link: string, match = ""): string[] {
  const { remote } = policy;
  if (remote === undefined || !waysOf(policy).includes(link)) return [];
  return [
    `${match}udp dport ${remote.port} ${WIREGUARD} fib daddr type local notrack accept comment "WireGuard from remote devices"`,
  ];
}

/** The same for the answers. A redirection of DNS must not see those to port 53. */
export function untrackRemoteAnswers({ remote }: Policy): string[] {
  if (remote === undefined) return [];
  return [`${isMarked(REMOTE_MARK)} notrack accept comment "WireGuard to remote devices"`];
}

/**
 * Source NAT never gives a device the port of the socket: what is answered there is not tracked, and so would not come
 * back to the device.
 */
export function keepRemotePortFree(policy: Policy): string[] {
  const { remote, uplink } = policy;
  if (remote === undefined) return [];
  return waysOf(policy)
    .filter((link) => link !== uplink || isAnyDirect(policy))
    .map((link) => {
      const from = `oifname "${link}"${link === uplink ? ` ${isMarked(DIRECT_MARK)}` : ""}`;
      return `${from} udp sport ${remote.port} masquerade to :${portsBeside(remote.port)} comment "another port than that of remote devices"`;
    });
}

/** None of the ports that the kernel chooses for WireGuard's own sockets is among these. */
function portsBeside(port: number): string {
  const { first, last } = NOT_WIREGUARDS;
  if (port > last) return `${first}-${last}`;
  return port - first > last - port ? `${first}-${port - 1}` : `${Math.max(first, port + 1)}-${last}`;
}

/** Whether a connection that began before has that port: what is answered no longer comes to its device. */
export function hasRemotePort({ zone, protocol, reply }: Connection, policy: Policy): boolean {
  const { remote } = policy;
  if (remote === undefined || protocol !== UDP || reply.destinationPort !== remote.port) return false;
  if (remote.through === null) return policy.uplinkAddresses.includes(reply.destination);
  return tunnelsOf(remote.through, policy).some(
    (tunnel) => tunnel.zone === zone && tunnel.addresses.includes(reply.destination),
  );
}

/** What comes from anywhere to the socket, for reverse-path filtering on the uplink. */
export function toRemoteSocket({ remote, uplink }: Policy): string[] {
  if (remote === undefined || remote.through !== null || uplink === null) return [];
  return [`udp dport ${remote.port} ${WIREGUARD} fib daddr type local`];
}

/** The interfaces by which WireGuard's packets of remote devices come and go. */
function waysOf(policy: Policy): string[] {
  const { remote, uplink } = policy;
  if (remote === undefined) return [];
  if (remote.through === null) return uplink === null ? [] : [uplink];
  return tunnelsOf(remote.through, policy).map((tunnel) => tunnel.interface);
}
