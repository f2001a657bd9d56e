import { checkerOf } from "../base/checker.ts";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import type { StoredEvent } from "../store/event-rows.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { JournalEntry, type JournalPage, type NewJournalEntry } from "./schema.ts";

interface Deps {
  clock: Pick<Host, "now" | "sleep">;
  store: Pick<Store, "addEvents" | "eventIds" | "events" | "eventsDuring">;
  log: Pick<Log, "warn">;
}

/**
 * Weeks of an eventful home; some 2 MB. Anyone on the LAN can connect and disconnect, which must not push out the
 * alerts.
 */
const MAX_KEPT: Readonly<Record<Kind, number>> = { alerts: 2_000, others: 8_000 };
/** Each write waits for the disk, and events come in groups. */
const WRITE_AFTER_MS = 500;
/** The limit while the disk accepts no writes. */
const MAX_UNWRITTEN: Readonly<Record<Kind, number>> = { alerts: 500, others: 500 };
/** The limit for a disk that is full. */
const WRITE_AGAIN_MS = 60_000;

type Kind = "alerts" | "others";
const KINDS = ["alerts", "others"] as const;
/** Occurs in the text of each alert, and nowhere else, because quotation marks within a text are escaped. */
const ALERT = '"security_alert"';

const entrySchema = checkerOf(JournalEntry);

/** The alerts and the tunnels' changes of state, kept over restarts. */
export class Journal {
  private unwritten: StoredEvent[] = [];
  /** The ids in the database, oldest first; null before the database was asked. */
  private written: Readonly<Record<Kind, readonly number[]>> | null = null;
  private lastId: number | null = null;
  private isWriting = false;
  private readonly fault = new Fault("the journal could not be written");
  private hasDamage = false;

  constructor(private readonly deps: Deps) {}

  add(happening: NewJournalEntry): void {
    this.lastId ??= this.deps.store.events({ ...ALL, most: 1 })[0]?.id ?? 0;
    this.lastId += 1;
    const at = Math.round(this.deps.clock.now());
    this.unwritten.push({ id: this.lastId, at, content: JSON.stringify(happening) });
    for (const kind of KINDS) {
      const [surplus] = this.unwritten
        .filter((event) => kindOf(event) === kind)
        .slice(0, -MAX_UNWRITTEN[kind]);
      if (surplus !== undefined) this.unwritten.splice(this.unwritten.indexOf(surplus), 1);
    }
    void this.writeSoon();
  }

  /** The latest events in the range, at most `most`. */
  page(range: { after: number; before: number; most: number }): JournalPage {
    const { after, before, most } = range;
    const stored = this.deps.store.events({ ...range, most: most + 1 });
    const found = [...stored, ...this.unwritten.filter(({ id }) => id > after && id < before)];
    return { events: this.entriesIn(found.slice(-most)), more: found.length > most };
  }

  /** The latest events of a time, oldest first, and the last state of each tunnel before the first of them. */
  during(range: { from: number; to: number; most: number }): {
    events: JournalEntry[];
    before: JournalEntry[];
    more: boolean;
  } {
    const { from, to, most } = range;
    const stored = this.deps.store.eventsDuring(range);
    const unwritten = this.unwritten.filter(({ at }) => at < to);
    const all = [...stored.events, ...unwritten.filter(({ at }) => at >= from)];
    const earlier = [...stored.before, ...all.slice(0, -most), ...unwritten.filter(({ at }) => at < from)];
    const before = new Map<string, JournalEntry>();
    for (const entry of this.entriesIn(earlier))
      if (entry.type === "tunnel_state") before.set(entry.tunnel, entry);
    return {
      events: this.entriesIn(all.slice(-most)),
      before: [...before.values()],
      more: all.length >= most,
    };
  }

  /** Writes the events that are not written yet. A disk that accepts no writes is reported once. */
  write(): void {
    if (this.unwritten.length === 0) return;
    this.fault.attempt(this.deps.log, () => {
      this.written ??= this.storedIds();
      const after = { ...this.written };
      for (const event of this.unwritten) after[kindOf(event)] = [...after[kindOf(event)], event.id];
      const surplus = KINDS.flatMap((kind) => after[kind].slice(0, -MAX_KEPT[kind]));
      this.deps.store.addEvents(this.unwritten, surplus);
      this.written = {
        alerts: after.alerts.slice(-MAX_KEPT.alerts),
        others: after.others.slice(-MAX_KEPT.others),
      };
      this.unwritten = [];
    });
  }

  private storedIds(): Record<Kind, readonly number[]> {
    const { containing: alerts, others } = this.deps.store.eventIds(ALERT);
    return { alerts, others };
  }

  /** The events without those that this version cannot read. Damaged ones are reported once. */
  private entriesIn(rows: readonly StoredEvent[]): JournalEntry[] {
    return rows.flatMap((row) => {
      try {
        return entryIn(row) ?? [];
      } catch {
        if (!this.hasDamage) this.deps.log.warn(`event ${row.id} of the journal is damaged and left out`);
        this.hasDamage = true;
        return [];
      }
    });
  }

  private async writeSoon(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.unwritten.length > 0) {
      await this.deps.clock.sleep(this.fault.lasts ? WRITE_AGAIN_MS : WRITE_AFTER_MS);
      this.write();
    }
    this.isWriting = false;
  }
}

const ALL = { after: 0, before: Number.MAX_SAFE_INTEGER };

function kindOf({ content }: StoredEvent): Kind {
  return content.includes(ALERT) ? "alerts" : "others";
}

/** Null if this version does not know the event. Throws if it is damaged: not JSON, or not a valid time. */
function entryIn({ id, at, content }: StoredEvent): JournalEntry | null {
  const entry: unknown = { id, at: new Date(at).toISOString(), ...JSON.parse(content) };
  return entrySchema.Check(entry) ? entry : null;
}
