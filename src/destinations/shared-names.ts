import type { HostName } from "../base/address.ts";
import type { Rule } from "./rules.ts";

/** A larger number says no more. */
const MAX_NAMES = 1_024;

/** How many other names devices have asked for that have an address which a rule leads outside the tunnel. */
export class SharedNames {
  /** By the id of the rule: hashes, so that nothing reveals what was asked. */
  private readonly byRule = new Map<string, Set<bigint | number>>();

  note({ id }: Rule, name: HostName): void {
    const known = this.byRule.get(id) ?? new Set();
    if (known.size < MAX_NAMES) this.byRule.set(id, known.add(Bun.hash(name)));
  }

  count({ id }: Rule): number {
    return this.byRule.get(id)?.size ?? 0;
  }

  keepOnly(rules: readonly Rule[]): void {
    const kept = new Set(rules.map(({ id }) => id));
    for (const id of this.byRule.keys()) if (!kept.has(id)) this.byRule.delete(id);
  }
}
