import { type Address, familyOf, isLinkLocal } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { FairQueues } from "../network/fair-queues.ts";
import { type HostNetwork, networkBeside } from "../network/host-network.ts";
import { readNeighbours } from "../network/neighbours.ts";
import { type OtherRouter, type OtherRouters, sentencesOf } from "../network/other-routers.ts";
import { rateArgs } from "../shared/rates.ts";
import type { Host } from "../system/host.ts";
import { type Route, showAddresses, showNeighbours, showRoutes } from "../system/ip.ts";
import { resolversOf } from "../tunnel/nameservers.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** An address that a machine assigns itself if no DHCP server answers (RFC 3927). */
const SELF_ASSIGNED = /^169\.254\./;

/** `inUse` is whether a tunnel is up, which is possible without a default route. */
export async function uplinkFinding(
  host: Pick<Host, "run">,
  network: HostNetwork,
  inUse: boolean,
): Promise<Finding> {
  const { uplink, online, uplinkAddresses } = network;
  if (uplink === null) return fault("uplink_missing", {});
  const addresses = uplinkAddresses.filter((address) => !isLinkLocal(address));
  if (addresses.every((address) => SELF_ASSIGNED.test(address)))
    return fault("uplink_unaddressed", { uplink });
  const shown = { uplink, addresses: addresses.join(", ") };
  if (!online && !inUse) return fault("uplink_down", shown);
  const router = await silentRouter(host, uplink);
  return router === null ? ok("uplink", shown) : fault("router_silent", { ...shown, router });
}

/** `inside` is the addresses of the tunnels that are up. */
export function lanFinding(network: HostNetwork, inside: readonly Address[] = []): Finding {
  const { remarks, uplink } = network;
  const { lans } = networkBeside(network, inside);
  const prefixesIn = (some: HostNetwork["lans"]) => some.flatMap(({ prefixes }) => prefixes);
  const [taken] = prefixesIn(network.lans).filter((prefix) => !prefixesIn(lans).includes(prefix));
  const [remark] = remarks;
  if (lans.length === 0)
    return remark === undefined ? fault("lan_missing", {}) : fault("lan_unusable", { reason: remark });
  const shown = { lans: lans.map((lan) => `${lan.interface} (${lan.prefixes.join(", ")})`).join("; ") };
  if (taken !== undefined) return warning("lan_covered", { ...shown, prefix: taken });
  const [route] = network.routesAgainstLan;
  if (route !== undefined) return warning("lan_route", { ...shown, route });
  if (remark !== undefined) return warning("lan_doubtful", { ...shown, reason: remark });
  return ok(lans.some((lan) => lan.interface === uplink) ? "lan_and_uplink" : "lan", shown);
}

/**
 * Other routers and DHCP servers of the LAN. Without a service that listens to them, only those that the kernel has
 * heard are known, because nothing is sent to find them.
 */
export async function otherRoutersFinding(
  host: Pick<Host, "run">,
  { lans }: HostNetwork,
  { current, isListening }: Pick<OtherRouters, "current" | "isListening">,
): Promise<Finding> {
  if (isListening) return current.length === 0 ? ok("routers_none", {}) : leading(current);
  const [[router], links] = await Promise.all([ipv6RoutersOn(host, lans), leasesOn(host, lans)]);
  if (router !== undefined) return warning("routers_ipv6", { router: router.address, link: router.link });
  return links.length === 0 ? ok("routers_unheard", {}) : ok("routers_dhcp", { links: links.join(", ") });
}

function leading(routers: readonly OtherRouter[]): Finding {
  const families = new Set(routers.map(({ address }) => `ipv${familyOf(address)}`));
  return warning("routers_lead", { reason: sentencesOf(routers), families: [...families].join("_") });
}

/** The resolvers that the gateway itself uses for the names of servers. */
export async function resolverFinding(host: Host): Promise<Finding> {
  try {
    return ok("resolver", { resolvers: (await resolversOf(host)).join(", ") });
  } catch (error) {
    return warning("resolver_missing", { reason: messageOf(error) });
  }
}

/** `inTunnel` is whether the tunnel carries IPv6; null without a tunnel. */
export function ipv6Finding({ ipv6 }: Pick<HostNetwork, "ipv6">, inTunnel: boolean | null): Finding {
  switch (ipv6) {
    case "missing":
      return ok("ipv6_missing", {});
    case "off":
      return ok("ipv6_off", {});
    case "on":
      if (inTunnel === null) return ok("ipv6_filtered", {});
      return ok(inTunnel ? "ipv6_carried" : "ipv6_refused", {});
  }
}

/** The address of the uplink's IPv4 router if ARP requests for it are not answered, or null. */
async function silentRouter(host: Pick<Host, "run">, uplink: string): Promise<string | null> {
  const routers = (await defaultRoutes(host, 4)).flatMap(({ dev, gateway = [] }) =>
    dev === uplink ? gateway : [],
  );
  const lost = (await readNeighbours(host)).filter((each) => each.isLost && each.interface === uplink);
  return lost.find(({ address }) => routers.includes(address))?.address ?? null;
}

async function ipv6RoutersOn(
  host: Pick<Host, "run">,
  lans: HostNetwork["lans"],
): Promise<{ address: string; link: string }[]> {
  const names = lans.map((lan) => lan.interface);
  const advertised = (await defaultRoutes(host, 6)).filter(({ protocol }) => protocol === "ra");
  // The kernel marks a neighbour as a router when it advertises itself, even if the route is not taken (RFC 4861, 6.3.4).
  const neighbours = await showNeighbours(host);
  const heard = [
    ...advertised.map(({ gateway = "", dev = "" }) => ({ address: gateway, link: dev })),
    ...neighbours.flatMap(({ dst = "", dev = "", router }) =>
      router === undefined || !dst.startsWith("fe80:") ? [] : [{ address: dst, link: dev }],
    ),
  ];
  return heard.filter(({ link }) => names.includes(link));
}

/** The interfaces of the LAN on which another machine has leased an address to this one. */
async function leasesOn(host: Pick<Host, "run">, lans: HostNetwork["lans"]): Promise<string[]> {
  return (await showAddresses(host))
    .filter(({ ifname }) => lans.some((lan) => lan.interface === ifname))
    .filter(({ addr_info }) => addr_info.some(({ family, dynamic }) => family === "inet" && dynamic === true))
    .map(({ ifname }) => ifname);
}

function defaultRoutes(host: Pick<Host, "run">, family: 4 | 6): Promise<Route[]> {
  return showRoutes(host, family, "default").catch(() => []);
}

/** Whether the line is shared fairly; null unless its rates are given. */
export async function lineFinding(queues: Pick<FairQueues, "line" | "missing">): Promise<Finding | null> {
  const links = await queues.missing();
  const { line } = queues;
  if (line === null || links === null) return null;
  const rate = rateArgs(line);
  const { of, missing } = links;
  if (of.length === 0) return ok("line_waiting", rate);
  if (missing.length === 0) return ok("line", { ...rate, links: of.join(", ") });
  return warning("line_missing", { ...rate, links: missing.join(", ") });
}
