import { chmodSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { CommandError, type GatewayError } from "../base/errors.ts";
import type { Host } from "../system/host.ts";

/** xz takes 10 s for an executable on a Pi 4, and a busy one takes longer. */
const TAR_TIMEOUT_MS = 300_000;
/** The executable takes a quarter of it. */
const MAX_UNPACKED_BYTES = 512 * 2 ** 20;
const PROGRAM = "portcullis";

/**
 * Unpacks the executable from a release's archive, whose name without the ending is that of the folder in it. Throws
 * `GatewayError("unable")`, before anything is unpacked, if the archive has anything other than plain files in that
 * folder.
 */
export async function unpackedProgram(
  host: Pick<Host, "run">,
  archive: string,
  name: string,
  into: string,
): Promise<string> {
  if (Bun.which("xz") === null)
    throw new CommandError("unable", "xz not found; install: apt-get install xz-utils");
  const tar = ["tar", "--xz", "--file", archive];
  const options = { timeoutMs: TAR_TIMEOUT_MS };
  const look = ["--list", "--verbose", "--numeric-owner", "--quoting-style=escape"];
  const top = name.replace(/\.tar\.xz$/, "");
  const member = `${top}/${PROGRAM}`;
  assertPlain(await host.run([...tar, ...look], options), top, name);
  const owned = ["--no-same-owner", "--no-same-permissions"];
  await host.run([...tar, "--extract", ...owned, "--directory", into, "--", member], options);
  const program = join(into, member);
  if (!lstatSync(program).isFile()) throw unexpected(name, member);
  chmodSync(program, 0o700);
  return program;
}

/** A line of `tar --list --verbose`: type and permissions, owner, size, date, time, name. */
const LISTED = /^([-d])[-rwxsStT]{9} \d+\/\d+ +(\d+) \S+ \S+ (\S+)$/;

function assertPlain(listing: string, top: string, name: string): void {
  let bytes = 0;
  for (const line of listing.split("\n").filter((each) => each !== "")) {
    const [, type, size = "", path = ""] = LISTED.exec(line) ?? [];
    const [folder, file = "", ...deeper] = path.split("/");
    const isPlain = folder === top && deeper.length === 0 && /^(?:[A-Za-z0-9][A-Za-z0-9._-]*)?$/.test(file);
    if (!isPlain || (type === "d") !== (file === "")) throw unexpected(name, line);
    bytes += Number(size);
  }
  if (bytes > MAX_UNPACKED_BYTES)
    throw new CommandError("unable", `${name} takes more than ${MAX_UNPACKED_BYTES / 2 ** 20} MiB unpacked`);
}

function unexpected(name: string, what: string): GatewayError {
  return new CommandError("unable", `${name} contains more than the files of a release: ${what}`);
}
