import type { Static } from "typebox";
import { type HostName, isPrefix, networkOf, type Prefix } from "../base/address.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { listIn, SavedList } from "../base/saved.ts";
import { formatExit, parseExit } from "../devices/exit.ts";
import { type DeviceId, parseDeviceId } from "../devices/id.ts";
import { conflictBetween, inOrder, type Rule } from "./rules.ts";
import { MAX_ALL_NAMES, MAX_ALL_PREFIXES, MAX_RULES, SavedDestination } from "./schema.ts";

const storedIn = listIn(SavedDestination);

export const DESTINATIONS = new SavedList<Rule>({
  key: "destinations",
  what: "rule for destinations",
  max: MAX_RULES,
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

/** An exit that this version cannot read blocks. */
function parsed({
  names = [],
  prefixes,
  devices,
  exit,
  ...rest
}: Static<typeof SavedDestination>): Rule | null {
  const known = devices.map(parseDeviceId);
  const areValid =
    names.length + prefixes.length > 0 &&
    names.every((name) => parseDomainName(name) === name) &&
    prefixes.every((prefix) => isPrefix(prefix) && networkOf(prefix) === prefix);
  if (!areValid || known.includes(null)) return null;
  return {
    ...rest,
    names: names as HostName[],
    prefixes: prefixes as Prefix[],
    devices: known as DeviceId[],
    exit: parseExit(exit) ?? { to: "blocked" },
  };
}
