import { contains, formatPrefix, parsePrefix } from "../address.ts";
import { GatewayError } from "../errors.ts";
import { tunnelInterfaces } from "../interface-name.ts";
import type { FirewallTunnel } from "../killswitch/policy.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Server } from "../servers/schema.ts";
import { type Config, LONGEST_KEEPALIVE_SECONDS } from "../wireguard/schema.ts";

/** One WireGuard interface and the server behind it. There are two interfaces, so that a switch can dial beside. */
export interface Session {
  server: Server;
  link: string;
  /** Conntrack zone, 1 or 2; never 0, where everything lives that belongs to no tunnel. */
  zone: number;
  endpoint: { address: string; port: number };
}

/** The interface for a new session: the one of the two that `other` does not use. */
export function sessionFor(
  base: string,
  server: Server,
  endpoint: Session["endpoint"],
  other: Session | null,
): Session {
  const slot = other?.link === `${base}0` ? 1 : 0;
  return { server, link: `${base}${slot}`, zone: slot + 1, endpoint };
}

export function linksOfBase(base: string): string[] {
  return tunnelInterfaces(base);
}

/** Opens NAT mappings, starts the first handshake, and renews it, so that an idle tunnel proves it is alive. */
const KEEPALIVE_SECONDS = 25;

/** Seconds from one keepalive to the next; a rarer one would make an idle tunnel look dead. */
export function keepaliveOf({ config }: Server): number {
  return Math.min(config.peer.persistentKeepalive || KEEPALIVE_SECONDS, LONGEST_KEEPALIVE_SECONDS);
}

export function sameServer(a: Server, b: Server): boolean {
  return a.provider === b.provider && a.name === b.name;
}

/**
 * The server as this machine can use it: without IPv6 only the tunnel's IPv4 addresses. Throws
 * `GatewayError("unable")` where it cannot.
 */
export function usableOn(network: HostNetwork, server: Server): Server {
  const usable = withoutMissingFamily(network, server);
  const clash = clashOf(network, usable.config);
  if (clash !== null) throw new GatewayError("unable", `${server.name} cannot be used here: ${clash}`);
  return usable;
}

function withoutMissingFamily(network: HostNetwork, server: Server): Server {
  if (network.ipv6 === "on") return server;
  const addresses = server.config.interface.addresses.filter((address) => !address.includes(":"));
  if (addresses.length === 0) {
    throw new GatewayError(
      "unable",
      `${server.name} has IPv6 addresses alone, and IPv6 is turned off on this machine`,
    );
  }
  return { ...server, config: { ...server.config, interface: { ...server.config.interface, addresses } } };
}

/**
 * What the firewall must know of it. Nobody outside the tunnel may send to its addresses (CVE-2019-14899); one that
 * the LAN has come to use since is left out, or the LAN could no longer reach the gateway.
 */
export function firewallTunnelOf(
  { server, link, zone, endpoint }: Session,
  network: HostNetwork,
): FirewallTunnel {
  return {
    interface: link,
    zone,
    endpoint,
    addresses: addressesOf(server.config).filter((address) => userOf(network, address) === null),
    resolvers: server.config.interface.dns,
  };
}

/** Why a tunnel with this configuration would cut the LAN off from the gateway, or null. */
export function clashOf(network: HostNetwork, config: Config): string | null {
  for (const address of addressesOf(config)) {
    const user = userOf(network, address);
    if (user !== null) return `${address} ${user}`;
  }
  return null;
}

/** Who uses an address outside the tunnel, and what to do about it, as the end of a sentence; null where nobody does. */
function userOf({ addresses, lans }: HostNetwork, address: string): string | null {
  if (addresses.includes(address))
    return "is an address of this machine, by which nobody could reach it any more; end the other tunnel that has it, or change the server's address";
  const prefix = lans
    .flatMap((lan) => lan.prefixes)
    .map(parsePrefix)
    .find((each) => each !== null && contains(each, address));
  return prefix == null
    ? null
    : `lies in the LAN ${formatPrefix(prefix)}, which could not reach the gateway any more; change the server's address, or the LAN's`;
}

/** The tunnel's own addresses, without prefix length. */
function addressesOf(config: Config): string[] {
  return config.interface.addresses.map((address) => parsePrefix(address)?.address ?? address);
}
