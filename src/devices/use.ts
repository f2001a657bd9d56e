import type { Exit } from "../killswitch/policy.ts";
import { type Exits, formatExit, namesOf } from "./exit.ts";
import type { DeviceId } from "./id.ts";
import type { Figures } from "./traffic.ts";

/** How many of these devices have each exit, including exits that none has. */
export function countsOf(
  ids: readonly DeviceId[],
  exits: Exits,
  exitOf: (id: DeviceId) => Exit,
): Record<string, number> {
  const all = namesOf({ ...exits, directAllowed: true });
  const counts = new Map(all.map((exit) => [exit, 0]));
  for (const id of ids) {
    const exit = formatExit(exitOf(id));
    counts.set(exit, (counts.get(exit) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

/** Whether any device has sent something through the gateway. */
export function haveSent(carried: ReadonlyMap<string, Figures>): boolean {
  return [...carried.values()].some(({ tx }) => tx > 0);
}
