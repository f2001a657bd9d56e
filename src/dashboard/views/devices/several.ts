import type { Device } from "../../../devices/schema.ts";
import { refresh } from "../../answers.ts";
import { change } from "../../api.ts";
import { titleOf } from "../../exit.ts";
import { listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { devicePath } from "../../parts/device-exit.tsx";

/** The gateway takes five such changes a second. */
const PAUSE_MS = 220;

/** Gives devices an exit, one after the other; null is the default exit. Says what was changed, and throws what was not. */
export async function giveAll(
  devices: readonly Device[],
  exit: string | null,
  name: string,
): Promise<string> {
  const failed = new Map<string, string[]>();
  for (const device of devices) {
    const [result] = await Promise.allSettled([
      change("PUT", devicePath(device), { exit }),
      new Promise((resolve) => setTimeout(resolve, PAUSE_MS)),
    ]);
    if (result.status === "rejected") {
      const why = result.reason instanceof Error ? result.reason.message : String(result.reason);
      failed.set(why, [...(failed.get(why) ?? []), titleOf(device)]);
    }
  }
  void refresh("devices");
  const count = devices.length - [...failed.values()].flat().length;
  const done = say(
    "{count, plural, =0 {No device was changed.} one {# device now has this exit: {exit}.} other {# devices now have this exit: {exit}.}}",
    {
      count,
      exit: name,
    },
  );
  if (failed.size === 0) return done;
  const rest = [...failed].map(([why, names]) =>
    say("Not {devices}: {why}", { devices: listOf(names), why }),
  );
  throw new Error([done, ...rest].join(" "));
}
