import { formatPrefix, isPrivate, networkOf, parsePrefix } from "../address.ts";
import type { Lan } from "../firewall/policy.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";

/** The machine's own network, as found when the service starts. */
export interface Links {
  lans: Lan[];
  uplink: string | null;
  /** Bytes; what the uplink carries in one packet. */
  uplinkMtu: number;
  /** False where the operator has turned IPv6 off: an interface takes no IPv6 address then. */
  ipv6: boolean;
}

const ETHERNET_MTU = 1500;

interface Address {
  ifname: string;
  mtu: number;
  addr_info: { local?: string; prefixlen: number }[];
}

/**
 * The LAN is the private prefixes on the LAN interfaces, never every private address and never every connected
 * route: a public prefix that appears on an interface must not become a hole.
 */
export async function linksOf(host: Host, settings: Settings): Promise<Links> {
  const addresses = JSON.parse(await host.run(["ip", "-j", "address", "show"])) as Address[];
  const own = new Set(["lo", `${settings.interface}0`, `${settings.interface}1`]);
  const links = addresses.filter((link) => !own.has(link.ifname));
  const uplink = settings.uplink ?? (await defaultRouteLink(host, own));
  const named = settings.lan.length > 0 ? new Set(settings.lan) : null;
  const lans = links
    .filter((link) => named === null || named.has(link.ifname))
    .map((link) => ({ interface: link.ifname, prefixes: privatePrefixesOf(link) }))
    .filter((lan) => lan.prefixes.length > 0);
  return {
    lans: lans.map((lan) => ({ ...lan, prefixes: [...lan.prefixes, "fe80::/10"] })),
    uplink,
    uplinkMtu: links.find((link) => link.ifname === uplink)?.mtu ?? ETHERNET_MTU,
    ipv6: (await host.read("/proc/sys/net/ipv6/conf/all/disable_ipv6"))?.trim() !== "1",
  };
}

async function defaultRouteLink(host: Host, own: ReadonlySet<string>): Promise<string | null> {
  for (const family of ["-4", "-6"]) {
    const routes = JSON.parse(await host.run(["ip", "-j", family, "route", "show", "default"])) as {
      dev?: string;
      metric?: number;
    }[];
    const best = routes
      .filter((route) => route.dev !== undefined && !own.has(route.dev))
      .sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0))[0];
    if (best?.dev !== undefined) return best.dev;
  }
  return null;
}

function privatePrefixesOf(link: Address): string[] {
  const prefixes = link.addr_info
    .filter(({ local }) => local !== undefined && isPrivate(local) && !local.startsWith("fe80:"))
    .map(({ local, prefixlen }) => parsePrefix(`${local}/${prefixlen}`))
    .filter((prefix) => prefix !== null)
    .map((prefix) => formatPrefix(networkOf(prefix)));
  return [...new Set(prefixes)].sort();
}
