import type { Static } from "typebox";
import { listIn, SavedList } from "../base/saved.ts";
import { formatExit, parseExit } from "../devices/exit.ts";
import { deviceIdIn, isPrefixId } from "../devices/id.ts";
import { isOutsideExit } from "../shared/exits.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import { conflictBetween, inOrder, type Rule } from "./rules.ts";
import { MAX_ALL_NAMES, MAX_ALL_PREFIXES, MAX_RULES, SavedDestination } from "./schema.ts";
import { nameIn, noteIn, prefixIn } from "./targets.ts";

const storedIn = listIn(SavedDestination);

export const DESTINATIONS = new SavedList<Rule>({
  key: EXIT_KEYS.destinations,
  what: "rule for destinations",
  max: MAX_RULES,
  // On average: all of them may have as many names and prefixes together as eight of the longest, and each its devices and note.
  maxCharacters: 10_240,
  entriesIn: (text) => withoutConflicts(storedIn(text).flatMap((each) => parsed(each) ?? [])),
  format: (rules) =>
    JSON.stringify(
      inOrder(rules).map(({ id, names, prefixes, devices, exit, note }) => ({
        ...{ id, ...(names.length > 0 && { names }), prefixes, devices },
        ...{ exit: formatExit(exit), note },
      })),
    ),
  nameOf: ({ id }) => id,
  wordsOf: (rule) => `${targetOf(rule)} by ${formatExit(rule.exit)}`,
  // A rule that is here and contradicts one of the backup gives way, and people are told of it before.
  merge: (here, given) => withoutConflicts([...given, ...here]),
});

/** What a rule is for, for people. */
export function targetOf({ names, prefixes, devices }: Pick<Rule, "names" | "prefixes" | "devices">): string {
  const [first = "", ...others] = [...names, ...prefixes];
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const whose = devices.length === 0 ? "" : ` for ${devices.join(", ")}`;
  return `${first}${more}${whose}`;
}

/** Of rules that contradict each other, the first counts. So do the first ones if there are too many parts. */
function withoutConflicts(rules: readonly Rule[]): Rule[] {
  const kept: Rule[] = [];
  let [names, prefixes] = [0, 0];
  for (const rule of rules) {
    names += rule.names.length;
    prefixes += rule.prefixes.length;
    if (names > MAX_ALL_NAMES || prefixes > MAX_ALL_PREFIXES) break;
    if (!kept.some((other) => conflictBetween(rule, other) !== null)) kept.push(rule);
  }
  return kept;
}

/** By the rules of the interface. An exit that this version cannot read, or that nobody may choose, blocks. */
function parsed({
  names: givenNames = [],
  prefixes: givenPrefixes,
  devices: givenDevices,
  exit: givenExit,
  ...rest
}: Static<typeof SavedDestination>): Rule | null {
  try {
    const [names, prefixes] = [givenNames.map(nameIn), givenPrefixes.map(prefixIn)];
    const devices = givenDevices.map((device) => deviceIdIn(device));
    const given = [...givenNames, ...givenPrefixes, ...givenDevices];
    const isWritten = Bun.deepEquals([names, prefixes, devices].flat() as string[], given);
    if (!isWritten || new Set(given).size < given.length || names.length + prefixes.length === 0) return null;
    const exit = parseExit(givenExit) ?? { to: "blocked" };
    const isPossible = !isOutsideExit(exit) || !devices.some(isPrefixId);
    return {
      ...{ ...rest, note: noteIn(rest.note) },
      ...{ names, prefixes, devices, exit: isPossible ? exit : { to: "blocked" } },
    };
  } catch {
    return null;
  }
}
