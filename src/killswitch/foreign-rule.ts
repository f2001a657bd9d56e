import type { Rule } from "./routing-rules.ts";

/** The effect of rules before ours, and how to remove them; null without such rules. */
export function bypassIn(ahead: readonly Rule[]): string | null {
  if (ahead.length === 0) return null;
  const rules = ahead.map(({ priority, text }) => `${priority} ${text}`).join(", ");
  const commands = ahead.map(
    ({ family, priority }) => `ip ${family === 6 ? "-6 " : ""}rule del priority ${priority}`,
  );
  // What else it has changed ends with it.
  const remedy = ahead.some(isFromWgQuick)
    ? "wg-quick down, with the name of its interface"
    : commands.join("; ");
  return `A routing rule of another program comes before the kill switch's, so only the firewall blocks: ${rules}; to remove it: ${remedy}`;
}

/** Its table has the number of the mark of its own packets. */
function isFromWgQuick({ text }: Rule): boolean {
  const [, mark, table] = /^not fwmark (\w+) lookup (\d+)$/.exec(text) ?? [];
  return mark !== undefined && Number(mark) === Number(table);
}
