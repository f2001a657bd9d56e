import type { Policy } from "../../src/killswitch/policy.ts";
import { POLICIES } from "../killswitch/example.ts";
import { shown } from "./counterexample.ts";
import { mutantsOf } from "./mutants.ts";
import { type Answer, exampleFor, failed, nameOf, type Proof, proveAll, refuted } from "./proof.ts";
import { type State, stateOf } from "./state.ts";
import { transitions } from "./transitions.ts";

const [first = "", ...rest] = process.argv.slice(2);
const isRight = await asked();
process.exitCode = isRight ? 0 : 1;

function asked(): Promise<boolean> {
  if (first === "--mutants") return askMutants(rest[0] ?? "connected", Number(rest[1] ?? 1));
  if (first === "--ruleset") return askRuleset(rest[0] ?? "", rest[1] ?? "");
  return askStates(process.argv.slice(2));
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
  const isAsked = (name: string) => words.length === 0 || words.some((word) => name.includes(word));
  const states = Object.entries(POLICIES).map(([name, policy]) => stateOf(name, policy));
  const asked = [...states, ...transitions()].filter(({ name }) => isAsked(name));
  // Nothing that was asked holds as little as something that was refuted.
  if (asked.length === 0) throw new Error(`no state is called ${words.join(" or ")}`);
  const all = await proveAll(asked, tellProof);
  const byProperty = Map.groupBy(all, ({ question, layer }) => `(${question.property}) ${layer}`);
  for (const [property, answers] of [...byProperty].toSorted())
    console.log(`${property}: ${answers.filter(({ holds }) => holds).length} of ${answers.length} hold`);
  return failed(all).length === 0;
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

/** How many the proof refutes; those that it does not are listed, to be sorted by hand. */
async function askMutants(name: string, every: number): Promise<boolean> {
  const policy = policyOf(name);
  const { ruleset } = stateOf(name, policy);
  const counts = new Map<string, { refuted: number; all: number }>();
  for (const [at, mutant] of mutantsOf(ruleset).entries()) {
    if (at % every !== 0) continue;
    const by = await refuted(stateOf(name, policy, mutant.text));
    const count = counts.get(mutant.kind) ?? { refuted: 0, all: 0 };
    counts.set(mutant.kind, { refuted: count.refuted + (by.length > 0 ? 1 : 0), all: count.all + 1 });
    console.log(`${by.length > 0 ? `refuted by ${by[0]}` : "passes"}: ${mutant.kind}: ${mutant.of}`);
  }
  for (const [kind, { refuted, all }] of counts) console.log(`${kind}: ${refuted} of ${all} refuted`);
  return true;
}
