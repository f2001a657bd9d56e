import type { Routing } from "./routing.ts";
import type { Chain, Hook, Ruleset, Statement } from "./ruleset.ts";

// One gateway: the texts that are in its kernel, and its links.

export interface Machine {
  ruleset: Ruleset | null;
  /** The one before, by which connections that are still known may have been translated. */
  earlier: Ruleset | null;
  routing: Routing;
  /** By interface; those without MAC addresses are tunnels and the loopback. */
  links: ReadonlyMap<string, Link>;
}

export interface Link {
  isEther: boolean;
  addresses: readonly string[];
  /** Of IPv4: for these, the local table has routes by the link. */
  broadcasts: readonly bigint[];
}

export type BaseChain = Chain & { hook: Hook };

/** In the order of their priorities. */
export function hooked({ ruleset }: Machine, hook: Hook["name"], type: Hook["type"]): BaseChain[] {
  const chains = [...(ruleset?.chains.values() ?? [])].filter(
    (chain): chain is BaseChain => chain.hook?.name === hook && chain.hook.type === type,
  );
  return chains.sort((a, b) => a.hook.priority - b.hook.priority);
}

/** Of both rulesets, since connections of either are known. */
export function statementsOf({ ruleset, earlier }: Machine): Statement[] {
  return [ruleset, earlier].flatMap(statementsIn);
}

export function statementsIn(ruleset: Ruleset | null): Statement[] {
  return [...(ruleset?.chains.values() ?? [])].flatMap(({ rules }) =>
    rules.flatMap((rule) => rule.statements),
  );
}
