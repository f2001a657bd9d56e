import { REFUSAL_MARK } from "../network/slot.ts";
import { DNS } from "./dns.ts";
import { among, byFamily, chain, isMarked, namesOf, set } from "./match.ts";
import { defaultTunnels, type FirewallTunnel, type Policy } from "./policy.ts";
import { markReplies } from "./uplink.ts";

/**
 * Before conntrack: drops `dropped`, marks replies and puts each connection into the zone of its tunnel. After a
 * switch a connection is a new one with a new source address, so nothing has to be flushed.
 */
export function rawPrerouting(policy: Policy, dropped: readonly string[] = []): string {
  const { lans, endpoints, carrying } = policy;
  return chain("raw_prerouting", "type filter hook prerouting priority raw; policy accept;", [
    ...dropToTunnelAddresses(endpoints),
    ...dropped,
    ...markReplies(policy),
    ...carrying.map((tunnel) => `iifname "${tunnel.interface}" ${inOwnZone(tunnel)}`),
    ...among("iifname", namesOf(lans)).flatMap((from) => [
      ...defaultTunnels(policy).map(
        (tunnel) => `${from} fib daddr oifname "${tunnel.interface}" ${inOwnZone(tunnel)}`,
      ),
      ...defaultTunnels(policy)
        .slice(0, 1)
        .map(
          (current) =>
            `${from} ${isMarked(REFUSAL_MARK, "!=")} ${DNS} fib daddr type local ${dnsInZone(current)}`,
        ),
    ]),
  ]);
}

export function rawOutput(policy: Policy): string {
  const { lans, carrying } = policy;
  return chain("raw_output", "type filter hook output priority raw; policy accept;", [
    ...carrying.map((tunnel) => `oifname "${tunnel.interface}" ${inOwnZone(tunnel)}`),
    ...among("oifname", namesOf(lans)).flatMap((to) =>
      defaultTunnels(policy)
        .slice(0, 1)
        .map((current) => `${to} ${DNS} ${dnsInZone(current)}`),
    ),
  ]);
}

export function sourceNat({ carrying }: Policy): string {
  return chain("source_nat", "type nat hook postrouting priority srcnat; policy accept;", [
    ...carrying.map(
      (tunnel) =>
        `oifname "${tunnel.interface}" masquerade comment "the server accepts only the tunnel's address"`,
    ),
  ]);
}

function dropToTunnelAddresses(endpoints: readonly FirewallTunnel[]): string[] {
  const addresses = [...new Set(endpoints.flatMap((tunnel) => tunnel.addresses))];
  const inside = set(["lo", ...endpoints.map((tunnel) => tunnel.interface)]);
  return byFamily("daddr", addresses).map(
    (to) =>
      `iifname != ${inside} ${to} drop comment "CVE-2019-14899: only the tunnel may send to the tunnel's address"`,
  );
}

function inOwnZone(tunnel: FirewallTunnel): string {
  return `ct zone set ${tunnel.zone} comment "each tunnel has its own connections"`;
}

function dnsInZone(current: FirewallTunnel): string {
  return `ct zone set ${current.zone} comment "DNS queries use the current tunnel"`;
}
