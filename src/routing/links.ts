import { formatPrefix, isPrivate, networkOf, parsePrefix } from "../address.ts";
import type { Lan } from "../firewall/policy.ts";
import type { Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";

/** The machine's own network. */
export interface Links {
  lans: Lan[];
  uplink: string | null;
  /** The uplink's own addresses, by which the tunnel's packets leave. */
  uplinkAddresses: string[];
  /** All of the machine's own addresses but link-local ones and those of our tunnels. */
  addresses: string[];
  /** Of these the private ones' prefixes. */
  uplinkPrefixes: string[];
  /** Bytes; what the uplink carries in one packet. */
  uplinkMtu: number;
  ipv6: Ipv6;
  /** Whether the uplink has a carrier and a default route. */
  online: boolean;
}

/** `off`: by the operator's setting, and an interface takes no IPv6 address. `missing`: not in the kernel (`ipv6.disable=1`). */
export type Ipv6 = "on" | "off" | "missing";

const ETHERNET_MTU = 1500;

interface Address {
  ifname: string;
  mtu: number;
  /** `none` where it is another tunnel's, such as a VPN's by which the operator comes in. */
  link_type: string;
  /** As `ip` shows them: `UP`, `NO-CARRIER`. */
  flags: string[];
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
  const defaultLinks = await defaultRouteLinks(host, own);
  const uplink = settings.uplink ?? defaultLinks[0] ?? null;
  const found = links.find((link) => link.ifname === uplink);
  const named = settings.lan.length > 0 ? new Set(settings.lan) : null;
  const lans = links
    .filter((link) => (named === null ? link.link_type === "ether" : named.has(link.ifname)))
    .map((link) => ({ interface: link.ifname, prefixes: privatePrefixesOf(link) }))
    .filter((lan) => lan.prefixes.length > 0);
  return {
    lans: lans.map((lan) => ({ ...lan, prefixes: [...lan.prefixes, "fe80::/10"] })),
    uplink,
    uplinkAddresses: (found?.addr_info ?? []).map(({ local = "" }) => local).sort(),
    addresses: ownAddresses(addresses, settings),
    uplinkPrefixes: found === undefined ? [] : privatePrefixesOf(found),
    uplinkMtu: found?.mtu ?? ETHERNET_MTU,
    ipv6: await ipv6Of(host),
    online: hasCarrier(found) && uplink !== null && defaultLinks.includes(uplink),
  };
}

export async function ipv6Of(host: Pick<Host, "read">): Promise<Ipv6> {
  const disabled = await host.read("/proc/sys/net/ipv6/conf/all/disable_ipv6");
  if (disabled === null) return "missing";
  return disabled.trim() === "1" ? "off" : "on";
}

function hasCarrier(link: Address | undefined): boolean {
  return link?.flags.includes("UP") === true && !link.flags.includes("NO-CARRIER");
}

/** The interfaces of all default routes, the preferred one first: IPv4 before IPv6, then by metric. */
async function defaultRouteLinks(host: Host, own: ReadonlySet<string>): Promise<string[]> {
  const families = await Promise.all(
    ["-4", "-6"].map((family) => host.run(["ip", "-j", family, "route", "show", "default"])),
  );
  return families.flatMap((text) =>
    (JSON.parse(text || "[]") as { dev?: string; metric?: number; flags?: string[] }[])
      .filter((route) => route.dev !== undefined && !own.has(route.dev))
      .filter((route) => !route.flags?.some((flag) => flag === "dead" || flag === "linkdown"))
      .sort((a, b) => (a.metric ?? 0) - (b.metric ?? 0))
      .map((route) => route.dev ?? ""),
  );
}

function ownAddresses(links: readonly Address[], { interface: base }: Settings): string[] {
  const others = links.filter(({ ifname }) => ifname !== `${base}0` && ifname !== `${base}1`);
  const addresses = others.flatMap((link) => link.addr_info.map(({ local = "" }) => local));
  return addresses.filter((address) => address !== "" && !address.startsWith("fe80:")).sort();
}

function privatePrefixesOf(link: Address): string[] {
  const prefixes = link.addr_info
    .filter(({ local }) => local !== undefined && isPrivate(local) && !local.startsWith("fe80:"))
    .map(({ local, prefixlen }) => parsePrefix(`${local}/${prefixlen}`))
    .filter((prefix) => prefix !== null)
    .map((prefix) => formatPrefix(networkOf(prefix)));
  return [...new Set(prefixes)].sort();
}
