import { type ConntrackGuard, isNearlyFull } from "../network/bounds.ts";
import type { Host } from "../system/host.ts";
import { setupCommand } from "../system/layout.ts";
import { isSetupDue } from "../system/setup.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

const MB = 1_000_000;
const GB = 1_000 * MB;
/** The database grows with servers, a list takes some megabytes, and the system itself needs room to start. */
const DISK_BYTES = { warning: 200 * MB, fault: 20 * MB };
/** `nft` and `wg` need some megabytes; below this the kernel begins to end programs. */
const MEMORY_BYTES = { warning: 64 * MB, fault: 16 * MB };

/** `free` is null if it is not known. */
export function diskFinding(free: number | null): Finding {
  if (free === null)
    return warning("the free space is not known", "Check that the folder of the database exists.");
  const found = `${sizeText(free)} free for the database`;
  const advice = "Make room: sudo apt-get clean, and sudo journalctl --vacuum-size=50M";
  if (free < DISK_BYTES.fault) return fault(found, advice);
  return free < DISK_BYTES.warning ? warning(found, advice) : ok(found);
}

/**
 * `trouble` is why it cannot be relied on, `exitsLost` what a person has to choose again, and `damage` what was lost at
 * the start. All are null if there is nothing to report.
 */
export function databaseFinding(
  trouble: string | null,
  damage: string | null,
  exitsLost: string | null,
): Finding {
  if (trouble !== null)
    return fault(
      trouble,
      "Check whether the disk is full or read-only. A worn SD card becomes read-only: replace it.",
    );
  if (exitsLost !== null)
    return fault(
      exitsLost,
      "Or restore a backup: sudo portcullis restore. See the devices: portcullis devices. A worn SD card loses data.",
    );
  if (damage !== null)
    return warning(
      damage,
      "Restore a backup if you have one: sudo portcullis restore. A worn SD card loses data.",
    );
  return ok("can be read and is not damaged");
}

export async function memoryFinding(host: Pick<Host, "read">): Promise<Finding> {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec((await host.read("/proc/meminfo")) ?? "")?.[1];
  if (kibibytes === undefined) return ok("not known");
  const free = Number(kibibytes) * 1_024;
  const found = `${sizeText(free)} available`;
  const advice = "Stop programs that this machine does not need, or restart it.";
  if (free < MEMORY_BYTES.fault) return fault(found, advice);
  return free < MEMORY_BYTES.warning ? warning(found, advice) : ok(found);
}

/** The limits for one device. `runs` is whether a service runs, which loads them. */
export async function connectionsFinding(
  bounds: Pick<ConntrackGuard, "places" | "refused">,
  runs: boolean,
): Promise<Finding> {
  const [places, refused] = await Promise.all([bounds.places(), bounds.refused()]);
  const found =
    places === null
      ? "none yet"
      : `${places.taken} of ${places.all} entries of the connection table are in use`;
  if (places !== null && isNearlyFull(places))
    return warning(
      `${found}: when three quarters are, devices cannot connect to anything new`,
      "Stop the program that opens these connections, on the gateway or on a device.",
    );
  if (refused === null)
    return runs
      ? warning(
          `${found}; one device could use all of them`,
          "See why the kernel refuses the table portcullis_bounds: portcullis logs. If the kernel was upgraded, restart the machine.",
        )
      : ok(found);
  const { connections, solicitations } = refused;
  if (connections.length > 0)
    return warning(
      `${found}; further connections were refused to ${someOf(connections)} in the last ten minutes`,
      "Check what runs there. A torrent client can be limited to fewer connections.",
    );
  if (solicitations.length > 0)
    return warning(
      `${found}; more questions for IPv6 neighbours than any device needs came from ${someOf(solicitations)} in the last ten minutes`,
      "Check what runs there: it may be disturbing IPv6 for other devices.",
    );
  return ok(found);
}

const MAX_NAMED = 3;

function someOf(macs: readonly string[]): string {
  const more = macs.length - MAX_NAMED;
  return `${macs.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** `replaced` is whether the program's file has been replaced since the service started. */
export async function versionFinding(
  host: Pick<Host, "read">,
  version: string,
  replaced: boolean,
): Promise<Finding> {
  const way = `${setupCommand()}. The tunnel stays up meanwhile.`;
  if (replaced)
    return warning(`${version} still runs, but its file has been replaced`, `Start the new one: ${way}`);
  if (!(await isSetupDue(host, version))) return ok(version);
  return warning(`${version} runs, but its setup was not completed`, `Complete it: ${way}`);
}

/** Whole gigabytes if there are many: nobody reads "234283 MB". */
function sizeText(bytes: number): string {
  return bytes < 10 * GB ? `${Math.floor(bytes / MB)} MB` : `${Math.floor(bytes / GB)} GB`;
}
