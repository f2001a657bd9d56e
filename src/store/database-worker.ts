import { Database } from "bun:sqlite";
import { hasCopiedLog, isDamaged } from "./database.ts";
import type { Answer, Question } from "./thread.ts";

declare const self: Worker;

/** A lock of another program is waited for; it holds up nothing else. */
const LOCK_TIMEOUT_MS = 2_000;

self.onmessage = ({ data }: MessageEvent<Question>) => postMessage(answerTo(data));

function answerTo({ path, work }: Question): Answer {
  let database: Database | null = null;
  try {
    database = new Database(path, { readwrite: true, create: false });
    database.run(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}`);
    return work === "copy the log" ? hasCopiedLog(database) : isDamaged(database);
  } catch {
    return null;
  } finally {
    database?.close();
  }
}
