import { type Entry, VERDICTS, type Verdict } from "./list-entry.ts";
import { entriesIn, type Reading } from "./list-text.ts";
import { NameSet } from "./name-set.ts";

/** Of the entries that do more than block, which are kept as text while a list is read. A large list has thousands. */
const MAX_OTHERS = 262_144;

/** What a list says of names. */
export class ListNames {
  private constructor(private readonly sets: Readonly<Record<Verdict, NameSet>>) {}

  /** How many names it blocks. */
  get size(): number {
    return this.sets.block.size + this.sets["block always"].size;
  }

  /** The hashes of its names, by verdict in their order. */
  get hashes(): Float64Array[] {
    return VERDICTS.map((verdict) => this.sets[verdict].hashes);
  }

  /** From such hashes. */
  static of(hashes: readonly Float64Array[]): ListNames {
    return new ListNames(byVerdict((_, index) => NameSet.of(hashes[index] ?? new Float64Array())));
  }

  /** Takes many turns of the event loop, each of some milliseconds. */
  static async from(text: string, reading: Reading): Promise<ListNames> {
    const names = byVerdict<string[]>(() => []);
    const voided = byVerdict<string[]>(() => []);
    const setOf = (verdict: Verdict, from: Iterable<string | null>) =>
      NameSet.from(from, () => NameSet.from(voided[verdict]));
    // Most lists have nothing else, and their names are not kept as text.
    let others = 0;
    const blocked = blockedIn(entriesIn(text, reading), ({ verdict, name, isVoid }) => {
      others += 1;
      if (others > MAX_OTHERS) reading.skipped += 1;
      else (isVoid ? voided : names)[verdict].push(name);
    });
    const sets = byVerdict(() => NameSet.of(new Float64Array()));
    sets.block = await setOf("block", blocked);
    for (const verdict of VERDICTS.slice(1)) sets[verdict] = await setOf(verdict, names[verdict]);
    return new ListNames(sets);
  }

  /** Whether it blocks the name or opens it; null if it says nothing of it. */
  verdictOn(name: string): "block" | "open" | null {
    const { sets } = this;
    if (sets["open always"].has(name)) return "open";
    if (sets["block always"].has(name)) return "block";
    if (sets.open.has(name)) return "open";
    const [blocked, spared] = [sets.block.longest(name), sets.spare.longest(name)];
    if (spared > blocked) return "open";
    return blocked > 0 ? "block" : null;
  }
}

function byVerdict<Value>(make: (verdict: Verdict, index: number) => Value): Record<Verdict, Value> {
  return Object.fromEntries(VERDICTS.map((verdict, index) => [verdict, make(verdict, index)])) as Record<
    Verdict,
    Value
  >;
}

/** The names of the entries that block, and null for all others, which go elsewhere. */
function* blockedIn(
  entries: Iterable<Entry | null>,
  elsewhere: (entry: Entry) => void,
): Generator<string | null> {
  for (const entry of entries) {
    const isBlocked = entry?.verdict === "block" && entry.isVoid !== true;
    if (entry !== null && !isBlocked) elsewhere(entry);
    yield isBlocked ? entry.name : null;
  }
}
