import fc from "fast-check";
import type { Policy } from "../../src/killswitch/policy.ts";
import { POLICIES } from "../killswitch/example.ts";
import { shown } from "./counterexample.ts";
import { policies } from "./policies.ts";
import { type Answer, exampleFor, failed, nameOf, type Proof, prove, proveAll } from "./proof.ts";
import { sortSample } from "./sample.ts";
import { isHole } from "./sorting.ts";
import { type State, stateOf } from "./state.ts";
import { transitions } from "./transitions.ts";

const MINUTE_MS = 60_000;
const MINUTES = 10;
const DAY_MS = 86_400_000;
/** Each is a policy. */
const SEEDS_OF_A_DAY = 10_000;

const [first = "", ...rest] = process.argv.slice(2);
const isRight = await asked();
process.exitCode = isRight ? 0 : 1;

function asked(): Promise<boolean> {
  const [minutes = `${MINUTES}`, seed = `${ofToday()}`, ...words] = rest;
  if (first === "--mutants") return askMutants(numberOf(minutes), numberOf(seed), words);
  if (first === "--random") return askRandom(numberOf(minutes), numberOf(seed));
  if (first === "--ruleset") return askRuleset(rest[0] ?? "", rest[1] ?? "");
  return askStates(process.argv.slice(2));
}

function numberOf(word: string): number {
  if (!/^\d+$/.test(word)) throw new Error(`no number: ${word}`);
  return Number(word);
}

function ofToday(): number {
  return Math.floor(Date.now() / DAY_MS) * SEEDS_OF_A_DAY;
}

/** Of a state, with another ruleset than its own. */
async function askRuleset(name: string, file: string): Promise<boolean> {
  const state = stateOf(name, policyOf(name), await Bun.file(file).text());
  return failed(await proveAll([state], tellProof)).length === 0;
}

function policyOf(name: string): Policy {
  const policy = Object.entries(POLICIES).find(([other]) => other === name)?.[1];
  if (policy === undefined) throw new Error(`no state is called ${name}`);
  return policy;
}

async function askStates(words: readonly string[]): Promise<boolean> {
  const all = await proveAll(statesWith(words, transitions()), tellProof);
  const byProperty = Map.groupBy(all, ({ question, layer }) => `(${question.property}) ${layer}`);
  for (const [property, answers] of [...byProperty].toSorted())
    console.log(`${property}: ${answers.filter(({ holds }) => holds).length} of ${answers.length} hold`);
  return failed(all).length === 0;
}

/** Nothing that was asked holds as little as something that was refuted. */
function statesWith(words: readonly string[], more: readonly State[] = []): State[] {
  const states = Object.entries(POLICIES).map(([name, policy]) => stateOf(name, policy));
  const found = [...states, ...more].filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  );
  if (found.length === 0) throw new Error(`no state is called ${words.join(" or ")}`);
  return found;
}

async function tellProof({ name }: State, { answers }: Proof, seconds: number): Promise<void> {
  console.log(`${name}: ${answers.length} questions, ${seconds.toFixed(1)} s`);
  for (const answer of answers) if (failed([answer]).length > 0) await tell(answer);
}

async function tell(answer: Answer): Promise<void> {
  const { question, layer } = answer;
  const example = question.property === "possible" ? null : await exampleFor(answer);
  const packet = example === null ? "nothing does it" : shown(question.walk.packet, example);
  console.log(`  ${layer}: ${nameOf(question)}: ${packet}`);
}

/** One policy after another; a number and one minute ask the same one again. */
async function askRandom(minutes: number, seed: number): Promise<boolean> {
  const [ends, asked] = [performance.now() + minutes * MINUTE_MS, { policies: 0, failed: 0 }];
  const worker = async () => {
    while (performance.now() < ends) {
      const number = seed + asked.policies++;
      const [policy] = fc.sample(policies, { seed: number, numRuns: 1 });
      if (policy === undefined) throw new Error("no policy");
      const state = stateOf(`policy ${number}`, policy);
      const { answers } = await proveTold(state);
      if (failed(answers).length === 0) continue;
      asked.failed++;
      console.log(JSON.stringify(policy));
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  console.log(`${asked.policies} policies from ${seed} on, ${asked.failed} with a packet`);
  return asked.failed === 0;
}

async function proveTold(state: State): Promise<Proof> {
  const began = performance.now();
  const proof = await prove(state);
  await tellProof(state, proof, (performance.now() - began) / 1000);
  return proof;
}

/** Each hole is shown, and each mistake that lets what a property names leave or come in. */
async function askMutants(minutes: number, seed: number, words: readonly string[]): Promise<boolean> {
  const { table, holes } = await sortSample(
    ...([statesWith(words), seed, minutes * MINUTE_MS] as const),
    (mutant, { sort, by }) => {
      if (sort === "named" || isHole(sort))
        console.log(`${sort}: ${mutant.state.name}, ${mutant.kind}: ${mutant.of}\n  ${by.join("\n  ")}`);
    },
  );
  console.log(table);
  return holes === 0;
}
