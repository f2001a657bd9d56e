import type { Host } from "../system/host.ts";
import type { HostNetwork } from "./host-network.ts";

/** A kernel setting that the gateway needs, and the reason. Path below `/proc/sys/net`. */
export interface Sysctl {
  path: string;
  value: string;
  why: string;
  /** A value beyond it is kept. Such settings may belong to the whole machine, and then a container cannot change them. */
  bound?: "least" | "most";
}

export function sysctlsFor(network: HostNetwork): Sysctl[] {
  const inside = [...network.lans, ...network.meshes].map((lan) => lan.interface);
  const names = [...new Set([...inside, ...(network.uplink ? [network.uplink] : [])])];
  return [
    // With one card, the uplink's own check stays.
    ...inside.filter((name) => name !== network.uplink).flatMap(withoutSourceCheck),
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
      path: "ipv4/fwmark_reflect",
      value: "1",
      why: "a reset for what came by a tunnel returns by that tunnel",
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

/**
 * The kernel's look-up of each packet's source (`fib_validate_source`), which is left out only with both. The firewall
 * drops sources that do not belong there, and the routing rules lead nothing to the LAN that it has not marked. A
 * setting for all interfaces is another program's, and counts as well.
 */
export function withoutSourceCheck(link: string): Sysctl[] {
  const why = "the firewall checks sources already; the kernel looks each one up as if it were a destination";
  return [
    { path: `ipv4/conf/${link}/rp_filter`, value: "0", why },
    { path: `ipv4/conf/${link}/accept_local`, value: "1", why },
  ];
}

/**
 * The uplink has its source check again if it was a LAN's interface before. What `accept_local` tells is put back last,
 * and what new interfaces have is what it had.
 */
export async function sourceCheckAgain(host: Pick<Host, "read">, uplink: string | null): Promise<Sysctl[]> {
  const read = async (path: string) => (await host.read(`/proc/sys/net/ipv4/conf/${path}`))?.trim();
  if (uplink === null || (await read(`${uplink}/accept_local`)) !== "1") return [];
  const why = "the uplink is no longer the LAN's";
  return [
    { path: `ipv4/conf/${uplink}/rp_filter`, value: (await read("default/rp_filter")) ?? "0", why },
    { path: `ipv4/conf/${uplink}/accept_local`, value: "0", why },
  ];
}

/** A place takes some 400 bytes, and the whole table at most a sixteenth of the memory (nf_conntrack_core.c). */
const PLACE_BYTES = 400;
const PART_OF_MEMORY = 16;
const MAX_PLACES = 262_144;
/** The least that a NAT keeps an idle connection (RFC 5382, REQ-5); the kernel would keep it for five days. */
const ESTABLISHED_SECONDS = 7_440;
const TIME_WAIT_SECONDS = 60;
/** The kernel's defaults are 512 and 1,024 (neighbour.c). */
const NEIGHBOURS = { gc_thresh2: 4_096, gc_thresh3: 8_192 };

/** Room for all devices in the tables that the kernel has once. */
export function roomFor(memoryBytes: number): Sysctl[] {
  const places = Math.min(MAX_PLACES, 2 ** Math.floor(Math.log2(memoryBytes / PART_OF_MEMORY / PLACE_BYTES)));
  const least = (path: string, value: number, why: string): Sysctl => ({
    ...{ path, value: String(value), why },
    bound: "least",
  });
  const most = (path: string, value: number, why: string): Sysctl => ({
    ...{ path, value: String(value), why },
    bound: "most",
  });
  return [
    least("netfilter/nf_conntrack_max", places, "room for the connections of all devices"),
    least("netfilter/nf_conntrack_buckets", places / 2, "connections are found quickly"),
    most(
      "netfilter/nf_conntrack_tcp_timeout_established",
      ESTABLISHED_SECONDS,
      "connections that nobody uses are forgotten",
    ),
    most(
      "netfilter/nf_conntrack_tcp_timeout_time_wait",
      TIME_WAIT_SECONDS,
      "connections that have ended are forgotten",
    ),
    ...(["ipv4", "ipv6"] as const).flatMap((family) =>
      Object.entries(NEIGHBOURS).map(([name, value]) =>
        least(`${family}/neigh/default/${name}`, value, "room for neighbours that a device invents"),
      ),
    ),
  ];
}

/** Sets what differs and returns it, for the log. Settings that the kernel does not have are skipped. */
export async function applySysctls(host: Host, wanted: readonly Sysctl[]): Promise<Sysctl[]> {
  const changed: Sysctl[] = [];
  for (const sysctl of wanted) {
    const path = `/proc/sys/net/${sysctl.path}`;
    const present = (await host.read(path))?.trim();
    if (present === undefined || isMet(sysctl, present)) continue;
    if (sysctl.path.endsWith("accept_ra") && present === "0") continue;
    try {
      await host.writeSysctl(path, sysctl.value);
    } catch (error) {
      // Its interface has disappeared meanwhile, or it belongs to the whole machine.
      if ((await host.read(path)) === null || sysctl.bound !== undefined) continue;
      throw error;
    }
    changed.push(sysctl);
  }
  return changed;
}

function isMet({ value, bound }: Sysctl, present: string): boolean {
  if (bound === undefined) return present === value;
  return bound === "least" ? Number(present) >= Number(value) : Number(present) <= Number(value);
}
