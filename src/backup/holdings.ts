import type { Server } from "../servers/schema.ts";
import type { Store, StoredDevice } from "../store/store.ts";

/** What a gateway has of what a backup can hold. */
export interface Holdings {
  servers: readonly Server[];
  settings: Readonly<Record<string, string>>;
  devices: readonly StoredDevice[];
}

export function holdingsOf(store: Store): Holdings {
  return { servers: store.servers(), settings: store.settings(), devices: store.devices() };
}

/** Both, where what is given replaces what is here under the same key. */
export function beside<T>(here: readonly T[], given: readonly T[], keyOf: (each: T) => string): T[] {
  const keys = new Set(given.map(keyOf));
  return [...here.filter((each) => !keys.has(keyOf(each))), ...given];
}
