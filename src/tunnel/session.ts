import { parsePrefix } from "../address.ts";
import { GatewayError } from "../errors.ts";
import type { Exit } from "../firewall/policy.ts";
import type { Links } from "../routing/links.ts";
import type { Server } from "../servers/schema.ts";
import { LONGEST_KEEPALIVE_SECONDS } from "../wireguard/schema.ts";

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
  return [`${base}0`, `${base}1`];
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

/** The server as this machine can use it: without IPv6 only the tunnel's IPv4 addresses. */
export function usableOn(links: Links, server: Server): Server {
  if (links.ipv6 === "on") return server;
  const addresses = server.config.interface.addresses.filter((address) => !address.includes(":"));
  if (addresses.length === 0) {
    throw new GatewayError(
      "unable",
      `${server.name} has IPv6 addresses alone, and IPv6 is turned off on this machine`,
    );
  }
  return { ...server, config: { ...server.config, interface: { ...server.config.interface, addresses } } };
}

/** What the firewall must know of it. */
export function exitOf({ server, link, zone, endpoint }: Session): Exit {
  const { addresses, dns } = server.config.interface;
  return {
    interface: link,
    zone,
    endpoint,
    addresses: addresses.map((address) => parsePrefix(address)?.address ?? address),
    resolvers: dns,
  };
}
