import type { Device } from "../../../devices/schema.ts";
import { titleOf } from "../../exit.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";

/** The gateway takes five such changes a second. */
const PAUSE_MS = 220;

/** Changes devices one after the other. Says how many are changed, and throws which are not, and why. */
export async function changeAll(
  devices: readonly Device[],
  change: (device: Device) => Promise<unknown>,
  doneText: (count: number) => string,
): Promise<string> {
  const failed = new Map<string, string[]>();
  for (const device of devices) {
    const [result] = await Promise.allSettled([
      change(device),
      new Promise((resolve) => setTimeout(resolve, PAUSE_MS)),
    ]);
    if (result.status === "rejected") {
      const why = result.reason instanceof Error ? result.reason.message : String(result.reason);
      failed.set(why, [...(failed.get(why) ?? []), titleOf(device)]);
    }
  }
  const done = doneText(devices.length - [...failed.values()].flat().length);
  if (failed.size === 0) return done;
  const rest = [...failed].map(([why, names]) =>
    say("Not {devices}: {why}", { devices: listOf(names), why }),
  );
  throw new Error([done, ...rest].join(" "));
}
