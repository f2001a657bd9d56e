import { contains, familyOf } from "../base/address.ts";
import { among, byFamily, chain, headerOf } from "./match.ts";
import { type FirewallTunnel, MAIN, type Policy } from "./policy.ts";

/**
 * Applies to the first packet of each connection from outside. The tunnel's rules have given it its mark and its zone.
 */
export function leadForwards({ forwards, lans, remote, addresses }: Policy): string[] {
  if (forwards.length === 0) return [];
  const from = among("iifname", [...new Set(forwards.map((each) => each.interface))]);
  const prefixes = [...new Set([...lans.flatMap((lan) => lan.prefixes), ...(remote?.networks ?? [])])];
  // The kernel does not check sources there. A device's answer to one of these would end at the gateway.
  const own = addresses.filter((address) => !prefixes.some((prefix) => contains(prefix, address)));
  const inside = byFamily("saddr", [...own, ...prefixes]);
  return [
    chain("forwarded_ports", "type nat hook prerouting priority dstnat - 5; policy accept;", [
      ...from.flatMap((tunnels) =>
        inside.map((sender) => `${tunnels} ${sender} drop comment "nothing of the home is behind a tunnel"`),
      ),
      ...forwards.map(({ interface: from, protocol, inside, to, port }) => {
        const family = familyOf(to);
        const match = `iifname "${from}" meta nfproto ipv${family} ${protocol} dport ${inside}`;
        const target = family === 4 ? `${to}:${port}` : `[${to}]:${port}`;
        return `${match} dnat ${headerOf(family)} to ${target} comment "a forwarded port"`;
      }),
    ]),
  ];
}

/** From the tunnels to the LAN: permits only what the rules above have redirected, also while a connection lasts. */
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
    `oifname "${tunnel.interface}" tcp flags & (syn | ack) == syn | ack tcp option maxseg size set rt mtu comment "TCP segments to forwarded ports are clamped to the MTU of the tunnel"`,
  ];
}

/** Main carries everything that the gateway sends. */
export function permitContacts({ contacts }: Policy): string[] {
  return contacts
    .filter(({ tunnel }) => tunnel !== MAIN)
    .map(({ interface: to, protocol, address, port }) => {
      const match = `oifname "${to}" ${headerOf(familyOf(address))} daddr ${address} ${protocol} dport ${port}`;
      return `${match} ct state new,established accept comment "the gateway's own requests: for forwarded ports, or a speed test"`;
    });
}
