import type { TSchema } from "typebox";
import type { Address } from "../base/address.ts";
import type { Config } from "../wireguard/schema.ts";
import type { Disguise } from "./disguises/disguise.ts";
import type { PortRange } from "./ports.ts";

export type Protocol = "tcp" | "udp";

/**
 * One way to get WireGuard's packets to a server: a row of `list.ts` with everything about it. `Offer` is what a
 * server's list says of it, `Settings` what its relay is made from.
 */
export interface Transport<Offer = unknown, Settings extends object = object> {
  /** Of the packets to the server. The firewall permits nothing else to a server that a relay reaches. */
  protocol: Protocol;
  offered: Offered<Offer>;
  /** Where a server is tried, the best first; `known` is the port at which this transport has worked from here. */
  places(server: Reachable, known: number | null, offer: Offer): Place[];
  /** What it adds to each of WireGuard's packets, in bytes. */
  addedBytes(config: Config): number;
  /** Null if WireGuard itself sends to the server. */
  relay: Relay<Settings> | null;
  words: {
    /** In a choice of the page, which translates it. */
    title: string;
    /** In the help of the command line. */
    option: string;
    /** In the description of a request. */
    asked: string;
  };
}

/** What the places of a server depend on. */
export interface Reachable {
  config: { interface: Pick<Config["interface"], "amnezia">; peer: { endpoint: { port: number } } };
  /** Where it answers too. */
  ports?: readonly PortRange[];
}

/** A port of a server. */
export interface Place {
  port: number;
  /** Missing if it is the server's usual one. */
  address?: Address;
}

/** Which servers are reached in this way: all, those whose list says so, or those whose configuration demands it. */
export type Offered<Offer> = { by: "all" } | InList<Offer> | InConfiguration;

/** A server with such a configuration is reached in no other way. */
export interface InConfiguration {
  by: "configuration";
  isDemanded(config: Reachable["config"]): boolean;
}

export interface InList<Offer> {
  by: "list";
  /** The field of the gateway's own list that is named like the transport. */
  own: { schema: TSchema; read(value: unknown): Offer | null };
  /** In the list of Mullvad's apps: an entry of `wireguard.relays`, and `wireguard`, which holds for all of them. */
  ofMullvad(relay: Readonly<Record<string, unknown>>, all: Readonly<Record<string, unknown>>): Offer | null;
}

/** A relay between WireGuard and the server. */
export interface Relay<Settings> {
  /** Made anew if they change. */
  settings(config: Config, privateKey: string): Promise<Settings>;
  carriage: Carriage<Settings>;
  words: {
    /** After "over" or "by", in sentences of the command line. */
    name: string;
    /** In the description of a status. */
    seen: string;
    /** After a port, in sentences of the page, which translates it. */
    by: string;
  };
}

/** Datagrams in disguise, or a stream that has each datagram after its length (mullvad/udp-over-tcp). */
export type Carriage<Settings> =
  | {
      kind: "datagrams";
      /** Loaded when the first relay is opened: a start needs none of the ciphers. */
      disguise(settings: Settings): Promise<Disguise>;
    }
  | { kind: "stream" };
