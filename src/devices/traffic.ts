import { type Address, contains, type Prefix } from "../base/address.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import {
  type Count,
  type Counts,
  type Links,
  loadCounters,
  MAX_COUNTED,
  readCounters,
  replaceCounters,
} from "../network/counters.ts";
import type { Host } from "../system/host.ts";
import { Reading } from "../system/reading.ts";

/** Bytes that the gateway has forwarded, as the device sees them. */
export interface Figures {
  rx: number;
  tx: number;
}

interface Deps<Id> {
  host: Pick<Host, "run" | "monotonic">;
  /** The device that has the address now. */
  ownerOf: (address: Address) => Id | null;
  /** All devices; figures of others are dropped. */
  ids: () => readonly Id[];
  /** Called with the bytes that a device has carried between two readings of the same address. */
  onCarried?: (id: Id, carried: Figures) => void;
  log: Pick<Log, "warn">;
}

/** The kernel's table is not read more often than this, however many clients ask. */
const READ_EVERY_MS = 1_000;

const NONE: Figures = { rx: 0, tx: 0 };

/**
 * The bytes that each device has sent and received. The kernel counts by address. What an address has carried since the
 * last reading is credited to the device that has the address now.
 */
export class Traffic<Id> {
  private readonly figures = new Map<Id, Figures>();
  private credited: { table: number; counts: ReadonlyMap<Address, Figures> } = {
    table: 0,
    counts: new Map(),
  };
  /** The addresses that were in the table when it was read last, and when that was. */
  private latest: { counts: readonly Count[]; at: number } = { counts: [], at: 0 };
  private links: Links = { lans: [], remote: null, uplink: null };
  /** The interfaces of the table in the kernel, as far as they are known. */
  private loaded: Links | null = null;
  private readonly reading: Reading<void>;
  /** A listing that came late must not replace a newer one. */
  private readonly queue = new Queue();
  private isFaulty = false;

  constructor(private readonly deps: Deps<Id>) {
    this.reading = new Reading(deps.host, READ_EVERY_MS);
  }

  of(id: Id): Figures {
    return this.figures.get(id) ?? NONE;
  }

  /** The bytes of the devices that have any, from the last reading. */
  get all(): ReadonlyMap<Id, Figures> {
    return this.figures;
  }

  /** The addresses of a network that have sent something within a day, the latest first. */
  heardIn(prefix: Prefix): { address: Address; heardAt: number }[] {
    const { counts, at } = this.latest;
    return counts
      .flatMap(({ address, heardMsAgo }) =>
        heardMsAgo === null || !contains(prefix, address) ? [] : [{ address, heardAt: at - heardMsAgo }],
      )
      .sort((a, b) => b.heardAt - a.heardAt);
  }

  /** Takes effect with the next reading. */
  linksAre(links: Links): void {
    this.links = links;
    this.reading.forget();
  }

  /** The table may have been removed. */
  async check(): Promise<void> {
    if (this.loaded === null) return;
    this.reading.forget();
    await this.read();
  }

  /**
   * Reads the figures, and makes the table if it is missing. Never throws, because figures are not important enough for
   * a failure.
   */
  read(): Promise<void> {
    return this.reading.get(() =>
      this.queue
        .add(() => this.renew())
        .then(
          () => {
            this.isFaulty = false;
          },
          (error: unknown) => {
            if (!this.isFaulty)
              this.deps.log.warn(`the traffic of devices cannot be counted: ${messageOf(error)}`);
            this.isFaulty = true;
          },
        ),
    );
  }

  private async renew(): Promise<void> {
    const { host } = this.deps;
    const { links } = this;
    const counts = Bun.deepEquals(links, this.loaded) ? await readCounters(host) : null;
    if (counts === null) {
      this.loaded = null;
      await loadCounters(host, links);
      this.loaded = links;
    }
    const current = counts ?? (await readCounters(host));
    if (current === null) return;
    this.take(current);
    // Otherwise no new address would be counted for a day.
    if (current.counts.length >= MAX_COUNTED) await replaceCounters(host, links);
  }

  private take({ table, counts }: Counts): void {
    const before = this.credited.table === table ? this.credited.counts : new Map<Address, Figures>();
    const after = new Map<Address, Figures>();
    // The bytes in the table before the first reading were carried at some other time.
    const isFirst = this.credited.table === 0;
    const isSame = this.credited.table === table;
    const last = new Map(this.latest.counts.map((count) => [count.address, count]));
    for (const { address, sent: tx, received: rx } of counts) {
      const done = before.get(address) ?? NONE;
      const id = this.deps.ownerOf(address);
      // It is credited once a device has the address.
      if (id === null) after.set(address, done);
      else {
        after.set(address, { rx, tx });
        const { rx: rxBefore, tx: txBefore } = this.of(id);
        this.figures.set(id, { rx: rxBefore + since(done.rx, rx), tx: txBefore + since(done.tx, tx) });
        const read = isSame ? last.get(address) : undefined;
        if (!isFirst)
          this.deps.onCarried?.(id, { rx: since(read?.received ?? 0, rx), tx: since(read?.sent ?? 0, tx) });
      }
    }
    this.credited = { table, counts: after };
    this.latest = { counts, at: this.deps.host.monotonic() };
    const known = new Set(this.deps.ids());
    for (const id of this.figures.keys()) if (!known.has(id)) this.figures.delete(id);
  }
}

/** An element that has timed out meanwhile counts from zero again. */
function since(before: number, now: number): number {
  return now < before ? now : now - before;
}
