import type { Exit } from "../killswitch/policy.ts";
import type { Rule } from "./rules.ts";

/**
 * Whether less can leave after a change of the rules, and nothing by another way than before. What was direct is then no
 * longer outside the tunnel.
 */
export function onlyCloses(before: readonly Rule[], after: readonly Rule[]): boolean {
  const [from, to] = [exitsIn(before), exitsIn(after)];
  const changed = [...new Set([...from.keys(), ...to.keys()])].filter(
    (key) => !Bun.deepEquals(from.get(key), to.get(key)),
  );
  return (
    changed.length > 0 &&
    changed.every((key) => to.get(key)?.to === "blocked" || from.get(key)?.to === "direct") &&
    changed.every((key) => to.get(key)?.to !== "direct")
  );
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
