import type { Log } from "../base/log.ts";
import { allSlots, MAX_TUNNELS, type Slot } from "../network/slot.ts";
import type { Kernel } from "./kernel.ts";
import { refused } from "./refusals.ts";

/**
 * The number of a slot that no tunnel has taken. Another program may have an interface with one of its names: `links`
 * are all that exist.
 */
export function freeSlot(base: string, taken: readonly number[], links: readonly string[]): number {
  if (taken.length >= MAX_TUNNELS)
    throw refused("limit_reached", { field: "name", of: "tunnels", max: MAX_TUNNELS });
  const free = allSlots(base).findIndex(
    (slot, number) => !taken.includes(number) && !slot.links.some((link) => links.includes(link)),
  );
  if (free >= 0) return free;
  throw refused("tunnel_links_taken", { base });
}

interface Deps {
  kernel: Kernel;
  base: string;
  log: Pick<Log, "warn">;
}

/** Removes interfaces of tunnels that are not known any more; their mark tells them from those of other programs. */
export async function removeOrphans(
  { kernel, base, log }: Deps,
  links: readonly string[],
  known: readonly Slot[],
): Promise<void> {
  const marks = known.map(({ mark }) => mark);
  for (const slot of allSlots(base).filter(({ mark }) => !marks.includes(mark)))
    for (const link of slot.links.filter((each) => links.includes(each))) {
      if (!(await kernel.isTunnel(link, slot))) continue;
      log.warn(`removing ${link}, which belongs to no known tunnel`);
      await kernel.close(link);
    }
}
