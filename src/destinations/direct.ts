import type { AlertArgs } from "../base/alert-rows.ts";
import { isOutsideExit } from "../shared/exits.ts";
import type { Rule } from "./rules.ts";
import { targetOf } from "./saved.ts";

export function isDirect({ exit }: Rule): boolean {
  return isOutsideExit(exit);
}

/** The same rule; if it leads outside the tunnel, one that blocks. */
export function closed(rule: Rule): Rule {
  return isDirect(rule) ? { ...rule, exit: { to: "blocked" } } : rule;
}

/** What leaves outside the tunnel now, or does not any more. */
export function directChanges(
  before: readonly Rule[],
  after: readonly Rule[],
): AlertArgs<"direct_changed">[] {
  const targets = (rules: readonly Rule[]) => rules.filter(isDirect).map(targetOf);
  const [had, has] = [targets(before), targets(after)];
  const [more, less] = [has.filter((each) => !had.includes(each)), had.filter((each) => !has.includes(each))];
  const changes: AlertArgs<"direct_changed">[] = [];
  if (more.length > 0) changes.push({ what: "targets", targets: more.join(", ") });
  if (less.length > 0) changes.push({ what: "no_targets", targets: less.join(", ") });
  return changes;
}
