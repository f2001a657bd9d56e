import type { Check } from "./schema.ts";

/** Faults that bring about others, the first cause first. */
const CAUSES: readonly { id: string; effects: RegExp }[] = [
  // Where another program's rule leads elsewhere, the firewall stops what would be measured too.
  { id: "other_rules", effects: /^(tunnel:.*|dns)$/ },
  { id: "tunnel:main", effects: /^dns$/ },
];

/** The same checks; a fault that follows from another one names it, and has no advice of its own, which would mislead. */
export function withCauses(checks: readonly Check[]): Check[] {
  const faults = new Set(checks.filter(({ result }) => result === "fault").map(({ id }) => id));
  return checks.map((check) => {
    const cause = CAUSES.find(({ id, effects }) => faults.has(id) && effects.test(check.id));
    if (check.result !== "fault" || cause === undefined) return check;
    return { ...check, advice: null, because_of: cause.id };
  });
}
