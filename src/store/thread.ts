import { COMPILED } from "../base/compiled.ts";

/** What takes too long for a turn of the event loop, because SQLite works where it is called. */
export interface Question {
  /** The database's file. */
  path: string;
  work: "copy the log" | "look for damage";
}
/** Whether the whole log was copied, or damage was found; null if the database could not be read or written. */
export type Answer = boolean | null;

/** Where the worker is: in the executable below the folder of the main file, or beside this file. */
const WORKER = COMPILED
  ? "/$bunfs/root/store/database-worker.js"
  : new URL("./database-worker.ts", import.meta.url).href;

/** Works on the database in a thread of its own, while writers and readers go on. */
export async function inThread(question: Question): Promise<Answer> {
  const answer = Promise.withResolvers<Answer>();
  const worker = new Worker(WORKER, { smol: true });
  worker.onmessage = ({ data }: MessageEvent<Answer>) => answer.resolve(data);
  worker.onerror = () => answer.resolve(null);
  worker.postMessage(question);
  try {
    return await answer.promise;
  } finally {
    worker.terminate();
  }
}
