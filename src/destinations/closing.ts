import type { Effect } from "../base/decision.ts";
import type { Exit } from "../killswitch/policy.ts";
import { isBlockedExit, isOutsideExit } from "../shared/exits.ts";
import type { Rule } from "./rules.ts";

/**
 * A change tightens if less can leave after it, and nothing through another exit than before. What was direct is then
 * no longer outside the tunnel.
 */
export function effectOf(before: readonly Rule[], after: readonly Rule[]): Effect {
  const [from, to] = [exitsIn(before), exitsIn(after)];
  const changes = [...new Set([...from.keys(), ...to.keys()])]
    .map((key) => ({ from: from.get(key), to: to.get(key) }))
    .filter((each) => !Bun.deepEquals(each.from, each.to));
  if (changes.length === 0) return "neither";
  const closes = changes.every(
    (each) => !isOutsideExit(each.to) && (isBlockedExit(each.to) || isOutsideExit(each.from)),
  );
  return closes ? "tightens" : "loosens";
}

/** By device and prefix. */
function exitsIn(rules: readonly Rule[]): Map<string, Exit> {
  return new Map(
    rules.flatMap(({ names, prefixes, devices, exit }) =>
      (devices.length === 0 ? ["all"] : devices).flatMap((device) =>
        [...names, ...prefixes].map((each) => [`${device} ${each}`, exit] as const),
      ),
    ),
  );
}
