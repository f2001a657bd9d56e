import { type Kind, type Mutant, mutantsOf, OF_ROUTING, OF_RULESET } from "./mutants.ts";
import { isHole, Original, SORTS, type Sort, type Sorted } from "./sorting.ts";
import type { State } from "./state.ts";

// A sample of all mistakes in all texts, and its table.

/** How many of one state are asked in a row, which is faster than as many of others. */
const OF_A_STATE = 20;

export interface Sample {
  table: string;
  holes: number;
}

/** As many as the time allows; the same seed asks the same ones in the same order. */
export async function sortSample(
  states: readonly State[],
  seed: number,
  limitMs: number,
  tell: (mutant: Mutant, sorted: Sorted) => void,
  sorterOf: (state: State) => Pick<Original, "sort"> = (state) => new Original(state),
): Promise<Sample> {
  const [ends, all] = [performance.now() + limitMs, states.flatMap((state) => draws(state, seed))];
  const [counts, named] = [new Map<string, number>(), new Map<string, number>()];
  let holes = 0;
  const waiting = shuffled(all, seed, ({ name }) => name);
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const original = sorterOf(next.state);
      for (const mutant of next.mutants) {
        if (performance.now() > ends) return;
        const found = await original.sort(mutant);
        const key = keyOf(mutant.kind, found.sort);
        counts.set(key, (counts.get(key) ?? 0) + 1);
        if (isHole(found.sort)) holes++;
        for (const way of found.sort === "named" ? found.by : []) named.set(way, (named.get(way) ?? 0) + 1);
        tell(mutant, found);
      }
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  const total = all.reduce((sum, { mutants }) => sum + mutants.length, 0);
  const rows = [...named].toSorted().map(([way, count]) => `${way.padEnd(26)}${`${count}`.padStart(14)}`);
  const table = [tableOf(counts), ...rows, `of ${total} mistakes, seed ${seed}`].join("\n");
  return { table, holes };
}

interface Draw {
  name: string;
  state: State;
  mutants: readonly Mutant[];
}

function draws(state: State, seed: number): Draw[] {
  const mutants = shuffled(mutantsOf(state), seed, ({ kind, of }) => `${kind} ${of}`);
  return Array.from({ length: Math.ceil(mutants.length / OF_A_STATE) }, (_, at) => ({
    ...{ name: `${state.name} ${at}`, state },
    mutants: mutants.slice(at * OF_A_STATE, (at + 1) * OF_A_STATE),
  }));
}

/** The same seed gives the same order. */
export function shuffled<T>(all: readonly T[], seed: number, nameOf: (one: T) => string): T[] {
  return all
    .map((one) => ({ one, rank: Bun.hash(nameOf(one), seed) as bigint }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ one }) => one);
}

function tableOf(counts: ReadonlyMap<string, number>): string {
  const row = (name: string, cells: readonly (number | string)[]) =>
    [name.padEnd(26), ...cells.map((cell) => `${cell}`.padStart(14))].join("");
  const rows = [...OF_RULESET, ...OF_ROUTING].map((kind) =>
    row(
      kind,
      SORTS.map((sort) => counts.get(keyOf(kind, sort)) ?? 0),
    ),
  );
  const sums = SORTS.map((sort) =>
    [...counts].reduce((sum, [key, count]) => sum + (key.endsWith(`: ${sort}`) ? count : 0), 0),
  );
  return [row("", SORTS), ...rows, row("all", sums)].join("\n");
}

function keyOf(kind: Kind, sort: Sort): string {
  return `${kind}: ${sort}`;
}
