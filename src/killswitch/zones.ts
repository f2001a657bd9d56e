import { DNS } from "./dns.ts";
import { among, chain, namesOf } from "./match.ts";
import { defaultTunnels, type FirewallTunnel, type Policy } from "./policy.ts";

const COMMENT = 'comment "each tunnel has its own connections"';

export function inOwnZone(tunnel: FirewallTunnel): string {
  return `ct zone set ${tunnel.zone} ${COMMENT}`;
}

/**
 * The zone of what the LAN sends to the internet. During a switch the route decides, which moves to the next tunnel at
 * once; the same if nothing blocks, because then not all of it uses a tunnel. Otherwise it is known without a look-up.
 */
export function inZoneOfLan(policy: Policy, family: 4 | 6, blocks: boolean): string[] {
  const tunnels = defaultTunnels(policy);
  const [current] = tunnels;
  const packets = `meta nfproto ipv${family}`;
  if (current !== undefined && blocks && tunnels.length === 1) {
    return [`${packets} ct zone set ${current.zone} accept ${COMMENT}`];
  }
  return tunnels.map((tunnel) => `${packets} fib daddr oifname "${tunnel.interface}" ${inOwnZone(tunnel)}`);
}

export function rawOutput(policy: Policy): string {
  const { lans, carrying } = policy;
  return chain("raw_output", "type filter hook output priority raw; policy accept;", [
    ...carrying.map((tunnel) => `oifname "${tunnel.interface}" ${inOwnZone(tunnel)}`),
    ...among("oifname", namesOf(lans)).flatMap((to) =>
      defaultTunnels(policy)
        .slice(0, 1)
        .map(
          (current) =>
            `${to} ${DNS} ct zone set ${current.zone} comment "DNS queries use the current tunnel"`,
        ),
    ),
  ]);
}
