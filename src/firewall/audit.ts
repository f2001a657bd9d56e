/** The rules of each chain as nft spells them, the chain's type and policy first. */
export type Chains = ReadonlyMap<string, readonly string[]>;

/** What each chain must end with, whatever is in front of it: the kill switch stands by these. */
export const FINAL_RULES = {
  input: /^drop\b/,
  // An earlier version of this program refuses here, which blocks as well.
  forward: /^(drop|reject)\b/,
  output: /^reject\b/,
} as const;

/** Reads `nft -s list table inet portcullis`: whether each chain is hooked, drops by policy and ends in its final rule. */
export function finalRulesStand(listing: string): boolean {
  const chains = chainsListed(listing);
  return (Object.keys(FINAL_RULES) as (keyof typeof FINAL_RULES)[]).every((name) =>
    endsInRefusal(chains, name),
  );
}

export function endsInRefusal(chains: Chains, name: keyof typeof FINAL_RULES): boolean {
  const [head, ...rules] = chains.get(name) ?? [];
  return (
    head?.startsWith(`type filter hook ${name} `) === true &&
    head.includes("policy drop;") &&
    FINAL_RULES[name].test(rules.at(-1) ?? "")
  );
}

/** The chains in the output of `nft -s list table`. */
export function chainsListed(listing: string): Chains {
  const chains = new Map<string, string[]>();
  let rules: string[] | null = null;
  for (const line of listing.split("\n").map((one) => one.trim())) {
    const name = /^chain (\S+) \{$/.exec(line)?.[1];
    if (name !== undefined) {
      rules = [];
      chains.set(name, rules);
    } else if (line === "}") rules = null;
    else if (line !== "") rules?.push(line);
  }
  return chains;
}

/** The chains in what `nft -e -s -f -` echoes of the table that it has loaded, spelled as a listing spells them. */
export function chainsEchoed(echo: string): Chains {
  const chains = new Map<string, string[]>();
  for (const line of echo.split("\n")) {
    const chain = /^add chain \S+ \S+ (\S+) \{ (.*) \}$/.exec(line);
    if (chain) chains.set(chain[1] ?? "", [chain[2] ?? ""]);
    // Now and then nft 1.0.6 puts the rule's number in front of it.
    const rule = /^add rule \S+ \S+ (\S+) (?:handle \d+ )?(.*)$/.exec(line);
    if (rule) chains.get(rule[1] ?? "")?.push(rule[2] ?? "");
  }
  return chains;
}

export function sameChains(a: Chains, b: Chains): boolean {
  return (
    a.size === b.size &&
    [...a].every(([name, rules]) =>
      Bun.deepEquals(rules.map(withSetsSorted), b.get(name)?.map(withSetsSorted)),
    )
  );
}

/** nft lists the elements of a set in an order of its own. */
function withSetsSorted(rule: string): string {
  return rule.replace(
    /\{ ([^{}]*) \}/g,
    (_, elements: string) => `{ ${elements.split(", ").sort().join(", ")} }`,
  );
}
