import type { Destination } from "../destinations/schema.ts";
import { someOf } from "./format.ts";

/** The names and networks of a rule. */
export function targetsOf({ names, prefixes }: Pick<Destination, "names" | "prefixes">): readonly string[] {
  return [...names, ...prefixes];
}

/** "203.0.113.0/24, 198.51.100.7/32, and 3 others". */
export function targetText(rule: Destination): string {
  return someOf(targetsOf(rule), 4);
}

/** What a person has typed: names, and addresses and networks. */
export function targetsIn(all: readonly string[]): { names: string[]; prefixes: string[] } {
  const isNetwork = (each: string) => /[:/]|^[0-9.]+$/.test(each);
  return { names: all.filter((each) => !isNetwork(each)), prefixes: all.filter(isNetwork) };
}

/** What is between commas or spaces. */
export function wordsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}
