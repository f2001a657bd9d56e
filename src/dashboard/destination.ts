import type { Destination } from "../destinations/schema.ts";
import { someOf } from "./format.ts";

/** A rule may have names beside its networks. */
export type Rule = Destination & { names?: readonly string[] };

/** The names and networks of a rule. */
export function targetsOf({ names = [], prefixes }: Pick<Rule, "names" | "prefixes">): readonly string[] {
  return [...names, ...prefixes];
}

/** "203.0.113.0/24, 198.51.100.7/32, and 3 others". */
export function targetText(rule: Rule): string {
  return someOf(targetsOf(rule), 4);
}

/** What is between commas or spaces. */
export function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}
