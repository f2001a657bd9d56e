import { Type } from "typebox";
import type { Effect } from "../base/decision.ts";
import { INTERFACE_NAME } from "../base/interface-name.ts";
import { isName, nameIn } from "../base/name.ts";
import { listIn, SavedList, type Texts } from "../base/saved.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import { asOrder, type ExitOrder, formatOrder, parseDefaultOrder } from "./exit-order.ts";

/** A LAN interface is a network. VLANs are as many as a person makes. */
export const MAX_NETWORKS = 64;

interface NetworkField<Value> {
  /** What holds while nobody has decided. */
  unset: Value;
  /** The value that a client has given. Throws what is wrong with it. */
  parse: (given: never, exit: (given: string | readonly string[]) => ExitOrder) => Value;
  /** What a change does to what can pass. Without it, the field opens and closes nothing, or it is the exit. */
  effect?: (after: Value) => Effect;
  /** As it is kept, and read again. What cannot be read closes. */
  format: (value: Value) => string | boolean;
  read: (kept: string | boolean) => Value;
  /** What people are told of it. */
  words: (value: Value) => string;
}

const NAME: NetworkField<string | null> = {
  unset: null,
  parse: (given: string | null) => (given === null ? null : nameIn("name", given)),
  format: String,
  read: (kept) => (isName(String(kept)) ? String(kept) : null),
  words: String,
};

const EXIT: NetworkField<ExitOrder | null> = {
  unset: null,
  parse: (given: string | readonly string[] | null, exit) => (given === null ? null : exit(given)),
  format: (order) => formatOrder(order ?? asOrder([])),
  read: (kept) => parseDefaultOrder(String(kept)) ?? asOrder([{ to: "blocked" }]),
  words: (order) => formatOrder(order ?? asOrder([])),
};

/** What people can decide about a network. A new row needs a line in `network-schema.ts`, and no more. */
export const NETWORK_FIELDS = {
  name: NAME,
  exit: EXIT,
  page: permission(true, "page", "no page"),
  others: permission(false, "reaches others", "apart"),
};

export type NetworkKey = keyof typeof NETWORK_FIELDS;
export const NETWORK_KEYS = Object.keys(NETWORK_FIELDS) as NetworkKey[];
type ValueOf<Row> = Row extends NetworkField<infer Value> ? Value : never;

/** What people have decided about a network. */
export type NetworkRecord = { readonly [Key in NetworkKey]: ValueOf<(typeof NETWORK_FIELDS)[Key]> };

/**
 * By interface, each network that was ever seen, or that people have decided about. Null until there is anything to keep:
 * then each network is as the home.
 */
export type Networks = ReadonlyMap<string, NetworkRecord> | null;

export const UNSET_NETWORK = Object.fromEntries(
  NETWORK_KEYS.map((key) => [key, NETWORK_FIELDS[key].unset]),
) as NetworkRecord;

function permission(unset: boolean, yes: string, no: string): NetworkField<boolean> {
  return {
    unset,
    parse: (given: boolean) => given,
    effect: (after) => (after ? "loosens" : "tightens"),
    format: (value) => value,
    read: (kept) => kept === true,
    words: (value) => (value ? yes : no),
  };
}

/** The interface of one, and what is decided. */
const StoredNetwork = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]));

/** They decide about exits, so the second copy has them. */
export const NETWORKS = new SavedList<[string, NetworkRecord]>({
  key: EXIT_KEYS.networks,
  what: "network",
  max: MAX_NETWORKS,
  maxCharacters: 800,
  entriesIn: (text) =>
    listIn(StoredNetwork)(text).flatMap((kept) =>
      INTERFACE_NAME.test(`${kept.interface}`) ? [[`${kept.interface}`, recordIn(kept)]] : [],
    ),
  format: (all) =>
    JSON.stringify(
      all
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([link, record]) => ({ interface: link, ...keptOf(record) })),
    ),
  nameOf: ([link]) => link,
  wordsOf: ([, record]) =>
    decidedIn(record)
      .map((key) => (NETWORK_FIELDS[key] as NetworkField<unknown>).words(record[key]))
      .join(", ") || "as the home",
});

function decidedIn(record: NetworkRecord): NetworkKey[] {
  return NETWORK_KEYS.filter((key) => record[key] !== NETWORK_FIELDS[key].unset);
}

function keptOf(record: NetworkRecord): Record<string, string | boolean> {
  return Object.fromEntries(
    decidedIn(record).map((key) => [key, (NETWORK_FIELDS[key] as NetworkField<unknown>).format(record[key])]),
  );
}

function recordIn(given: Readonly<Record<string, string | boolean>>): NetworkRecord {
  return Object.fromEntries(
    NETWORK_KEYS.map((key) => {
      const { unset, read } = NETWORK_FIELDS[key] as NetworkField<unknown>;
      const value = given[key];
      return [key, value === undefined ? unset : read(value)];
    }),
  ) as NetworkRecord;
}

export function readNetworks(store: Pick<Texts, "read">): Networks {
  return store.read(NETWORKS.key) === null ? null : new Map(NETWORKS.read(store));
}

export function writeNetworks(
  store: Texts & { forget(key: string): void },
  before: Networks,
  after: Networks,
): void {
  // A first decision that is taken back leaves none.
  if (after === null && before !== null) store.forget(NETWORKS.key);
  if (after !== null && !Bun.deepEquals(before, after)) NETWORKS.write(store, [...after]);
}

/** What a change of the fields beside the exit does to what can pass. */
export function switchEffects(before: NetworkRecord, after: NetworkRecord): Effect[] {
  return NETWORK_KEYS.flatMap((key) => {
    const { effect } = NETWORK_FIELDS[key] as NetworkField<unknown>;
    return effect === undefined || before[key] === after[key] ? [] : [effect(after[key])];
  });
}
