import type { Provider, Server } from "./schema.ts";

/** Keeps servers, lists and the current provider across restarts; a write throws if the disk refuses it. */
export interface Storage {
  /** Custom and imported servers. */
  servers(): Server[];
  /** Throws if the provider has a server of that name. */
  insert(server: Server): void;
  /** Keeps where a stored server is. */
  place(server: Server): void;
  remove(provider: Provider, name: string): void;
  /** The value of a setting, or null if it was never written. */
  read(key: string): string | null;
  write(key: string, value: string): void;
  /** The last good list from a source; null if there is none. */
  list(source: string): StoredList | null;
  /** When a source last gave or confirmed its list, in milliseconds since 1970; null if it never did. */
  fetchedAt(source: string): number | null;
  /** Stores a list; a few of other sources are kept. */
  saveList(source: string, list: StoredList): void;
  confirmList(source: string, fetched: number): void;
}

/** A provider's list as it was received. */
export interface StoredList {
  /** The source's identifier of this version (RFC 9110, 8.8.3); empty if it gave none. */
  etag: string;
  /** When the source last gave or confirmed it, in milliseconds since 1970. */
  fetched: number;
  content: string;
}
