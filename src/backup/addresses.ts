import { parseAddress } from "../base/address.ts";
import { type BackedUp, type Change, rowChanges } from "../base/saved.ts";
import { MAX_ADDRESSES, nameInKey } from "../tunnel/known-addresses.ts";
import type { Holdings } from "./holdings.ts";

type Settings = Holdings["settings"];

export function isAddressKey(key: string): boolean {
  return nameInKey(key) !== null;
}

/** The last known address of a server that is reached by name. */
export const ADDRESS: Pick<BackedUp, "isValid"> = { isValid: (text) => parseAddress(text) === text };

/** Those of names that have none here, where a known one is newer, as far as there is room. */
export function addressesBeside(here: Settings, given: Settings): Settings {
  const room = MAX_ADDRESSES - Object.keys(here).filter(isAddressKey).length;
  const added = Object.entries(given).filter(([key]) => isAddressKey(key) && here[key] === undefined);
  return Object.fromEntries(added.slice(0, Math.max(0, room)));
}

export function addressChanges(here: Holdings, then: Holdings): Change[] {
  return rowChanges("known address of", addressesIn(here), addressesIn(then));
}

function addressesIn({ settings }: Holdings): Map<string, string> {
  return new Map(
    Object.entries(settings).flatMap(([key, text]) => {
      const name = nameInKey(key);
      return name === null ? [] : [[name, text]];
    }),
  );
}
