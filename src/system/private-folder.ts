import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { GatewayError, messageOf } from "../errors.ts";

/** On a disk: /tmp may be memory, which a Pi has little of. */
const PLACE = "/var/tmp";

/** Gives the work a new folder that only this user can open, and removes the folder with its contents. */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(PLACE, `portcullis-${process.pid}-`));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
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
    throw new GatewayError("unable", `${from} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** SHA-256 in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest("hex");
}
