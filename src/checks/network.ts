import { type Address, familyOf, isLinkLocal } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { FairQueues } from "../network/fair-queues.ts";
import { type HostNetwork, networkBeside } from "../network/host-network.ts";
import { readNeighbours } from "../network/neighbours.ts";
import { type OtherRouter, type OtherRouters, sentencesOf } from "../network/other-routers.ts";
import { rateText } from "../shared/rates.ts";
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
  if (uplink === null)
    return fault(
      "there is no default route",
      "Check that the uplink's cable is plugged in and the home router is on. If the uplink needs no default route, name it with --uplink.",
    );
  const addresses = uplinkAddresses.filter((address) => !isLinkLocal(address));
  if (addresses.every((address) => SELF_ASSIGNED.test(address)))
    return fault(
      `${uplink} has no address from the home router`,
      "Check that the cable is plugged in and the home router's DHCP server is on, or set an address by hand.",
    );
  const shown = `${uplink} has ${addresses.join(", ")}`;
  if (!online && !inUse)
    return fault(
      `${shown}, but no carrier or no default route`,
      "Check that the cable is plugged in and the home router is on.",
    );
  const router = await silentRouter(host, uplink);
  if (router === null) return ok(shown);
  return fault(
    `${shown}, but the home router ${router} does not answer`,
    "Check that the home router is on and has this address.",
  );
}

/** `inside` is the addresses of the tunnels that are up. */
export function lanFinding(network: HostNetwork, inside: readonly Address[] = []): Finding {
  const { remarks, uplink } = network;
  const { lans } = networkBeside(network, inside);
  const prefixesIn = (some: HostNetwork["lans"]) => some.flatMap(({ prefixes }) => prefixes);
  const [taken] = prefixesIn(network.lans).filter((prefix) => !prefixesIn(lans).includes(prefix));
  const [remark] = remarks;
  if (lans.length === 0)
    return fault(
      remark ?? "no interface has a private address",
      "Connect the LAN's cable, or name its interface with --lan.",
    );
  const shown = lans.map((lan) => `${lan.interface} (${lan.prefixes.join(", ")})`).join("; ");
  if (taken !== undefined)
    return warning(
      `${shown}; ${taken} does not count as LAN, because it covers the address of a tunnel`,
      "If you have chosen this prefix, give the LAN another one. If not, a device on the LAN advertises it: turn off its router advertisements. IPv4 works meanwhile.",
    );
  const [route] = network.routesAgainstLan;
  if (route !== undefined)
    return warning(
      `${shown}; another interface has a route to a part of it, which is not used: ${route}`,
      "A DHCP server or a router on that network has set it, by mistake or to listen. If that network has the LAN's own addresses, give the LAN others.",
    );
  if (remark !== undefined)
    return warning(`${shown}; ${remark}`, "Correct that, or the settings --lan and --uplink.");
  return ok(lans.some((lan) => lan.interface === uplink) ? `${shown}; it is also the uplink` : shown);
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
  if (isListening) return current.length === 0 ? ok("none leads devices past the gateway") : leading(current);
  const [routers, leases] = await Promise.all([ipv6RoutersOn(host, lans), leasesOn(host, lans)]);
  const leased = leases.map((name) => `a DHCP server gives out addresses on ${name}`).join("; ");
  const [router] = routers;
  if (router === undefined)
    return ok(leased === "" ? "none were heard" : `${leased}; no IPv6 router was heard`);
  return warning(
    `${router.address} on ${router.link} is an IPv6 router: devices that use it leave outside the tunnel`,
    "Turn off IPv6, or its router advertisements, in the settings of the other router. Devices that do not use the gateway are out of its reach.",
  );
}

function leading(routers: readonly OtherRouter[]): Finding {
  const families = routers.map(({ address }) => familyOf(address));
  const steps = [
    ...(families.includes(6)
      ? ["Turn off IPv6, or its router advertisements, in the settings of the other router."]
      : []),
    ...(families.includes(4)
      ? ["Turn off the other DHCP server, or let it give devices the gateway as router and as DNS server."]
      : []),
  ];
  return warning(
    `${sentencesOf(routers)}: devices that use it leave outside the tunnel`,
    `${steps.join(" ")} docs/other-routers.md has the steps for common routers.`,
  );
}

/** The resolvers that the gateway itself uses for the names of servers. */
export async function resolverFinding(host: Host): Promise<Finding> {
  try {
    return ok((await resolversOf(host)).join(", "));
  } catch (error) {
    return warning(
      messageOf(error),
      "Servers with an address work. For servers with a name, let DHCP set a resolver, or write one to /etc/resolv.conf.",
    );
  }
}

/** `inTunnel` is whether the tunnel carries IPv6; null without a tunnel. */
export function ipv6Finding({ ipv6 }: Pick<HostNetwork, "ipv6">, inTunnel: boolean | null): Finding {
  switch (ipv6) {
    case "missing":
      return ok("the kernel has none: only IPv4 is used");
    case "off":
      return ok("turned off on this machine: only IPv4 is used");
    case "on":
      if (inTunnel === null) return ok("on; filtered like IPv4");
      return ok(inTunnel ? "on; the tunnel carries it" : "on; the tunnel carries none, so it is refused");
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
  const shown = `${rateText(line)} is shared among the devices`;
  const { of, missing } = links;
  if (of.length === 0) return ok(`${shown}, once there is a LAN or a tunnel`);
  if (missing.length === 0) return ok(`${shown}, on ${of.join(", ")}`);
  return warning(
    `${shown}, but not on ${missing.join(", ")}`,
    "Another program has changed the queue of this interface, or the kernel cannot do it: portcullis logs. Set the rates again in the settings.",
  );
}
