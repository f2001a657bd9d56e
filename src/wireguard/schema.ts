import { type Static, Type } from "typebox";
import { type Address, type Prefix, parseAddress, parsePrefix } from "../base/address.ts";
import { objectOf } from "../base/object.ts";
import { Amnezia } from "./amnezia-schema.ts";

/** Canonical base64 of 32 bytes; see `isKey`. */
const Key = Type.String({ pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$" });
const Cidr = Type.String({ pattern: "^[0-9a-f.:]{1,45}/[0-9]{1,3}$" });
const Resolver = Type.String({ pattern: "^[0-9a-f.:]{1,45}$" });
/** Without any character that could end a line or a word in the input of the kernel's tools. */
const Host = Type.String({ pattern: "^[0-9a-z.:-]{1,253}$" });

/**
 * The most entries of a list. Providers give one or two addresses and resolvers; all addresses except a home's own prefixes
 * take some 40 allowed IPs.
 */
export const MAX_ENTRIES = { addresses: 16, dns: 16, allowedIps: 1024 } as const;

/**
 * The longest interval between keepalives at which the server may speak first in an idle tunnel: conntrack forgets a
 * UDP flow after 30 s (nf_conntrack_proto_udp.c), as home routers do, and the firewall lets in only what it knows. The
 * handshake stays fresh, too (white paper, 6.1).
 */
export const MAX_KEEPALIVE_SECONDS = 25;

/** One WireGuard exit as the gateway uses it: wg-quick's `[Interface]` and its single `[Peer]`, validated and canonical. */
export const Config = objectOf({
  interface: objectOf({
    privateKey: Key,
    /** CIDR, host bits kept: `10.64.0.2/32`. At least one. */
    addresses: Type.Array(Cidr, { minItems: 1, maxItems: MAX_ENTRIES.addresses }),
    /** Resolver addresses. */
    dns: Type.Array(Resolver, { maxItems: MAX_ENTRIES.dns }),
    /** Search domains among the DNS entries. */
    searchDomains: Type.Array(Host, { maxItems: MAX_ENTRIES.dns }),
    /** Bytes. */
    mtu: Type.Optional(Type.Integer({ minimum: 576, maximum: 65535 })),
    amnezia: Type.Optional(Amnezia),
  }),
  peer: objectOf({
    publicKey: Key,
    presharedKey: Type.Optional(Key),
    endpoint: objectOf({
      /** IPv4, IPv6 without brackets, or a DNS name. */
      host: Host,
      port: Type.Integer({ minimum: 1, maximum: 65535 }),
    }),
    /** CIDR, host bits cleared. */
    allowedIps: Type.Array(Cidr, { minItems: 1, maxItems: MAX_ENTRIES.allowedIps }),
    /** Seconds; 0 means off; if absent, the gateway chooses. */
    persistentKeepalive: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
  }),
});
/** A configuration as it is stored: its addresses are text. */
export type StoredConfig = Static<typeof Config>;

/** A configuration with its addresses parsed. */
export interface Config {
  interface: Omit<StoredConfig["interface"], "addresses" | "dns"> & { addresses: Prefix[]; dns: Address[] };
  peer: Omit<StoredConfig["peer"], "allowedIps"> & { allowedIps: Prefix[] };
}

/** Null if an address is malformed. */
export function configIn({ interface: own, peer }: StoredConfig): Config | null {
  const addresses = allIn(own.addresses, parsePrefix);
  const dns = allIn(own.dns, parseAddress);
  const allowedIps = allIn(peer.allowedIps, parsePrefix);
  if (addresses === null || dns === null || allowedIps === null) return null;
  return { interface: { ...own, addresses, dns }, peer: withAllowedIps(peer, allowedIps) };
}

/** A usual list has two entries. */
const FEW = 16;

/**
 * A long list is kept as one text and split where it is needed: as strings of their own, its entries take eight times
 * that memory, and anyone on the LAN may store servers.
 */
export function withAllowedIps<Peer extends object>(
  peer: Peer,
  list: readonly Prefix[],
): Omit<Peer, "allowedIps"> & { allowedIps: Prefix[] } {
  if (list.length <= FEW) return { ...peer, allowedIps: [...list] };
  const text = list.join();
  return Object.defineProperty({ ...peer, allowedIps: [] }, "allowedIps", {
    enumerable: true,
    get: () => text.split(",") as Prefix[],
  });
}

function allIn<T>(texts: readonly string[], parse: (text: string) => T | null): T[] | null {
  const values = texts.map(parse);
  return values.every((value) => value !== null) ? values : null;
}
