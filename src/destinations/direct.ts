import { isOutsideExit } from "../shared/exits.ts";
import type { Rule } from "./rules.ts";
import { targetOf } from "./saved.ts";

/** The same rule; if it leads outside the tunnel, one that blocks. */
export function closed(rule: Rule): Rule {
  return isOutsideExit(rule.exit) ? { ...rule, exit: { to: "blocked" } } : rule;
}

/** What leaves outside the tunnel now, or does not any more, in sentences for people; null if that is as before. */
export function directChange(before: readonly Rule[], after: readonly Rule[]): string | null {
  const targets = (rules: readonly Rule[]) => rules.filter(({ exit }) => isOutsideExit(exit)).map(targetOf);
  const [had, has] = [targets(before), targets(after)];
  const [more, less] = [has.filter((each) => !had.includes(each)), had.filter((each) => !has.includes(each))];
  const sentences = [
    ...(more.length === 0 ? [] : [`Now direct, outside the tunnel: traffic to ${more.join(", ")}.`]),
    ...(less.length === 0 ? [] : [`No longer direct: traffic to ${less.join(", ")}.`]),
  ];
  return sentences.length === 0 ? null : sentences.join(" ");
}
