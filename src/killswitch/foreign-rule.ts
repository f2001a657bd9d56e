import type { AlertArgs } from "../base/alert-rows.ts";
import type { Rule } from "./routing-rules.ts";

/** Rules before ours, and how to remove them; null without such rules. */
export function bypassIn(ahead: readonly Rule[]): AlertArgs<"foreign_rule"> | null {
  if (ahead.length === 0) return null;
  const rules = ahead.map(({ priority, text }) => `${priority} ${text}`).join(", ");
  if (ahead.some(isFromWgQuick)) return { what: "wg_quick", rules };
  return { what: "rule", rules, remedy: removalOf(ahead) };
}

/** The command that removes them. */
export function removalOf(ahead: readonly Rule[]): string {
  // Ending the program also reverts its other changes.
  if (ahead.some(isFromWgQuick)) return "sudo wg-quick down, with the name of its interface";
  const commands = ahead.map(
    ({ family, priority }) => `sudo ip ${family === 6 ? "-6 " : ""}rule del priority ${priority}`,
  );
  return commands.join("; ");
}

/** Its table has the same number as the mark of its own packets. */
function isFromWgQuick({ text }: Rule): boolean {
  const [, mark, table] = /^not fwmark (\w+) lookup (\d+)$/.exec(text) ?? [];
  return mark !== undefined && Number(mark) === Number(table);
}
