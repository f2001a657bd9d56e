import { addressBits } from "./address-bits.ts";
import { INVARIANTS, type Invariant } from "./connections.ts";
import { type Family, isProtocol, UDP } from "./packet.ts";
import type { Question } from "./question.ts";
import { OF_BOTH, OF_ROUTING, OF_TRANSITION } from "./questions.ts";
import { anyOf, exampleOf, type Model } from "./solver.ts";
import { type Layer, machineOf, type State } from "./state.ts";
import { atLeast, atMost, same, slice, type Term } from "./terms.ts";
import type { Walk } from "./walk.ts";
import { Walks } from "./walks.ts";

// The questions of a state, asked of each layer alone, and of both.

/** Of no device that a policy names. */
const PLAIN_MAC = 0x020000000077n;
const DISCARD = 9;

export interface Answer {
  question: Question;
  layer: Layer;
  /** What was asked is so: no packet does it, or of what must be possible, one does. */
  holds: boolean;
  /** What a packet must meet to be a counterexample. */
  conditions: readonly Term[];
}

/** The invariants of the connections of each family. */
export type Learned = Readonly<Record<Family, readonly Invariant[]>>;

const EVERYWHERE: Learned = { 4: INVARIANTS, 6: INVARIANTS };

export interface Proof {
  answers: readonly Answer[];
  learned: Learned;
  walks: Walks;
}

/** What the firewall proves with any routing, it proves with ours: both layers are asked for the rest only. */
export async function prove(state: State): Promise<Proof> {
  const firewall = await ask(state, "the firewall alone");
  // In whatever order its routes follow the firewall, that is one of all routings.
  if (state.before !== undefined) return firewall;
  const rest = firewall.answers.filter(({ holds }) => !holds).map(({ question }) => nameOf(question));
  const both = rest.length === 0 ? [] : (await ask(state, "both layers", rest)).answers;
  const routing = await ask(state, "routing alone");
  return { ...firewall, answers: [...firewall.answers, ...both, ...routing.answers] };
}

/** Of several states. While the solver works on one, another is read. */
export async function proveAll(
  states: readonly State[],
  tell: (state: State, proof: Proof, seconds: number) => void | Promise<void> = () => {},
): Promise<Answer[]> {
  const [waiting, all] = [[...states], [] as Answer[]];
  const worker = async () => {
    for (let state = waiting.shift(); state !== undefined; state = waiting.shift()) {
      const began = performance.now();
      const proof = await prove(state);
      await tell(state, proof, (performance.now() - began) / 1000);
      all.push(...proof.answers);
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency + 1 }, worker));
  return all;
}

export function nameOf({ property, of }: Pick<Question, "property" | "of">): string {
  return `(${property}) ${of}`;
}

/** The questions of a layer that have these names, or all. */
export async function ask(state: State, layer: Layer, only: readonly string[] | null = null): Promise<Proof> {
  const walks = walksOf(state, layer);
  const questions = questionsIn(walks, state, layer).filter(
    (each) => only === null || only.includes(nameOf(each)),
  );
  const broken = await brokenIn(walks);
  // In a transition, connections of the state before are known, too.
  const earlier = state.before === undefined ? EVERYWHERE : (await ask(state.before, layer, [])).learned;
  const learned = { 4: without(earlier[4], broken[4]), 6: without(earlier[6], broken[6]) };
  const cases = questions.map(({ property, walk, wrong }) => ({
    ...{ base: goes(walk, learned), wrong },
    isLikely: property === "possible",
  }));
  const found = await anyOf(cases);
  const answers = questions.map((question, at) => ({
    ...{ question, layer, conditions: [...goes(question.walk, learned), question.wrong] },
    holds: (found[at] === true) === (question.property === "possible"),
  }));
  return { answers, learned, walks };
}

/** The invariants that do not hold here. */
async function brokenIn(walks: Walks): Promise<Learned> {
  const breaches = walks.breaches();
  const found = await anyOf(breaches);
  const broken = breaches.filter((_, at) => found[at]);
  const of = (family: Family) => broken.filter((each) => each.family === family);
  return { 4: of(4).map(({ invariant }) => invariant), 6: of(6).map(({ invariant }) => invariant) };
}

function without(all: readonly Invariant[], some: readonly Invariant[]): Invariant[] {
  return all.filter((each) => !some.includes(each));
}

/** The conditions under which a packet goes that way. */
export function goes(walk: Walk, learned: Learned): Term[] {
  const known = learned[walk.packet.family].map((invariant) => walk.learned[invariant]);
  return [...walk.assumed, ...known, walk.arrives];
}

/** The plainest counterexample: a connection's first packet, of UDP, from host to host. Such a packet can be played. */
export async function exampleFor({ question, conditions }: Answer): Promise<Model | null> {
  const { packet } = question.walk;
  const { start, isFirst, mac } = packet;
  const lastByte = slice(start.src, 7, 0);
  const far = addressBits(packet.family === 4 ? "203.0.113.77" : "2001:db8:77::77");
  const plain = [
    ...[isFirst, isProtocol(packet, UDP), packet.hasPorts, same(mac, PLAIN_MAC), same(start.dst, far)],
    ...[same(start.dport, DISCARD), atLeast(lastByte, 20), atMost(lastByte, 200)],
  ];
  for (const more of [plain, [isFirst], []]) {
    const example = await exampleOf([...conditions, ...more]);
    if (example !== null) return example;
  }
  return null;
}

export function questionsOf(state: State, layer: Layer): Question[] {
  return questionsIn(walksOf(state, layer), state, layer);
}

/** What does not hold and should, by layer. */
export function failed(answers: readonly Answer[]): string[] {
  return answers.filter(({ holds }) => !holds).map(({ question, layer }) => `${layer}: ${nameOf(question)}`);
}

/** The questions that the firewall of a state fails, whatever the routing. */
export async function refuted(state: State): Promise<string[]> {
  const { answers } = await ask(state, "the firewall alone");
  return answers.flatMap(({ question, holds }) => (holds ? [] : nameOf(question)));
}

function walksOf(state: State, layer: Layer): Walks {
  const policies = [state.policy, ...(state.before === undefined ? [] : [state.before.policy])];
  return new Walks(machineOf(state, layer), policies);
}

function questionsIn(walks: Walks, { policy, before }: State, layer: Layer): Question[] {
  const asks = layer === "routing alone" ? OF_ROUTING : before === undefined ? OF_BOTH : OF_TRANSITION;
  return ([4, 6] as const).flatMap((family) => asks.flatMap((each) => each(walks, policy, family)));
}
