import type { Check } from "./schema.ts";

/** Faults that cause others, the first cause first. */
const CAUSES: readonly { id: string; effects: RegExp }[] = [
  // A rule of another program may lead WireGuard's own packets elsewhere, or refuse them.
  { id: "other_rules", effects: /^(tunnel:.*|dns)$/ },
  { id: "tunnel:main", effects: /^dns$/ },
];

/**
 * The same checks. A fault that follows from another one names it, and has no advice of its own, because that would
 * mislead.
 */
export function withCauses(checks: readonly Check[]): Check[] {
  const faults = new Set(checks.filter(({ result }) => result === "fault").map(({ id }) => id));
  return checks.map((check) => {
    const cause = CAUSES.find(({ id, effects }) => faults.has(id) && effects.test(check.id));
    if (check.result !== "fault" || cause === undefined) return check;
    return { ...check, advice: null, because_of: cause.id };
  });
}
