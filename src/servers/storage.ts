import type { Provider, Server } from "./schema.ts";

/** Where servers, lists and the current provider outlive the service; each write throws where the disk refuses it. */
export interface Storage {
  /** Custom and imported servers. */
  servers(): Server[];
  insert(server: Server): void;
  remove(provider: Provider, name: string): void;
  /** The value of a setting, or null where it was never written. */
  read(key: string): string | null;
  write(key: string, value: string): void;
  /** The last good list from a source; null where there is none. */
  list(source: string): StoredList | null;
  /** When a source last gave or confirmed its list, in milliseconds since 1970; null where it never did. */
  fetchedAt(source: string): number | null;
  /** Keeps a list in place of all others. */
  saveList(source: string, list: StoredList): void;
  confirmList(source: string, fetched: number): void;
}

/** A provider's list as it came. */
export interface StoredList {
  /** The source's name for this version of it (RFC 9110, 8.8.3); empty where it gave none. */
  etag: string;
  /** When the source last gave or confirmed it, in milliseconds since 1970. */
  fetched: number;
  content: string;
}
