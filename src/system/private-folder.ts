import {
  createReadStream,
  createWriteStream,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../base/errors.ts";
import { refused } from "./refusals.ts";

/** On a disk: /tmp may be memory, which a Pi has little of. */
export const TEMPORARY_FOLDER = "/var/tmp";
/** No work takes this long. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;

/** Gives the work a new folder that only this user can open, and removes the folder with its contents. */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  removeAbandoned();
  const folder = mkdtempSync(join(TEMPORARY_FOLDER, `portcullis-${process.pid}-`));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes what a power cut or SIGKILL has left. In this folder nobody can replace another user's folder (the sticky bit). */
function removeAbandoned(): void {
  for (const name of readdirSync(TEMPORARY_FOLDER).filter((each) => /^portcullis-\d+-/.test(each))) {
    const folder = join(TEMPORARY_FOLDER, name);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
    if (Date.now() - found.mtimeMs > ABANDONED_AFTER_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** Copies a file of any user to one that does not exist yet. Throws `GatewayError("unable")`. */
export async function takeCopy(
  from: string,
  to: string,
  mostBytes: number,
  signal: AbortSignal,
): Promise<void> {
  try {
    // A pipe or a device would never end.
    const found = statSync(from);
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > mostBytes) throw new Error(`it is larger than ${mostBytes} bytes`);
    // Not more than that even if it grows.
    const source = createReadStream(from, { end: mostBytes });
    await pipeline(source, createWriteStream(to, { flags: "wx", mode: 0o600 }), { signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw refused("file_unreadable_here", { file: from, reason: messageOf(cause) }, { cause });
  }
}

/** SHA-256 in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}
