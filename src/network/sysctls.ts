import type { Host } from "../system/host.ts";
import type { HostNetwork } from "./host-network.ts";

/** A kernel setting the gateway needs, and why. Path below `/proc/sys/net`. */
export interface Sysctl {
  path: string;
  value: string;
  why: string;
}

export function sysctlsFor(network: HostNetwork): Sysctl[] {
  const names = [
    ...new Set([...network.lans.map((lan) => lan.interface), ...(network.uplink ? [network.uplink] : [])]),
  ];
  return [
    ...names.flatMap((name) => [
      {
        path: `ipv4/conf/${name}/send_redirects`,
        value: "0",
        why: "ICMP redirects would lead clients past the gateway",
      },
      {
        path: `ipv4/conf/${name}/accept_redirects`,
        value: "0",
        why: "ICMP redirects would change the gateway's own routes",
      },
      {
        path: `ipv6/conf/${name}/accept_redirects`,
        value: "0",
        why: "ICMP redirects would change the gateway's own routes",
      },
    ]),
    {
      path: "ipv4/conf/all/send_redirects",
      value: "0",
      why: "the kernel sends redirects if either setting allows it",
    },
    { path: "ipv4/conf/all/accept_redirects", value: "0", why: "the same for all interfaces" },
    {
      path: "ipv4/conf/all/arp_ignore",
      value: "1",
      why: "ARP requests for the tunnel's address are not answered on the LAN",
    },
    {
      path: "ipv4/conf/all/src_valid_mark",
      value: "1",
      why: "reverse-path filtering uses the mark of the tunnel's packets",
    },
    {
      path: "ipv6/fwmark_reflect",
      value: "1",
      why: "rejections return on the link that the packet came from, and path MTU discovery works for WireGuard",
    },
    // With forwarding the kernel ignores routes in router advertisements unless accept_ra is 2.
    ...(network.uplink
      ? [
          {
            path: `ipv6/conf/${network.uplink}/accept_ra`,
            value: "2",
            why: "the uplink keeps its IPv6 route",
          },
        ]
      : []),
    { path: "ipv4/ip_forward", value: "1", why: "LAN clients' packets are forwarded" },
    { path: "ipv6/conf/all/forwarding", value: "1", why: "LAN clients' packets are forwarded" },
  ];
}

/** Sets what differs and returns it, for the log. Settings that the kernel does not have are skipped. */
export async function applySysctls(host: Host, wanted: readonly Sysctl[]): Promise<Sysctl[]> {
  const changed: Sysctl[] = [];
  for (const sysctl of wanted) {
    const path = `/proc/sys/net/${sysctl.path}`;
    const present = (await host.read(path))?.trim();
    if (present === undefined || present === sysctl.value) continue;
    if (sysctl.path.endsWith("accept_ra") && present === "0") continue;
    try {
      await host.writeSysctl(path, sysctl.value);
    } catch (error) {
      // Its interface has disappeared meanwhile.
      if ((await host.read(path)) === null) continue;
      throw error;
    }
    changed.push(sysctl);
  }
  return changed;
}
