// Makes one mistake at a time in the source, and runs the quick tests that import it; scripts/mutants has prepared the machine.
import { readFileSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { Glob } from "bun";
import { fastFiles } from "../suite/tests.ts";
import { Importers } from "./importers.ts";
import { type Mutation, mutationsOf } from "./mutations.ts";
import { Trials } from "./trials.ts";

/** Where a mistake lets something out, or somebody in. */
const HEART = ["src/killswitch", "src/base/decision.ts", "src/dns/answer.ts", "src/access"];
const WORKERS = 2;
/** A batch of quick tests takes seconds, also on a busy machine. A mutant that makes them hang is found. */
const MAX_MS = 300_000;
const USAGE = "usage: scripts/mutants [--seed N] [--most N] [--nearest N] [files and folders of src]";

interface Mutant extends Mutation {
  readonly file: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    most: { type: "string", default: "100" },
    nearest: { type: "string", default: "1000" },
  },
});
const [most, nearest] = [Number(values.most), Number(values.nearest)];
if (!(most > 0 && nearest > 0)) {
  console.error(USAGE);
  process.exit(2);
}

const files = (positionals.length > 0 ? positionals : HEART).flatMap(filesIn);
const sample = sampleOf(files.flatMap(mutantsOf), values.seed, most);
const importers = new Importers();
const quick = new Set(fastFiles().map((file) => file.replace("./", "")));
const survivors = new Set<Mutant>();
const trials = new Trials();
// Also after Ctrl-C, or if a test fails without a mistake: a copy of the tree is large.
process.once("exit", () => trials[Symbol.dispose]());
process.once("SIGINT", () => process.exit(130));

console.log(`seed ${values.seed}, ${sample.length} mutants`);
await control();
const waiting = sample.values();
await Promise.all(Array.from({ length: WORKERS }, work));
for (const [file, mutants] of Map.groupBy(sample, ({ file }) => file)) {
  const left = mutants.filter((each) => survivors.has(each));
  console.log(`${file}: ${mutants.length - left.length} killed, ${left.length} survived`);
}
console.log(`${sample.length - survivors.size} killed, ${survivors.size} survived`);

async function work(): Promise<void> {
  for (const mutant of waiting) {
    const { file, line, before, after, text } = mutant;
    const outcome = await trials.outcome(file, text, testsOf(file), MAX_MS);
    if (outcome === "survived") survivors.add(mutant);
    const edit = `${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
    console.log(`${outcome.padEnd(9)}  ${file}:${line}  ${edit}`);
  }
}

/** Without a mistake all of these tests pass; else nothing would be known of those with one. */
async function control(): Promise<void> {
  const [{ file } = { file: "" }] = sample;
  const tests = new Set(sample.flatMap((each) => testsOf(each.file)));
  if ((await trials.outcome(file, readFileSync(file, "utf8"), [...tests], MAX_MS)) === "survived") return;
  console.error("Without a mistake, a test fails as well. Run ./scripts/test --fast first.");
  process.exit(1);
}

function testsOf(file: string): string[] {
  return importers.of(file, quick).slice(0, nearest);
}

function filesIn(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return [...new Glob("**/*.ts").scanSync(path)].toSorted().map((file) => `${path}/${file}`);
}

function mutantsOf(file: string): Mutant[] {
  return mutationsOf(readFileSync(file, "utf8")).map((mutation) => ({ file, ...mutation }));
}

/** The same mutants while the source changes elsewhere, so that two runs can be compared. */
function sampleOf(all: readonly Mutant[], seed: string, most: number): Mutant[] {
  const hashed = [
    ...Map.groupBy(all, ({ file, before, after }) => JSON.stringify([seed, file, before, after])),
  ].flatMap(([words, alike]) => alike.map((mutant, nth) => ({ mutant, hash: Bun.hash(`${words} ${nth}`) })));
  return hashed
    .toSorted((one, other) => (one.hash < other.hash ? -1 : 1))
    .slice(0, most)
    .map(({ mutant }) => mutant);
}
