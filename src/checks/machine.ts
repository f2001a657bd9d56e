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
  if (free === null) return warning("disk_unknown", {});
  const found = { free: sizeText(free) };
  if (free < DISK_BYTES.fault) return fault("disk", found);
  return free < DISK_BYTES.warning ? warning("disk", found) : ok("disk", found);
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
  if (trouble !== null) return fault("database_faulty", { reason: trouble });
  if (exitsLost !== null) return fault("database_exits_lost", { reason: exitsLost });
  return damage === null ? ok("database", {}) : warning("database_damaged", { reason: damage });
}

export async function memoryFinding(host: Pick<Host, "read">): Promise<Finding> {
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec((await host.read("/proc/meminfo")) ?? "")?.[1];
  if (kibibytes === undefined) return ok("memory_unknown", {});
  const free = Number(kibibytes) * 1_024;
  const found = { free: sizeText(free) };
  if (free < MEMORY_BYTES.fault) return fault("memory", found);
  return free < MEMORY_BYTES.warning ? warning("memory", found) : ok("memory", found);
}

/** The limits for one device. `runs` is whether a service runs, which loads them. */
export async function connectionsFinding(
  bounds: Pick<ConntrackGuard, "places" | "refused">,
  runs: boolean,
): Promise<Finding> {
  const [places, refused] = await Promise.all([bounds.places(), bounds.refused()]);
  const table = places ?? { taken: 0, all: 0 };
  if (places !== null && isNearlyFull(places)) return warning("connections_full", table);
  if (refused === null) return runs ? warning("connections_unbounded", table) : ok("connections", table);
  const { connections, solicitations } = refused;
  if (connections.length > 0) return warning("connections_refused", { ...table, ...someOf(connections) });
  if (solicitations.length > 0) return warning("neighbours_refused", { ...table, ...someOf(solicitations) });
  return ok("connections", table);
}

const MAX_NAMED = 3;

function someOf(macs: readonly string[]): { devices: string; more: number } {
  return {
    devices: macs.slice(0, MAX_NAMED).join(", "),
    more: Math.max(0, macs.length - MAX_NAMED),
  };
}

/** `replaced` is whether the program's file has been replaced since the service started. */
export async function versionFinding(
  host: Pick<Host, "read">,
  version: string,
  replaced: boolean,
): Promise<Finding> {
  const command = setupCommand();
  if (replaced) return warning("version_replaced", { version, command });
  if (await isSetupDue(host, version)) return warning("version_incomplete", { version, command });
  return ok("version", { version });
}

/** Whole gigabytes if there are many: nobody reads "234283 MB". */
function sizeText(bytes: number): string {
  return bytes < 10 * GB ? `${Math.floor(bytes / MB)} MB` : `${Math.floor(bytes / GB)} GB`;
}
