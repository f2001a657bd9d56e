import { ownDns } from "./dns.ts";
import { linkNames } from "./link.ts";
import { among, chain } from "./match.ts";
import { type FirewallTunnel, mainTunnels, type Policy } from "./policy.ts";
import { untrackRemoteAnswers } from "./remote-socket.ts";

const COMMENT = 'comment "each tunnel has its own connections"';

export function inOwnZone(tunnel: FirewallTunnel): string {
  return `ct zone set ${tunnel.zone} ${COMMENT}`;
}

export function rawOutput(policy: Policy): string {
  const { carrying } = policy;
  return chain("raw_output", "type filter hook output priority raw; policy accept;", [
    ...untrackRemoteAnswers(policy),
    ...carrying.map((tunnel) => `oifname "${tunnel.interface}" ${inOwnZone(tunnel)}`),
    ...among("oifname", linkNames(policy)).flatMap((to) =>
      mainTunnels(policy)
        .slice(0, 1)
        .map(
          (current) =>
            `${to} ${ownDns(policy)} ct zone set ${current.zone} comment "DNS queries use the current tunnel"`,
        ),
    ),
  ]);
}
