import type { Database } from "bun:sqlite";

/** Something that happened; `at` in milliseconds since 1970, the content as JSON. */
export interface StoredEvent {
  /** Greater than that of each earlier one. */
  id: number;
  at: number;
  content: string;
}

/** An event takes some hundred characters. A longer one is read as one that is damaged. */
const MAX_EVENT_CHARACTERS = 16_384;
const EVENT = `SELECT id, at, iif(length(content) <= ${MAX_EVENT_CHARACTERS}, content, '') AS content FROM events`;

/** Adds events, and removes those with these ids. */
export function addEvents(
  database: Database,
  events: readonly StoredEvent[],
  surplus: readonly number[],
): void {
  const insert = database.query("INSERT OR REPLACE INTO events VALUES ($id, $at, $content)");
  for (const { id, at, content } of events) insert.run({ id, at, content });
  const remove = database.query("DELETE FROM events WHERE id = $id");
  for (const id of surplus) remove.run({ id });
}

/** The ids of all events, oldest first, by whether their text contains this one. */
export function eventIds(database: Database, text: string): { containing: number[]; others: number[] } {
  const ids = database.query("SELECT id FROM events WHERE (instr(content, $text) > 0) = $has ORDER BY id");
  const idsOf = (has: number) => ids.values({ text, has }).flat() as number[];
  return { containing: idsOf(1), others: idsOf(0) };
}

/** The latest `most` with an id above `after` and below `before`, oldest first. */
export function eventsBetween(
  database: Database,
  range: { after: number; before: number; most: number },
): StoredEvent[] {
  const latest = `${EVENT} WHERE id > $after AND id < $before ORDER BY id DESC LIMIT $most`;
  return database.query(`SELECT * FROM (${latest}) ORDER BY id`).all(range) as StoredEvent[];
}

/**
 * The latest `most` whose time is in the range, oldest first, and the last state of each tunnel before the first of
 * them. The end is exclusive.
 */
export function eventsDuring(
  database: Database,
  { from, to, most }: { from: number; to: number; most: number },
): { events: StoredEvent[]; before: StoredEvent[] } {
  const latest = `${EVENT} WHERE at >= $from AND at < $to ORDER BY id DESC LIMIT $most`;
  const events = database
    .query(`SELECT * FROM (${latest}) ORDER BY id`)
    .all({ from, to, most }) as StoredEvent[];
  // With max(), SQLite takes the other columns from the same row. A damaged one must not end the query.
  const tunnel = "CASE WHEN json_valid(content) THEN content ->> 'tunnel' END";
  const before = database
    .query(
      `SELECT max(id) AS id, at, content FROM events
        WHERE id < $first AND at < $to AND length(content) <= ${MAX_EVENT_CHARACTERS} AND instr(content, '"tunnel_state"') > 0 AND ${tunnel} IS NOT NULL
        GROUP BY ${tunnel}`,
    )
    .all({ first: events[0]?.id ?? Number.MAX_SAFE_INTEGER, to }) as StoredEvent[];
  return { events, before };
}
