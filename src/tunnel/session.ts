import { type Address, addressOf, contains, type Endpoint, familyOf, type Prefix } from "../base/address.ts";
import type { PolicyPart, TunnelPart } from "../killswitch/policy.ts";
import { type HostNetwork, networkBeside, takerOf } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import type { Relayed, Server } from "../servers/schema.ts";
import { protocolOf } from "../servers/ways.ts";
import { ledPrefixes } from "../wireguard/led.ts";
import { type Config, MAX_KEEPALIVE_SECONDS } from "../wireguard/schema.ts";
import { type EphemeralKeys, SERVICE } from "./ephemeral-peer.ts";
import { refused } from "./refusals.ts";

/** One WireGuard interface and the server behind it. There are two interfaces, so that a switch can dial while the old tunnel is up. */
export interface Session {
  server: Server;
  link: string;
  /** Conntrack zone. */
  zone: number;
  mark: number;
  endpoint: Endpoint;
  /** The endpoint is reached by a relay, in this way; missing if WireGuard reaches it. */
  transport?: Relayed;
  /** A flow of UDP was cut off here before. */
  afterCutOff?: true;
  /** What is used in place of the server's keys; missing if nothing was agreed on. */
  keys?: EphemeralKeys;
}

/** A new session on whichever of the slot's two interfaces `other` does not use. */
export function sessionFor(
  slot: Slot,
  server: Server,
  { transport, afterCutOff, address, port }: Endpoint & Pick<Session, "transport" | "afterCutOff">,
  other: Session | null,
): Session {
  const session = sessionOn(slot, other?.link === slot.links[0] ? 1 : 0, server, { address, port });
  return { ...session, ...(transport && { transport }), ...(afterCutOff && { afterCutOff }) };
}

export function sessionOn(slot: Slot, which: 0 | 1, server: Server, endpoint: Endpoint): Session {
  return { server, link: slot.links[which], zone: slot.zones[which], mark: slot.mark, endpoint };
}

/** Seconds between keepalives, which start the first handshake and renew it, so that an idle tunnel proves it is alive. */
export function keepaliveOf({ config }: Server): number {
  return Math.min(config.peer.persistentKeepalive || MAX_KEEPALIVE_SECONDS, MAX_KEEPALIVE_SECONDS);
}

/** Whether keys were asked for that its server did not agree on. */
export function lacksKeys({ server, keys }: Session): boolean {
  return server.quantum !== undefined && keys === undefined;
}

/** Whether packets to this address enter the tunnel. */
export function carries({ server }: Session, address: Address): boolean {
  const own = server.config.interface;
  const isOfFamily = (other: Prefix) => familyOf(other) === familyOf(address);
  return (
    own.addresses.some(isOfFamily) &&
    ledPrefixes(server.config)
      .filter(isOfFamily)
      .some((prefix) => contains(prefix, address))
  );
}

export function sameServer(a: Server, b: Server): boolean {
  return a.provider === b.provider && a.name === b.name && a.via?.name === b.via?.name;
}

/**
 * Whether they are one client for a server, which knows clients by their keys, whatever way the packets take. Of two
 * sessions, the latest handshake counts: each can take the connection from the other, which then waits 15 s until its
 * next handshake (KEEPALIVE_TIMEOUT and REKEY_TIMEOUT).
 */
export function sameKeys({ config: a }: Server, { config: b }: Server): boolean {
  return a.peer.publicKey === b.peer.publicKey && a.interface.privateKey === b.interface.privateKey;
}

/**
 * The server as this machine can use it. If IPv6 is off, it has only the tunnel's IPv4 addresses. Throws
 * `GatewayError("unable")` if it cannot be used.
 */
export function usableOn(network: HostNetwork, server: Server): Server {
  const usable = withoutMissingFamily(network, server);
  const clash = lastingClashOf(network, usable.config);
  if (clash !== null) throw refused("server_unusable", { server: server.name, reason: clash });
  return usable;
}

function withoutMissingFamily(network: HostNetwork, server: Server): Server {
  if (network.ipv6 === "on") return server;
  const addresses = server.config.interface.addresses.filter((address) => familyOf(address) === 4);
  if (addresses.length === 0) {
    throw refused("ipv6_off", { server: server.name });
  }
  return { ...server, config: { ...server.config, interface: { ...server.config.interface, addresses } } };
}

/**
 * What the kill switch must permit for these sessions. Those in `asked` only make handshakes, and the gateway itself
 * agrees on keys inside the one in `agreeing`.
 */
export function partOf(
  carrying: readonly Session[],
  asked: readonly Session[] = [],
  agreeing: readonly Session[] = [],
): PolicyPart {
  return {
    endpoints: [
      ...[...carrying, ...asked].map(tunnelPartOf),
      ...agreeing.map((session) => ({ ...tunnelPartOf(session), service: SERVICE })),
    ],
    carrying: carrying.map(tunnelPartOf),
  };
}

function tunnelPartOf({ server, link, zone, mark, endpoint, transport }: Session): TunnelPart {
  return {
    interface: link,
    mark,
    zone,
    endpoint,
    peer: server.config.peer.publicKey,
    ...(transport !== undefined && { relay: protocolOf(transport) }),
    addresses: addressesOf(server.config),
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

/** The same, without conflicts that any host of the LAN can cause. Those do not end a tunnel. */
export function lastingClashOf(network: HostNetwork, config: Config): string | null {
  return clashOf(networkBeside(network, addressesOf(config)), config);
}

/** Who uses an address outside the tunnel, and what to do about it, as the end of a sentence; null if nobody does. */
function userOf(network: HostNetwork, address: Address): string | null {
  const taker = takerOf(network, address);
  if (taker === null) return null;
  return taker === "machine"
    ? "is an address of this machine, which could then no longer be reached there; end the other tunnel that has it, or change the server's address"
    : `is in the LAN ${taker}, which could then no longer reach the gateway; change the server's address, or the LAN's`;
}

/** The tunnel's own addresses, without prefix length. */
function addressesOf(config: Config): Address[] {
  return config.interface.addresses.map(addressOf);
}
