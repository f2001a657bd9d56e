import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { CommandError } from "../base/errors.ts";
import type { Host } from "../system/host.ts";
import { TEMPORARY_FOLDER } from "../system/private-folder.ts";
import { freeBytes } from "../system/resources.ts";
import type { Running } from "./archive.ts";

/** The image has it; it gives the system all of its card. */
const GROWS = "/usr/local/sbin/portcullis-room";
const SECTOR_BYTES = 512;
const MEGABYTE = 1_000_000;
/**
 * What an upgrade writes beside the installed program, in times its size: the download, the new program, and a copy of the
 * former one with what it is packed into. Only the last of them is in the program's own folder.
 */
const TIMES: Record<Running["kind"], number> = { package: 3, archive: 3.5 };

/** Throws `GatewayError("unable")`, which says what to do, if an upgrade would fill the disk. */
export async function assertRoom(
  host: Pick<Host, "run" | "read">,
  { kind }: Pick<Running, "kind">,
  program: string,
): Promise<void> {
  const size = statSync(program, { throwIfNoEntry: false })?.size ?? 0;
  const own = dirname(program);
  const isOne = size === 0 || statSync(own).dev === statSync(TEMPORARY_FOLDER).dev;
  const needs = isOne
    ? [{ folder: TEMPORARY_FOLDER, bytes: TIMES[kind] * size }]
    : [
        { folder: TEMPORARY_FOLDER, bytes: (TIMES[kind] - 1) * size },
        { folder: own, bytes: size },
      ];
  for (const { folder, bytes } of needs) {
    const free = freeBytes(folder);
    if (free === null || free >= bytes) continue;
    const next = (await isSmall(host))
      ? "the system does not have all of its card yet, which it gets when it starts: turn the gateway off and on, then try again"
      : `make room in the file system of ${folder} first`;
    throw new CommandError(
      "unable",
      `an upgrade needs ${Math.ceil(bytes / MEGABYTE)} MB, and ${Math.floor(free / MEGABYTE)} MB are free: ${next}`,
    );
  }
}

/** Whether the file system of a flashed image is less than half of its card. */
async function isSmall(host: Pick<Host, "run" | "read">): Promise<boolean> {
  if ((await host.read(GROWS)) === null) return false;
  const source = await host.run(["findmnt", "-no", "SOURCE", "/"]).catch(() => "");
  const partition = source.trim().split("/").at(-1) ?? "";
  const card = Number((await host.read(`/sys/class/block/${partition}/../size`)) ?? 0) * SECTOR_BYTES;
  const { blocks, bsize } = statfsSync("/");
  return blocks * bsize < card / 2;
}
