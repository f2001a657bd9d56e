import { AMNEZIA } from "./amnezia.ts";
import { LWO } from "./lwo.ts";
import { PLAIN } from "./plain.ts";
import { SHADOWSOCKS } from "./shadowsocks.ts";
import type { InList, Relay, Transport } from "./transport.ts";
import { UDP2TCP } from "./udp2tcp.ts";

/** The transports by their names, in the order in which `auto` tries them. */
const ROWS = { plain: PLAIN, lwo: LWO, shadowsocks: SHADOWSOCKS, udp2tcp: UDP2TCP, amnezia: AMNEZIA };
type Rows = typeof ROWS;

export type TransportName = keyof Rows;
/** Those that need a relay. */
export type RelayedName = {
  [Name in TransportName]: Rows[Name]["relay"] extends null ? never : Name;
}[TransportName];
/** Those that a server's list may offer. */
export type ListedName = {
  [Name in TransportName]: Rows[Name]["offered"]["by"] extends "list" ? Name : never;
}[TransportName];

type OfferOf<Row> = Row extends { offered: { own: { read(value: unknown): infer Offer } } }
  ? NonNullable<Offer>
  : never;
/** What a server's list offers. */
export type Offers = { readonly [Name in TransportName]?: OfferOf<Rows[Name]> };

type SettingsOf<Row> = Row extends { relay: { settings(...given: never): Promise<infer Settings> } }
  ? Settings
  : never;
/** A relay, and what it is made from. */
export type RelaySpec = { [Name in RelayedName]: { by: Name } & SettingsOf<Rows[Name]> }[RelayedName];

export const TRANSPORTS: Readonly<Record<TransportName, Transport>> = ROWS;
export const TRANSPORT_NAMES = Object.keys(ROWS) as TransportName[];

/** The rows that need a relay. */
export const RELAYS = Object.fromEntries(
  Object.entries(TRANSPORTS).flatMap(([name, { relay }]) => (relay === null ? [] : [[name, relay]])),
) as Readonly<Record<RelayedName, Relay<object>>>;
export const RELAYED_NAMES = Object.keys(RELAYS) as RelayedName[];

/** How lists offer those that they may offer. */
export const LISTED = Object.fromEntries(
  Object.entries(TRANSPORTS).flatMap(([name, { offered }]) =>
    offered.by === "list" ? [[name, offered]] : [],
  ),
) as Readonly<Record<ListedName, InList<unknown>>>;
export const LISTED_NAMES = Object.keys(LISTED) as ListedName[];
