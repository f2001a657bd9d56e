import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { HttpsAnswer, PinnedRequest } from "./host.ts";
import { assertComplete, exchange, headOf, tooLarge } from "./https.ts";

/** A whole release on a slow line. */
const MAX_MS = 3_600_000;
/** A connection that is silent for this long is dead. */
const STALLED_AFTER_MS = 30_000;

export interface Destination {
  /** A file that does not exist yet. */
  path: string;
  mostBytes: number;
  /** How much has come, and of how much if the server says so. */
  onBytes?: (bytes: number, total: number | null) => void;
}

/** Like `ask`, but writes the body of an answer 200 to a file as it comes; the body of any other is not read. */
export function download(pinned: PinnedRequest, to: Destination, signal?: AbortSignal): Promise<HttpsAnswer> {
  const read = async (answer: IncomingMessage) => {
    if (answer.statusCode === 200) await save(answer, to);
    return headOf(answer);
  };
  return exchange(pinned, read, signal, MAX_MS);
}

async function save(answer: IncomingMessage, to: Destination): Promise<void> {
  const file = await open(to.path, "wx", 0o600);
  const stalled = new Error(`nothing has come for ${STALLED_AFTER_MS / 1000} s`);
  const timer = setTimeout(() => answer.destroy(stalled), STALLED_AFTER_MS);
  try {
    await copy(answer, file, to, timer);
  } finally {
    clearTimeout(timer);
    await file.close();
  }
  assertComplete(answer);
}

async function copy(
  answer: IncomingMessage,
  file: FileHandle,
  { mostBytes, onBytes }: Destination,
  timer: NodeJS.Timeout,
): Promise<void> {
  const length = answer.headers["content-length"];
  const total = length === undefined ? null : Number(length);
  if (total !== null && total > mostBytes) throw tooLarge(mostBytes);
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw tooLarge(mostBytes);
    await file.appendFile(chunk);
    timer.refresh();
    onBytes?.(bytes, total);
  }
}
