import { type Static, Type } from "typebox";
import { type Address, contains, type Prefix, prefixOf } from "../base/address.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import { objectOf } from "../base/object.ts";
import { Queue } from "../base/queue.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import {
  COUNTERS_TABLE,
  type Counted,
  type Counts,
  countersFor,
  type Links,
  readCounters,
} from "../network/counters.ts";
import { nftTable, OwnTable } from "../network/own-table.ts";
import type { Host } from "../system/host.ts";
import { Reading } from "../system/reading.ts";

/** Bytes that the gateway has forwarded, as the device sees them. */
export interface Figures {
  rx: number;
  tx: number;
}

/** What was credited until the history was last written, so that a later run of the service goes on from there. */
const Credited = objectOf({
  boot: Type.String(),
  table: Type.Integer(),
  counts: Type.Record(Type.String(), Type.Number()),
  figures: Type.Record(Type.String(), Type.Tuple([Type.Number(), Type.Number()])),
});
type Credited = Static<typeof Credited>;
export const CREDITED = savedJson("traffic_credited", Credited, null);

/** Each start of the machine has another one. */
const BOOT = "/proc/sys/kernel/random/boot_id";

interface Deps<Id> {
  host: Pick<Host, "run" | "read" | "monotonic" | "sleep">;
  store: Pick<Texts, "read">;
  /** The device that a counter counts for now, as of this moment. */
  owners: () => (of: Counted) => Id | null;
  /** All devices; figures of others are dropped. */
  ids: () => readonly Id[];
  /** Those of the LAN, which nobody can take out of the kernel's sets. */
  macs: () => readonly Mac[];
  links: () => Links;
  /** Called with the bytes that a device has carried between two readings. */
  onCarried?: (id: Id, carried: Figures) => void;
  log: Pick<Log, "warn">;
}

/** The kernel's table is not read more often than this, however many clients ask. */
const READ_EVERY_MS = 1_000;
/** Less often than an address is given to another device, and far more often than the kernel forgets an address. */
const COUNT_EVERY_MS = 3_600_000;

const NONE: Figures = { rx: 0, tx: 0 };

