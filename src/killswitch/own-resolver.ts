import { type Address, contains, familyOf, isLinkLocal } from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { DIRECT_MARK, exitMarkOf } from "../network/slot.ts";
import { among, byFamily, DNS, headerOf, isMarked, namesOf } from "./match.ts";
import { directDevices, MAIN, type Policy } from "./policy.ts";
import { refuse } from "./strangers.ts";

/** The ports of DNS over TLS and over QUIC (RFC 7858, RFC 9250). */
const ENCRYPTED_DNS = "th dport 853 meta l4proto { tcp, udp }";
/** The map from each zone of queries to the port at which the resolver answers them. */
export const ASKER_PORTS = "asker_ports";

/** The gateway's addresses at which its resolver listens on a LAN: one of each address family. */
export function listeningOn(lan: Lan, addresses: readonly Address[]): Address[] {
  const own = addresses.filter(
    (address) => !isLinkLocal(address) && lan.prefixes.some((prefix) => contains(prefix, address)),
  );
  return ([4, 6] as const).flatMap((family) => own.find((address) => familyOf(address) === family) ?? []);
}

/**
 * While nothing listens there, the kernel refuses them at once, and so it does where the gateway has no address of
 * their family: nothing else answers them.
 */
export function redirectToResolver(policy: Policy): string[] {
  const { resolver, lans, addresses } = policy;
  if (resolver === undefined) return [];
  const others = directDevices(policy).length === 0 ? "" : `${isMarked(DIRECT_MARK, "!=")} `;
  return [
    ...lans.flatMap((lan) =>
      listeningOn(lan, addresses).map((address) => {
        const family = familyOf(address);
        const host = family === 4 ? address : `[${address}]`;
        return `iifname "${lan.interface}" meta nfproto ipv${family} ${others}${DNS} dnat ${headerOf(family)} to ${host}:ct original zone map @${ASKER_PORTS} comment "redirected to the gateway's own resolver"`;
      }),
    ),
    ...among("iifname", namesOf(lans)).flatMap((from) =>
      refuse('comment "only the gateway\'s own resolver answers"', `${from} ${others}${DNS} `),
    ),
  ];
}

/**
 * The gateway's own queries: those that measure a tunnel, over UDP, and those of its resolver. Main needs no such rule,
 * because it permits everything that the gateway sends.
 */
export function permitOwnQueries({ resolver, carrying }: Policy): string[] {
  const queries = resolver === undefined ? "udp dport 53" : DNS;
  return carrying
    .filter(({ tunnel }) => tunnel !== MAIN)
    .flatMap(({ interface: to, mark, resolvers }) =>
      byFamily("daddr", resolvers).map(
        (resolver) =>
          `oifname "${to}" ${isMarked(exitMarkOf(mark))} ${resolver} ${queries} ct state new,established accept comment "the gateway's own queries"`,
      ),
    );
}

/** A device that encrypts its queries would ask by its own exit, past the rules for names. */
export function refuseEncryptedDns({ resolver, lans }: Policy): string[] {
  if (resolver === undefined) return [];
  return among("iifname", namesOf(lans)).flatMap((from) =>
    refuse('comment "names are asked of the gateway\'s own resolver"', `${from} ${ENCRYPTED_DNS} `),
  );
}
