import type { GatewayEvent } from "../../../src/http/event.ts";
import type { JournalEntry } from "../../../src/journal/schema.ts";
import { call } from "../tools/request.ts";
import { until } from "../tools/until.ts";
import { Listener } from "./listener.ts";

/** A busy machine is slow. */
const PATIENCE_MS = 120_000;

/** WebSockets that stay open, and the journal as the judge of what they hear. */
export class Listeners {
  /** Events of the journal that were looked for in what each socket heard. */
  compared = 0;
  private readonly all: readonly Listener[];
  private lastEvent = 0;
  private lastClosed = 0;

  constructor(
    private readonly port: number,
    count: number,
  ) {
    this.all = Array.from({ length: count }, () => new Listener(port));
  }

  get heard(): number {
    return this.all.reduce((sum, { count }) => sum + count, 0);
  }

  get closed(): number {
    return this.all.reduce((sum, { closed }) => sum + closed, 0);
  }

  /**
   * What is wrong since the last quiet moment, if the service has lived since: it closes no socket, and each hears of
   * everything that the journal has.
   */
  async settle(hasLived: boolean): Promise<string[]> {
    const wrong = hasLived && this.closed > this.lastClosed ? ["a WebSocket was closed"] : [];
    await until(() => this.all.every(({ isOpen }) => isOpen), PATIENCE_MS).catch(() =>
      wrong.push("a WebSocket could not be opened again"),
    );
    const counts = this.all.map(({ heard }) => heard.length);
    const entries = await this.eventsSince(this.lastEvent);
    if (hasLived) wrong.push(...(await this.deafTo(entries)));
    if (hasLived) this.compared += entries.length;
    this.lastEvent = entries.at(-1)?.id ?? this.lastEvent;
    this.lastClosed = this.closed;
    // What came after the journal was read may belong to its next events.
    for (const [index, listener] of this.all.entries()) listener.forget(counts[index] ?? 0);
    return wrong;
  }

  stop(): void {
    for (const listener of this.all) listener.stop();
  }

  /** What is published soon after it is in the journal. */
  private async deafTo(entries: readonly JournalEntry[]): Promise<string[]> {
    const deaf = await Promise.all(
      this.all.map(({ heard }, index) =>
        until(() => unheard(entries, heard) === null, PATIENCE_MS).then(
          () => [],
          () => [`WebSocket ${index + 1} did not hear of: ${unheard(entries, heard)}`],
        ),
      ),
    );
    return deaf.flat();
  }

  private async eventsSince(id: number): Promise<JournalEntry[]> {
    const answer = await call(this.port, "GET", `/api/events?limit=500&since=${id}`);
    if (answer?.status !== 200) throw new Error(`the journal cannot be read: ${JSON.stringify(answer)}`);
    return answer.body.events;
  }
}

/** What the journal has and a socket reports, as comparable texts; null if this kind of message does not report it. */
interface Kind {
  inJournal(entry: JournalEntry): string | null;
  onSocket(event: GatewayEvent): string | null;
}

const KINDS: readonly Kind[] = [
  {
    inJournal: (entry) => (entry.type === "security_alert" ? `alert ${entry.code} ${entry.message}` : null),
    onSocket: ({ type, payload }) =>
      type === "security_alert" ? `alert ${payload.code} ${payload.message}` : null,
  },
  {
    inJournal: (entry) => (entry.type === "tunnel_state" ? `${entry.tunnel} ${entry.state}` : null),
    onSocket: ({ type, payload }) => (type === "tunnel_update" ? `${payload.name} ${payload.state}` : null),
  },
  {
    inJournal: (entry) =>
      entry.type === "tunnel_state" && entry.tunnel === "main" ? `status ${entry.state}` : null,
    onSocket: ({ type, payload }) => (type === "status_change" ? `status ${payload.state}` : null),
  },
];

/** The first event of the journal that a socket, which was open all the time, did not hear; null if it heard all. */
export function unheard(entries: readonly JournalEntry[], heard: readonly GatewayEvent[]): string | null {
  for (const { inJournal, onSocket } of KINDS) {
    const missing = firstMissing(entries.map(inJournal), heard.map(onSocket));
    if (missing !== null) return missing;
  }
  return null;
}

/** The first of some texts that is not among others in their order; nulls count for nothing. */
function firstMissing(texts: readonly (string | null)[], among: readonly (string | null)[]): string | null {
  let from = 0;
  for (const text of texts) {
    if (text === null) continue;
    const at = among.indexOf(text, from);
    if (at < 0) return text;
    from = at + 1;
  }
  return null;
}
