import { type Change, change } from "./change.ts";
import { type BaseChain, hooked, type Machine } from "./machine.ts";
import { isMet, type Seen, verdictsFor } from "./match.ts";
import { hasConnection, type Packet } from "./packet.ts";
import type { Hook, Rule, Statement, Verdict } from "./ruleset.ts";
import { both, either, FALSE, no, type Term, TRUE, Unknown, unknownsOf } from "./terms.ts";
import { canTranslate, translate } from "./translation.ts";

// A packet through nftables' chains: what they do with it, and under which condition it goes on.

/** Chains without end are a mistake in the text. */
const MAX_DEPTH = 16;

/** The chains of one type at a hook, within these priorities. */
export function passFilters(
  machine: Machine,
  packet: Packet,
  alive: Term,
  {
    hook,
    oif,
    from = -Infinity,
    below = Infinity,
  }: { hook: Hook["name"]; oif: string | null; from?: number; below?: number },
): Term {
  const chains = hooked(machine, hook, "filter").filter(
    ({ hook: { priority } }) => priority >= from && priority < below,
  );
  return chains.reduce((left, chain) => new Pass({ machine, packet, oif }, chain).base(left), alive);
}

/** All NAT chains of a hook see a connection's first packet only; the first that translates it is the last. */
export function passNat(
  machine: Machine,
  packet: Packet,
  alive: Term,
  hook: Hook["name"],
  oif: string | null,
): Term {
  packet.isTranslated = FALSE;
  return hooked(machine, hook, "nat").reduce((left, chain) => {
    const runs = both(left, hasConnection(packet), packet.isFirst, no(packet.isTranslated));
    const passed = new Pass({ machine, packet, oif }, chain).base(runs);
    return either(both(left, no(runs)), passed);
  }, alive);
}

/** One packet in one base chain and where it leads. */
class Pass {
  private readonly accepted: Term[] = [];

  constructor(
    private readonly seen: Seen,
    private readonly start: BaseChain,
  ) {}

  base(guard: Term): Term {
    const end = this.chain(this.start.name, guard, 0);
    return either(...this.accepted, ...(this.start.hook.policy === "accept" ? [end] : []));
  }

  /** The condition under which the chain ends without a verdict. */
  private chain(name: string, begin: Term, depth: number): Term {
    const chain = this.seen.machine.ruleset?.chains.get(name);
    if (chain === undefined || depth > MAX_DEPTH) throw new Unknown(`the chain ${name}`);
    let guard = begin;
    const returned: Term[] = [];
    for (const rule of chain.rules) {
      if (guard === FALSE) break;
      try {
        guard = unknownsOf(rule.text, () => this.rule(rule, guard, returned, depth));
      } catch (error) {
        if (!(error instanceof Unknown) || error.message.startsWith("line")) throw error;
        throw new Unknown(`line ${rule.line}: ${rule.text}: ${error.message}`);
      }
    }
    return either(guard, ...returned);
  }

  /** The condition under which the next rule is reached. */
  private rule({ statements }: Rule, guard: Term, returned: Term[], depth: number): Term {
    let [here, next] = [guard, FALSE];
    for (const statement of statements) {
      if (here === FALSE) break;
      if (statement.kind === "vmap") {
        for (const { met, verdict } of verdictsFor(statement, this.seen)) {
          next = either(next, this.verdict(verdict, both(here, met), returned, depth));
          here = both(here, no(met));
        }
        continue;
      }
      const met = this.goesOn(statement, here);
      next = either(next, both(here, no(met)));
      here = both(here, met);
      if (statement.kind !== "verdict") continue;
      next = either(next, this.verdict(statement.verdict, here, returned, depth));
      here = FALSE;
    }
    return either(next, here);
  }

  private goesOn(statement: Exclude<Statement, { kind: "vmap" }>, here: Term): Term {
    if (statement.kind === "match") return isMet(statement, this.seen);
    if (statement.kind !== "verdict") return change(statement satisfies Change, here, this.seen);
    const { verdict } = statement;
    return verdict.kind === "dnat" || verdict.kind === "masquerade" ? canTranslate(verdict, this.seen) : TRUE;
  }

  /** The condition under which the rules after it are reached. */
  private verdict(verdict: Verdict, here: Term, returned: Term[], depth: number): Term {
    switch (verdict.kind) {
      case "accept":
        this.accepted.push(here);
        return FALSE;
      case "drop":
      case "reject":
        // The rejection itself is a packet of the gateway's own.
        return FALSE;
      case "return":
        returned.push(here);
        return FALSE;
      case "jump":
        return this.chain(verdict.chain, here, depth + 1);
      case "goto":
        returned.push(this.chain(verdict.chain, here, depth + 1));
        return FALSE;
      case "dnat":
      case "masquerade":
        this.accepted.push(translate(verdict, here, this.start, this.seen));
        return FALSE;
    }
  }
}
