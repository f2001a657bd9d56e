import { type Static, Type } from "typebox";
import { overlap, type Prefix } from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import { Name } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { listIn, SavedList } from "../base/saved.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import { isKey } from "../wireguard/key-text.ts";
import { CODE_ID, CodeEndpoint, homePrefixesIn, isCallable, isWide, MAX_HOME_PREFIXES } from "./home-code.ts";
import { REMOTE_ID } from "./saved.ts";

/** Each device that a home may reach is in some rules of the firewall. */
export const MAX_REACHED = 64;

const StoredHome = objectOf({
  name: Name,
  /** Of the codes by which both homes learned of each other. */
  id: Type.String({ pattern: CODE_ID }),
  /** Whether the first of the two codes was made here. */
  offered: Type.Boolean(),
  /** Of the other gateway; null until its answer has come. */
  public_key: Type.Union([Type.String(), Type.Null()]),
  endpoint: Type.Union([CodeEndpoint, Type.Null()]),
  prefixes: Type.Array(Type.String(), { maxItems: MAX_HOME_PREFIXES }),
  /** How it would leave here: the address that is kept free for it, and its key. Null if it could not call. */
  exit: Type.Union([
    objectOf({
      // Null from a build of 29 November, in which only one side knew it: then there is no exit.
      id: Type.Union([Type.String({ pattern: REMOTE_ID }), Type.Null()]),
      public_key: Type.Union([Type.String(), Type.Null()]),
    }),
    Type.Null(),
  ]),
  /** The devices here that it may reach. */
  devices: Type.Array(Type.String(), { maxItems: MAX_REACHED }),
});

/** Another home, whose gateway is a peer of the interface of remote devices. */
export type Home = Omit<Static<typeof StoredHome>, "exit" | "prefixes" | "devices"> & {
  exit: { id: string; public_key: string | null } | null;
  prefixes: readonly Prefix[];
  devices: readonly Mac[];
};

/** One that has answered. */
export type LinkedHome = Home & { public_key: string };

const storedHomes = listIn(StoredHome);

export const HOMES = new SavedList<Home>({
  key: "homes",
  what: "link to another home",
  max: 16,
  maxCharacters: 3_000,
  entriesIn: (text) => apart(storedHomes(text).flatMap(homeIn)),
  merge: (here, given) => apart([...given, ...here]),
  format: JSON.stringify,
  nameOf: ({ name }) => name,
  claimOf: ({ id, public_key }) => public_key ?? id,
  wordsOf: ({ public_key, endpoint, prefixes, devices }) =>
    public_key === null
      ? "has not answered"
      : [
          prefixes.join(", "),
          ...(endpoint === null ? [] : [`at ${formatEndpoint(endpoint.host, endpoint.port)}`]),
          `reaches ${devices.length === 0 ? "nothing" : devices.join(", ")}`,
        ].join("; "),
});

/** Those that have answered: only they can come in. */
export function linkedIn(homes: readonly Home[]): LinkedHome[] {
  return homes.filter((home): home is LinkedHome => home.public_key !== null);
}

/** WireGuard gives addresses of two homes to the last: it would reach what the first may. A restore can bring both. */
function apart(homes: readonly Home[]): Home[] {
  const taken: Prefix[] = [];
  return homes.filter(({ prefixes }) => {
    const isApart = !prefixes.some((prefix) => taken.some((each) => overlap(each, prefix)));
    if (isApart) taken.push(...prefixes);
    return isApart;
  });
}

/** What is not whole is left out: half a home could be another one. */
function homeIn(kept: Static<typeof StoredHome>): Home[] {
  const { public_key, endpoint, exit } = kept;
  const prefixes = homePrefixesIn(kept.prefixes);
  const hasKeys = [public_key, exit?.public_key ?? null].every((key) => key === null || isKey(key));
  if (!hasKeys || !isCallable(endpoint) || prefixes === null || prefixes.some(isWide)) return [];
  const known = exit === null || exit.id === null ? null : { ...exit, id: exit.id };
  return [{ ...kept, exit: known, prefixes, devices: kept.devices.flatMap((each) => parseMac(each) ?? []) }];
}
