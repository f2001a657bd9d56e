import type { Destination } from "../destinations/schema.ts";

/** A rule may have names beside its networks. */
type Rule = Destination & { names?: readonly string[] };

/** The names and networks of a rule. */
export function targetsOf({ names = [], prefixes }: Pick<Rule, "names" | "prefixes">): readonly string[] {
  return [...names, ...prefixes];
}