/** The bytes that each device has sent and received: what the kernel has counted since the last reading. */
export class Traffic<Id extends string> {
  private readonly figures = new Map<Id, Figures>();
  /** Those of a former run of the service, of devices that are not known again yet. */
  private readonly former = new Map<Id, Figures>();
  /** Null until the first reading. What belongs to nobody yet is not in it, and is credited once it does. */
  private credited: { table: number; counts: ReadonlyMap<string, number> } | null = null;
  /** Whether no device was known at the last reading: as soon as one is, it may have figures. */
  private isOfNobody = false;
  private boot = "";
  /** The addresses behind other routers in the last reading, and when that was. */
  private heard: Counts["heard"] = [];
  private heardAt = 0;
  private readonly table: OwnTable<Links>;
  private readonly reading: Reading<void>;
  /** A listing that came late must not replace a newer one. */
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps<Id>) {
    const { host, macs, log } = deps;
    this.reading = new Reading(host, READ_EVERY_MS);
    this.table = new OwnTable(log, {
      ...nftTable(host, COUNTERS_TABLE, (links: Links) => countersFor(links, macs())),
      fault: "the traffic of devices cannot be counted",
    });
  }

  of(id: Id): Figures {
    return this.figures.get(id) ?? NONE;
  }

  /** The bytes of the devices that have any, from the last reading. */
  get all(): ReadonlyMap<Id, Figures> {
    return this.figures;
  }

  /** The addresses of a network, or of a mesh, that have sent something within a day, the latest first. */
  heardIn(network: Prefix): { address: Address; heardAt: number }[] {
    // A mesh may have hundreds of devices, and each of them is asked for.
    const isIn = isSingle(network)
      ? (address: Address) => prefixOf(address) === network
      : (address: Address) => contains(network, address);
    return this.heard
      .filter((each) => (each.network === null ? isIn(each.address) : each.network === network))
      .map(({ address, msAgo }) => ({ address, heardAt: this.heardAt - msAgo }))
      .sort((a, b) => b.heardAt - a.heardAt);
  }

  /** To be called when the links may have changed. Takes effect with the next reading. */
  linksChanged(): void {
    this.reading.forget();
  }

  /** The table may have been removed, altered or switched off: then counters stand still. */
  async check(): Promise<void> {
    // Before the first reading, there is none.
    if (this.credited === null) return;
    const links = this.table.current;
    if (links !== null) await this.queue.add(() => this.table.check(links));
    this.reading.forget();
    await this.read();
  }

  /** Writes what has been credited until now, in the transaction of whoever has been told of it. */
  checkpoint(): (store: Pick<Texts, "write">) => void {
    const { credited } = this;
    if (credited === null) return () => {};
    const { table, counts } = credited;
    const figures = [...this.former, ...this.figures].map(([id, { rx, tx }]): [string, [number, number]] => [
      id,
      [rx, tx],
    ]);
    const saved: Credited = {
      ...{ boot: this.boot, table, counts: Object.fromEntries([...counts].filter(([, bytes]) => bytes > 0)) },
      figures: Object.fromEntries(figures),
    };
    return (store) => CREDITED.write(store, saved);
  }

  /**
   * Reads the figures, and makes the table if it is missing. Never throws, because figures are not important enough for
   * a failure.
   */
  read(): Promise<void> {
    if (this.isOfNobody && this.deps.ids().length > 0) {
      // Once, because the reading may fail.
      this.isOfNobody = false;
      this.linksChanged();
    }
    return this.reading.get(() => this.table.attempt(() => this.queue.add(() => this.renew())));
  }

  /** Reads them although nobody asks, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.read();
      await this.deps.host.sleep(COUNT_EVERY_MS, signal);
    }
  }

  private async renew(): Promise<void> {
    const { host } = this.deps;
    const links = this.deps.links();
    const isLoaded = Bun.deepEquals(links, this.table.current);
    const counts = isLoaded ? await readCounters(host, links.networks) : null;
    if (counts === null) await this.table.load(links);
    const current = counts ?? (await readCounters(host, links.networks));
    if (current === null) return;
    const isFirst = this.credited === null && !(await this.goOn());
    this.take(current, isFirst);
    // Otherwise no new device would be counted for a day.
    if (current.isFull) await this.table.replace(links);
  }

  /** Takes over what a former run of the service has credited; false if it has left nothing. */
  private async goOn(): Promise<boolean> {
    const { host, store } = this.deps;
    this.boot = (await host.read(BOOT))?.trim() ?? "";
    let saved: Readonly<Credited> | null = null;
    try {
      saved = CREDITED.read(store);
    } catch {
      // The history reports a damaged database.
    }
    if (saved === null || saved.boot !== this.boot) return false;
    this.credited = { table: saved.table, counts: new Map(Object.entries(saved.counts)) };
    for (const [id, [rx, tx]] of Object.entries(saved.figures)) this.former.set(id as Id, { rx, tx });
    return true;
  }

  /** The bytes in the table before the first reading were carried at some other time. */
  private take({ table, counts, heard }: Counts, isFirst: boolean): void {
    const before = this.credited?.table === table ? this.credited.counts : new Map<string, number>();
    const after = new Map<string, number>();
    const carried = new Map<Id, Figures>();
    const known = new Set(this.deps.ids());
    this.isOfNobody = known.size === 0;
    for (const [id, figures] of this.former)
      if (known.has(id) && this.former.delete(id)) this.figures.set(id, figures);
    const ownerOf = this.deps.owners();
    for (const { key, of, way, bytes } of counts) {
      const done = before.get(key) ?? 0;
      const id = ownerOf(of);
      after.set(key, id === null ? done : bytes);
      if (id === null) continue;
      const { rx, tx } = carried.get(id) ?? NONE;
      const more = since(done, bytes);
      carried.set(id, way === "sent" ? { rx, tx: tx + more } : { rx: rx + more, tx });
    }
    for (const [id, { rx, tx }] of carried) {
      const { rx: rxBefore, tx: txBefore } = this.of(id);
      this.figures.set(id, { rx: rxBefore + rx, tx: txBefore + tx });
      if (!isFirst) this.deps.onCarried?.(id, { rx, tx });
    }
    this.credited = { table, counts: after };
    [this.heard, this.heardAt] = [heard, this.deps.host.monotonic()];
    for (const id of this.figures.keys()) if (!known.has(id)) this.figures.delete(id);
  }
}

function isSingle(network: Prefix): boolean {
  return network.endsWith(network.includes(":") ? "/128" : "/32");
}

/** An element that has timed out meanwhile counts from zero again. */
function since(before: number, now: number): number {
  return now < before ? now : now - before;
}
