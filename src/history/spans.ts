import type { JournalEntry } from "../journal/schema.ts";
import type { Span } from "./schema.ts";

type Change = Extract<JournalEntry, { type: "tunnel_state" }>;

/**
 * How long the tunnels were in which state, by the beginning of each span. A tunnel that is `gone` is in no state any
 * more.
 */
export function spansOf(entries: readonly JournalEntry[], tunnels: ReadonlySet<string>): Span[] {
  const changes = entries.filter((entry): entry is Change => entry.type === "tunnel_state");
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  for (const { id, type, at, moved: _, ...change } of changes) {
    const last = open.get(change.tunnel);
    // After a restart of the service, the same state occurs again.
    if (last !== undefined && Bun.deepEquals(last, { ...change, from: last.from, until: null })) continue;
    // The clock may have been moved back.
    if (last !== undefined) last.until = [at, last.from].toSorted().at(-1) ?? at;
    const span: Span = { ...change, from: at, until: null };
    open.set(change.tunnel, span);
    spans.push(span);
  }
  return spans.filter(({ tunnel, until }) => until !== null || tunnels.has(tunnel));
}
