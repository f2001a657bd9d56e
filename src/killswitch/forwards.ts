import { type Address, contains, type Endpoint, familyOf, isLinkLocal } from "../address.ts";
import type { Mac } from "../mac.ts";
import { chain, headerOf } from "./match.ts";
import { type FirewallTunnel, MAIN, type Policy } from "./policy.ts";

/** A port that a provider has opened, and the device that it leads to. */
export interface ForwardPart {
  device: Mac;
  /** The tunnel's name, and the endpoint of the server that opened it: at another server the port is somebody else's. */
  tunnel: string;
  endpoint: Endpoint;
  protocol: "tcp" | "udp";
  /** The port of the tunnel's address to which the server sends what arrives. */
  inside: number;
  /** The device's addresses: the first of each family in the LAN is used. */
  addresses: readonly Address[];
  port: number;
}

/** The service at a server that opens ports, for the gateway's own requests inside the tunnel. */
export interface ContactPart {
  tunnel: string;
  endpoint: Endpoint;
  protocol: "tcp" | "udp";
  address: Address;
  port: number;
}

/** What the firewall leads from one interface to one address. */
export interface ForwardedPort {
  interface: string;
  protocol: "tcp" | "udp";
  inside: number;
  to: Address;
  port: number;
}

/**
 * Those that are open now. A port is closed by the very change of the firewall that ends its tunnel, or that gives its
 * device another exit: replies would leave by that one.
 */
export function forwardsIn(parts: readonly ForwardPart[], policy: Omit<Policy, "forwards">): ForwardedPort[] {
  return parts
    .filter(({ device, tunnel }) => leavesBy(tunnel, device, policy))
    .flatMap((part) =>
      tunnelsAt(part, policy).flatMap((tunnel) =>
        ([4, 6] as const).flatMap((family) => {
          const to = part.addresses.find((each) => familyOf(each) === family && isOnLan(each, policy));
          const isCarried = tunnel.addresses.some((each) => familyOf(each) === family);
          const { protocol, inside, port } = part;
          return to === undefined || !isCarried
            ? []
            : [{ interface: tunnel.interface, protocol, inside, to, port }];
        }),
      ),
    );
}

/** Main carries all that the gateway sends. */
export function contactsIn(parts: readonly ContactPart[], policy: Pick<Policy, "carrying">): Contact[] {
  return parts
    .filter(({ tunnel }) => tunnel !== MAIN)
    .flatMap((part) => tunnelsAt(part, policy).map((tunnel) => ({ ...part, interface: tunnel.interface })));
}

export interface Contact extends Pick<ContactPart, "protocol" | "address" | "port"> {
  interface: string;
}

/** For the first packet of each connection from outside; the tunnel's rules have given it its mark and its zone. */
export function leadForwards({ forwards }: Policy): string[] {
  if (forwards.length === 0) return [];
  return [
    chain("forwarded_ports", "type nat hook prerouting priority dstnat - 5; policy accept;", [
      ...forwards.map(({ interface: from, protocol, inside, to, port }) => {
        const family = familyOf(to);
        const match = `iifname "${from}" meta nfproto ipv${family} ${protocol} dport ${inside}`;
        const target = family === 4 ? `${to}:${port}` : `[${to}]:${port}`;
        return `${match} dnat ${headerOf(family)} to ${target} comment "a forwarded port"`;
      }),
    ]),
  ];
}

/** From the tunnels to the LAN: only what the rules above have led there, also while a connection lasts. */
export function permitForwards({ forwards }: Policy, clamp: string): string[] {
  if (forwards.length === 0) return [];
  return [
    clamp,
    'ct state related accept comment "errors about connections to forwarded ports"',
    ...forwards.map(({ interface: from, protocol, inside, to, port }) => {
      const led = `ct status dnat ct original proto-dst ${inside}`;
      const match = `iifname "${from}" ${headerOf(familyOf(to))} daddr ${to} ${protocol} dport ${port} ${led}`;
      return `${match} accept comment "a forwarded port"`;
    }),
  ];
}

/** What a device answers to the first packet of a connection, before known connections are accepted. */
export function clampAnswers(tunnel: FirewallTunnel, { forwards }: Policy): string[] {
  if (!forwards.some((each) => each.interface === tunnel.interface)) return [];
  return [
    'tcp flags & (syn | ack) == syn | ack tcp option maxseg size set rt mtu comment "TCP segments to forwarded ports are clamped to the MTU of the tunnel"',
  ];
}

export function permitContacts({ contacts }: Policy): string[] {
  return contacts.map(({ interface: to, protocol, address, port }) => {
    const match = `oifname "${to}" ${headerOf(familyOf(address))} daddr ${address} ${protocol} dport ${port}`;
    return `${match} ct state new,established accept comment "requests for forwarded ports, to the server"`;
  });
}

function leavesBy(
  tunnel: string,
  device: Mac,
  { devices, defaultExit }: Pick<Policy, "devices" | "defaultExit">,
) {
  const exit = devices.find(({ id }) => id === device)?.exit ?? defaultExit;
  return exit.to === "tunnel" && exit.name === tunnel;
}

function tunnelsAt(
  { tunnel, endpoint }: Pick<ForwardPart, "tunnel" | "endpoint">,
  { carrying }: Pick<Policy, "carrying">,
) {
  return carrying.filter((each) => each.tunnel === tunnel && Bun.deepEquals(each.endpoint, endpoint));
}

function isOnLan(address: Address, { lans, addresses }: Pick<Policy, "lans" | "addresses">): boolean {
  if (isLinkLocal(address) || addresses.includes(address)) return false;
  return lans.some(({ prefixes }) => prefixes.some((prefix) => contains(prefix, address)));
}
