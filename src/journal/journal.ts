import { checkerOf } from "../checker.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Store, StoredEvent } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { type Happening, JournalEntry, type JournalPage } from "./schema.ts";

interface Deps {
  clock: Pick<Host, "now" | "sleep">;
  store: Pick<Store, "addEvents" | "events" | "eventsDuring">;
  log: Pick<Log, "warn">;
}

/** Weeks of an eventful home; some 2 MB. */
const MOST_KEPT = 10_000;
/** Each write waits for the disk, and events come in groups. */
const WRITE_AFTER_MS = 500;
/** While the disk takes no writes. */
const MOST_UNWRITTEN = 1_000;
/** For a disk that is full. */
const WRITE_AGAIN_MS = 60_000;

const entrySchema = checkerOf(JournalEntry);

/** The alerts and the tunnels' changes of state, kept over restarts. */
export class Journal {
  private unwritten: StoredEvent[] = [];
  private isWriting = false;
  private hasFailed = false;

  constructor(private readonly deps: Deps) {}

  add(happening: Happening): void {
    this.unwritten.push({ at: Math.round(this.deps.clock.now()), content: JSON.stringify(happening) });
    this.unwritten.splice(0, Math.max(0, this.unwritten.length - MOST_UNWRITTEN));
    void this.writeSoon();
  }

  /** The latest ones in the range, at most `most`. */
  page(range: { after: number; before: number; most: number }): JournalPage {
    this.write();
    const { most } = range;
    const found = this.deps.store.events({ ...range, most: most + 1 });
    return { events: found.slice(-most).flatMap((row) => entryIn(row) ?? []), more: found.length > most };
  }

  /** The latest ones of a time, oldest first, and the last state of each tunnel before the first of them. */
  during(range: { from: number; to: number; most: number }): {
    events: JournalEntry[];
    before: JournalEntry[];
    more: boolean;
  } {
    this.write();
    const { most } = range;
    const { events, before } = this.deps.store.eventsDuring({ ...range, most });
    const entriesIn = (rows: typeof events) => rows.flatMap((row) => entryIn(row) ?? []);
    return { events: entriesIn(events), before: entriesIn(before), more: events.length === most };
  }

  /** Writes what is not written yet; a disk that takes no writes is said once. */
  write(): void {
    if (this.unwritten.length === 0) return;
    try {
      this.deps.store.addEvents(this.unwritten, MOST_KEPT);
      this.unwritten = [];
      this.hasFailed = false;
    } catch (error) {
      if (!this.hasFailed) this.deps.log.warn(`the journal could not be written: ${messageOf(error)}`);
      this.hasFailed = true;
    }
  }

  private async writeSoon(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.unwritten.length > 0) {
      await this.deps.clock.sleep(this.hasFailed ? WRITE_AGAIN_MS : WRITE_AFTER_MS);
      this.write();
    }
    this.isWriting = false;
  }
}

/** Null if this version cannot read it. */
function entryIn({ id, at, content }: { id: number } & StoredEvent): JournalEntry | null {
  const entry: unknown = { id, at: new Date(at).toISOString(), ...JSON.parse(content) };
  return entrySchema.Check(entry) ? entry : null;
}
