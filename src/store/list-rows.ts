import type { Database } from "bun:sqlite";
import type { StoredList } from "../servers/storage.ts";

/** More than there are providers with accounts. */
const MAX_LISTS = 5;

/** The last good list from a source; null if there is none, or if it cannot be unpacked. */
export function listIn(database: Database, source: string): StoredList | null {
  const found = database
    .query("SELECT etag, fetched, content FROM lists WHERE source = $source")
    .get({ source }) as { etag: string; fetched: number; content: Uint8Array<ArrayBuffer> } | null;
  if (found === null) return null;
  try {
    return { ...found, content: new TextDecoder().decode(Bun.gunzipSync(found.content)) };
  } catch {
    return null;
  }
}

/** When a source last gave or confirmed its list, in milliseconds since 1970; null if it never did. */
export function fetchedAt(database: Database, source: string): number | null {
  const found = database.query("SELECT fetched FROM lists WHERE source = $source").get({ source });
  return found === null ? null : (found as { fetched: number }).fetched;
}

/** Stores a packed list and removes the oldest ones, but not those between which the operator may change. */
export function saveList(
  database: Database,
  source: string,
  { etag, fetched, content }: Omit<StoredList, "content"> & { content: Uint8Array },
): void {
  database
    .query(
      "DELETE FROM lists WHERE source NOT IN (SELECT source FROM lists WHERE source <> $source ORDER BY fetched DESC LIMIT $others)",
    )
    .run({ source, others: MAX_LISTS - 1 });
  database
    .query("INSERT INTO lists VALUES ($source, $etag, $fetched, $content)")
    .run({ source, etag, fetched, content });
}

/** Records that the stored list is still the source's current one. */
export function confirmList(database: Database, source: string, fetched: number): void {
  database.query("UPDATE lists SET fetched = $fetched WHERE source = $source").run({ source, fetched });
}
