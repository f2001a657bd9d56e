import type { Parts } from "../app/parts.ts";
import { CommandError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import { listTable } from "../killswitch/table.ts";

export function notRunning(): never {
  throw new CommandError("unable", "the service does not run; to start it: sudo systemctl start portcullis");
}

/** The parts of a gateway while no service runs, for a request that leaves like any other program's. */
export async function offlineGraph(settings: Settings): Promise<Parts> {
  const { partsOf } = await import("../app/parts.ts");
  const parts = await partsOf(settings);
  if ((await listTable(parts.host)) === null) return parts;
  throw new CommandError(
    "unable",
    "the kill switch is in place, and only the running service can permit this request; start it: systemctl start portcullis",
  );
}
