import { type Static, type TLiteral, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import {
  type Offers,
  RELAYED_NAMES,
  type RelayedName,
  TRANSPORT_NAMES,
  type TransportName,
} from "../transports/list.ts";
import type { PortRange } from "../transports/ports.ts";
import { AmneziaFields } from "../wireguard/amnezia-schema.ts";
import type { Config } from "../wireguard/schema.ts";

export const Provider = enumOf(["managed", "custom", "imported"]);
export type Provider = Static<typeof Provider>;
export const PROVIDERS: readonly Provider[] = ["managed", "custom", "imported"];

/** The providers whose servers are added and removed one by one. */
export type Stored = Exclude<Provider, "managed">;
export const STORED: readonly Stored[] = ["custom", "imported"];

/** The owner of the servers of the provider `managed`; `list` is the operator's own list. */
export const Managed = enumOf(["mullvad", "ivpn", "pia", "nordvpn", "list"]);
export type Managed = Static<typeof Managed>;
export const OWN_LIST = "list";
export const MANAGED: readonly Managed[] = ["mullvad", "ivpn", "pia", "nordvpn", OWN_LIST];

/** How a relay gets WireGuard's packets to a server. The type of a union needs a tuple. */
export const Relayed = Type.Union(RELAYED_NAMES.map((name) => Type.Literal(name)) as [TLiteral<RelayedName>]);
export type Relayed = RelayedName;

/** What the network in between seems to block: WireGuard by its bytes, UDP, or flows of UDP that last. */
export const Blocked = enumOf(["wireguard", "udp", "flows"]);
export type Blocked = Static<typeof Blocked>;

/** A way of a relay, or `plain`: WireGuard itself, by UDP. */
export const Wish = Type.Union(
  TRANSPORT_NAMES.map((name) => Type.Literal(name)) as [TLiteral<TransportName>],
);
export type Wish = TransportName;

/** `auto` is plain where that works, and else as the server offers. */
export const Transport = Type.Union([Type.Literal("auto"), ...Wish.anyOf]);
export type Transport = Static<typeof Transport>;
export const TRANSPORTS: readonly Transport[] = Transport.anyOf.map((each) => each.const);

/**
 * Whether a tunnel's keys are made safe from quantum computers: not, if the server can, or else nothing is carried.
 */
export const Quantum = enumOf(["off", "on", "require"]);
export type Quantum = Static<typeof Quantum>;
export const QUANTUM: readonly Quantum[] = ["off", "on", "require"];

/** A server as clients see it: no key material. */
export const ServerRecord = objectOf({
  hostname: Type.String(),
  ipv4: Type.String({ description: "IPv4 address; empty if the endpoint is not one" }),
  type: Type.Literal("WireGuard"),
  provider: Type.String({ description: "Managed, Custom, Imported or the list's own label" }),
  multihop: Type.Optional(
    Type.Literal(true, { description: "present if it can be reached through another server of its list" }),
  ),
  amnezia: Type.Optional(Type.Literal(true, { description: "present if it is reached by AmneziaWG" })),
});
export type ServerRecord = Static<typeof ServerRecord>;

/** Country → city → records. */
export const ServerTree = Type.Record(Type.String(), Type.Record(Type.String(), Type.Array(ServerRecord)));
export type ServerTree = Static<typeof ServerTree>;

/** A server as the gateway uses it, with everything that `connect` needs, including key material. */
export interface Server {
  name: string;
  provider: Provider;
  /** The `provider` of its public record. */
  label: string;
  country: string;
  city: string;
  /** The `location` of a status: a custom server's free text as given, otherwise `City, Country`. */
  location: string;
  config: Config;
  /**
   * The server assigns keys and addresses when the gateway registers with it, before each connection. Without a session,
   * `config` has placeholders for them.
   */
  registers?: true;
  /** The port at which other servers of its list forward packets to it. */
  multihopPort?: number;
  /** Its provider opens ports, but not at this server. */
  opensPorts?: false;
  /** Where it answers too, if it is reached directly. */
  ports?: readonly PortRange[];
  /** The transports that its list offers; missing if none. */
  offers?: Offers;
  /** How it is to be reached, if that was asked for. */
  transport?: Wish;
  /** Inside the tunnel it agrees on keys that are safe from quantum computers (Mullvad's ephemeral peers). */
  ephemeralPeers?: true;
  /** Whether that was asked for. */
  quantum?: Exclude<Quantum, "off">;
  /** The server through which it is reached; the endpoint is there. Missing if it is reached directly. */
  via?: { name: string; country: string; city: string };
}

/** Optional, so that answers about a server that is reached directly do not mention it. */
export const VIA = Type.String({
  minLength: 1,
  description: "the server through which it is reached; missing if directly",
});

/** A server that people have marked. */
export const Favourite = objectOf({ provider: Provider, server: Type.String() });
export type Favourite = Static<typeof Favourite>;

/** GET /api/favourites. */
export const FavouriteList = objectOf({
  favourites: Type.Array(Favourite, { description: "in the order in which they were added" }),
  recent: Type.Array(
    objectOf({
      provider: Provider,
      server: Type.String(),
      via: Type.Optional(VIA),
      at: Type.String({ description: "ISO 8601: since when it was connected, the last time" }),
    }),
    { description: "the last ten servers that `main` was connected to, the latest first" },
  ),
});
export type FavouriteList = Static<typeof FavouriteList>;

/** Body of POST /api/custom/add; the rules of each field are in `wireguard/fields`. */
export const CustomServer = objectOf({
  name: Type.String(),
  endpoint: Type.String({ description: "host:port or [IPv6]:port" }),
  public_key: Type.String(),
  private_key: Type.String(),
  address: Type.String({ description: "one or several CIDRs, comma-separated, at most 16" }),
  dns: Type.Optional(
    Type.String({ description: "resolvers and search domains, comma-separated, at most 16" }),
  ),
  allowed_ips: Type.Optional(
    Type.String({ default: "0.0.0.0/0,::/0", description: "CIDRs, comma-separated, at most 1024" }),
  ),
  location: Type.Optional(
    Type.String({ default: "", description: "City, Country, in at most 200 characters" }),
  ),
  preshared_key: Type.Optional(Type.String()),
  persistent_keepalive: Type.Optional(Type.Integer({ minimum: 0, maximum: 65535 })),
  mtu: Type.Optional(Type.Integer({ minimum: 576, maximum: 65535 })),
  ...AmneziaFields,
});
export type CustomServer = Static<typeof CustomServer>;

/** Body of POST /api/import. */
export const ImportedConfig = objectOf({
  name: Type.String(),
  config: Type.String({ description: "a wg-quick configuration file" }),
  location: Type.Optional(
    Type.String({ description: "where it is, as `City, Country` or `Country` (default: not known)" }),
  ),
});
export type ImportedConfig = Static<typeof ImportedConfig>;

/** Body of PUT /api/import/:name. */
export const ImportedPlace = objectOf({
  location: Type.String({ description: "where it is, as `City, Country` or `Country`; empty: not known" }),
});

/** The result of an update of the VPN account's list. */
export const Updated = objectOf({
  changed: Type.Boolean({ description: "whether the servers have changed" }),
  servers: Type.Integer({ description: "the number of servers that the provider has now" }),
  skipped: Type.Integer({ description: "the number of entries of the list that could not be used" }),
});
export type Updated = Static<typeof Updated>;
