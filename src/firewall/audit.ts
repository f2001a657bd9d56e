/** What each chain must end with, whatever is in front of it: the kill switch stands by these. */
const FINAL_RULES: Record<string, RegExp> = {
  input: /^drop\b/,
  forward: /^reject\b/,
  output: /^reject\b/,
};

/** Reads `nft -s list table inet portcullis`: whether each chain is hooked, drops by policy and ends in its final rule. */
export function finalRulesStand(listing: string): boolean {
  return Object.entries(FINAL_RULES).every(([name, final]) => {
    const rules = chainIn(listing, name);
    return (
      rules[0]?.startsWith(`type filter hook ${name} `) === true &&
      rules[0].includes("policy drop;") &&
      final.test(rules.at(-1) ?? "")
    );
  });
}

function chainIn(listing: string, name: string): string[] {
  const lines = listing.split("\n").map((line) => line.trim());
  const start = lines.indexOf(`chain ${name} {`);
  if (start < 0) return [];
  return lines.slice(start + 1, lines.indexOf("}", start));
}
