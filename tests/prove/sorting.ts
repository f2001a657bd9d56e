import type { Policy } from "../../src/killswitch/policy.ts";
import { type Kind, type Mutant, OF_ROUTING } from "./mutants.ts";
import { ask, goes, type Learned, nameOf, type Proof } from "./proof.ts";
import { answersTo, Undecided } from "./solver.ts";
import type { Layer, State } from "./state.ts";
import { both, FALSE, no, same, type Term, Unknown } from "./terms.ts";
import type { Walk, Way } from "./walk.ts";
import { placesOf, propertyOf } from "./ways-named.ts";

// What a mistake in a text does, decided by the solver.

export const SORTS = [
  /** A packet takes a way that the policy does not name. */
  "refuted",
  /** What must be possible is not. */
  "nothing moves",
  /** The same packets take the same ways. */
  "the same",
  /** Nothing takes a way that it does not take without the mistake. */
  "stricter",
  /** More goes only between devices and the gateway. */
  "inside",
  /** More leaves or comes in, and a property names all that may go that way. */
  "named",
  /** No property does: more should have been asked. */
  "unnamed",
  "undecided",
] as const;

export type Sort = (typeof SORTS)[number];

export interface Sorted {
  sort: Sort;
  /** The question that refutes it, or the ways by which more goes. */
  by: readonly string[];
}

/** Whether a mistake may go through the proof. */
export function isHole(sort: Sort): boolean {
  return sort === "unnamed" || sort === "undecided";
}

/** A text without a mistake, which is asked once. */
export class Original {
  private readonly proofs = new Map<Layer, Promise<Proof>>();

  constructor(readonly state: State) {}

  async sort({ kind, state }: Mutant): Promise<Sorted> {
    const layer = layerOf(kind);
    const right = this.proofs.get(layer) ?? ask(this.state, layer);
    this.proofs.set(layer, right);
    try {
      return await sortedBy(await right, await ask(state, layer), state.policy);
    } catch (error) {
      // A proof fails where the model does not know what a rule means.
      if (error instanceof Unknown) return { sort: "refuted", by: [error.message] };
      if (error instanceof Undecided) return { sort: "undecided", by: [error.message] };
      throw error;
    }
  }
}

/** The firewall alone holds with any routing: what mistakes in routing rules do is seen without it. */
function layerOf(kind: Kind): Layer {
  return OF_ROUTING.some((each) => each === kind) ? "routing alone" : "the firewall alone";
}

async function sortedBy(right: Proof, wrong: Proof, policy: Policy): Promise<Sorted> {
  const broken = wrong.answers.filter(({ holds }) => !holds).map(({ question }) => question);
  const leaks = broken.filter(({ property }) => property !== "possible");
  if (leaks.length > 0) return { sort: "refuted", by: leaks.map(nameOf) };
  if (broken.length > 0) return { sort: "nothing moves", by: broken.map(nameOf) };
  const [ways, rightWays] = [wrong.walks.all(), right.walks.all()];
  const more = await beyond(ways, rightWays, wrong.learned);
  if (more.length === 0) {
    const fewer = await beyond(rightWays, ways, right.learned);
    return { sort: fewer.length === 0 ? "the same" : "stricter", by: fewer };
  }
  const found = more.flatMap((name) => ways.get(name) ?? []);
  return { sort: sortOf(found, policy), by: [...new Set(found.map((way) => placesOf(policy, way)))] };
}

export function sortOf(ways: readonly Pick<Way, "iif" | "oif">[], policy: Policy): Sort {
  if (ways.some((way) => propertyOf(policy, way) === null)) return "unnamed";
  return ways.every((way) => propertyOf(policy, way) === "inside") ? "inside" : "named";
}

/** The ways by which a packet goes that does not go by the other's, or not with the same addresses and ports. */
async function beyond(
  ways: ReadonlyMap<string, Way>,
  others: ReadonlyMap<string, Way>,
  learned: Learned,
): Promise<string[]> {
  const open = [...ways].flatMap(([name, { walk }]) => {
    const other = others.get(name)?.walk;
    const here = [...walk.assumed, walk.arrives];
    const goesThere =
      other === undefined ? FALSE : both(...other.assumed, other.arrives, areAlike(walk, other));
    const conditions = [...goes(walk, learned), no(goesThere)];
    return goesThere === both(...here) || both(...here) === FALSE ? [] : { name, conditions };
  });
  const found = await answersTo(open.map(({ conditions }) => conditions));
  return open.flatMap(({ name }, at) => (found[at] ? name : []));
}

/** In what is seen of them outside. */
function areAlike({ packet: one }: Walk, { packet: other }: Walk): Term {
  return both(
    ...[same(one.src, other.src), same(one.dst, other.dst)],
    ...[same(one.sport, other.sport), same(one.dport, other.dport)],
  );
}
