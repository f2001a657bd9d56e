import { Database } from "bun:sqlite";

declare const self: Worker;

/**
 * Copies the log of a database into its file, and waits for the disk: in a thread of its own, because SQLite waits where
 * it is called. Answers whether the whole log was copied. Writers and readers go on meanwhile (`PASSIVE`).
 */
self.onmessage = ({ data: path }: MessageEvent<string>) => {
  try {
    const database = new Database(path, { readwrite: true, create: false });
    const [row = []] = database.query("PRAGMA wal_checkpoint(PASSIVE)").values();
    const [busy, logged, copied] = row;
    database.close();
    postMessage(busy === 0 && logged === copied);
  } catch {
    postMessage(false);
  }
};
