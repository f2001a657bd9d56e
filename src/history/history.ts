import { Type } from "typebox";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { objectOf } from "../base/object.ts";
import { Queue } from "../base/queue.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import { CREDITED } from "../devices/traffic.ts";
import type { Store } from "../store/store.ts";
import type { Host } from "../system/host.ts";
import { Absences } from "./absences.ts";
import { Meter, type Metered, Read } from "./meter.ts";
import { QualityHistory } from "./quality-history.ts";
import type { QualityRing } from "./quality-ring.ts";
import { type Carried, LENGTHS_MS, type Minute, type Range, Ring, type Subject } from "./ring.ts";

interface Deps {
  clock: Pick<Host, "now" | "sleep" | "read">;
  store: Pick<Store, "atomically" | "view" | "read" | "write" | "forget">;
  log: Pick<Log, "warn">;
  /** `--history`. */
  isKept: boolean;
}

/** The sources of the counters. */
export interface Sources {
  tunnels: () => readonly Metered[];
  devices: {
    /** Calls `note` for each device that has carried something; never throws. */
    count(): Promise<void>;
    /** What they have carried until now, to be written when that is in the history. */
    checkpoint(): (store: Pick<Texts, "write">) => void;
    readonly direct: { devices: readonly unknown[] };
  };
}

/** What the history has of the tunnels' sessions, since the machine's start. */
const METERED = savedJson(
  "history_metered",
  objectOf({ boot: Type.String(), readings: Type.Record(Type.String(), Read) }),
  null,
);
/** Each start of the machine has another one. */
const BOOT = "/proc/sys/kernel/random/boot_id";

const { minute: MINUTE_MS } = LENGTHS_MS;
const EARLY_MS = 1_000;
/**
 * Keepalives and handshakes of an idle tunnel take some 200 bytes a minute. Less than this since the last write does
 * not justify a program that lists counters and a write to the card. It counts later.
 */
const QUIET_BYTES = 10_000;

/** Written together, because each write wears a memory card, however little it is. A power cut loses as many. */
const MINUTES_AT_ONCE = 3;

/** The limit while the disk accepts no writes, because a device of the LAN can invent others. */
const MAX_GATHERED = 1_000;

/** The traffic of tunnels and devices. It is gathered in memory and written every few minutes, unless there is none. */
export class History {
  readonly isKept: boolean;
  readonly ring: Ring;
  readonly absences: Absences;
  private readonly quality: QualityHistory;
  /** Of the present minute. */
  private readonly gathered = new Map<string, Subject & Carried>();
  /** Of minutes that are over and not written yet. */
  private complete: Minute[] = [];
  private minutesSinceWrite = 0;
  /** Writes what the counters were at the end of the last of these minutes. */
  private checkpoint: (() => void) | null = null;
  private boot = "";
  private readonly meter = new Meter();
  /** Readings that overtake each other would look like counters that have started again. */
  private readonly queue = new Queue();
  /** Null until the values of the counters at the start are known. */
  private sources: Sources | null = null;
  /** The figures stay for the next minute. */
  private readonly fault = new Fault("the history could not be written");

  constructor(private readonly deps: Deps) {
    this.isKept = deps.isKept;
    this.ring = new Ring(deps.store);
    this.absences = new Absences(deps.store);
    this.quality = new QualityHistory(deps.store);
  }

  note(kind: Subject["kind"], name: string, { rx, tx }: Carried): void {
    if (!this.isKept || rx + tx === 0) return;
    const key = `${kind} ${name}`;
    if (!this.gathered.has(key) && this.gathered.size >= MAX_GATHERED) return;
    const { rx: rxBefore, tx: txBefore } = this.gathered.get(key) ?? { rx: 0, tx: 0 };
    this.gathered.set(key, { kind, name, rx: rxBefore + rx, tx: txBefore + tx });
  }

  /** Adds how long a question on a tunnel, or on the uplink (`UPLINK`), took until its answer; null if it got none. */
  noteAsked(name: string, ms: number | null): void {
    if (this.isKept) this.quality.note(name, ms);
  }

  /** The quality of a tunnel or of the uplink in a range. */
  qualityIn(name: string, range: Range): ReturnType<QualityRing["series"]> {
    return this.quality.ring.series(name, range);
  }

  /** Whether anything was known about it. */
  forget({ kind, name }: Subject): boolean {
    const isOf = (each: Subject) => each.kind === kind && each.name === name;
    const wasGathered =
      this.gathered.delete(`${kind} ${name}`) || this.complete.some(({ amounts }) => amounts.some(isOf));
    this.complete = this.complete.map(({ minute, amounts }) => ({
      minute,
      amounts: amounts.filter((each) => !isOf(each)),
    }));
    return this.ring.forget({ kind, name }) || wasGathered;
  }

  /** Counts until `signal` aborts. If nothing is to be kept, removes what was kept. */
  async watch(sources: Sources, signal: AbortSignal): Promise<void> {
    if (!this.isKept)
      return void this.fault.attempt(this.deps.log, () => {
        this.ring.clear();
        this.quality.ring.clear();
        this.absences.clear();
        // Nothing carried from now on appears in a later history either.
        for (const { key } of [METERED, CREDITED])
          if (this.deps.store.read(key) !== null) this.deps.store.forget(key);
      });
    quietly(() => {
      const { first, last } = this.ring.ends();
      this.absences.begin(this.deps.clock.now(), first, last);
    });
    await this.begin(sources);
    for (;;) {
      const { clock } = this.deps;
      const left = MINUTE_MS - (clock.now() % MINUTE_MS);
      // A timer may be a little early.
      await clock.sleep(left < EARLY_MS ? left + MINUTE_MS : left, signal);
      if (signal.aborted) return;
      quietly(() => this.absences.note(clock.now()));
      await this.count(sources);
    }
  }

  /** Goes on where a former run of the service has ended. What was carried meanwhile counts for the first minute. */
  private async begin(sources: Sources): Promise<void> {
    this.boot = (await this.deps.clock.read(BOOT))?.trim() ?? "";
    const former = this.former;
    if (former === null) await this.readTunnels(sources.tunnels());
    else this.meter.goOn(former);
    this.sources = sources;
    await sources.devices.count();
    if (former !== null) return;
    this.checkpoint = this.checkpointOf(sources);
    this.write();
  }

  /** The readings of tunnels that a former run has left; null after a start of the machine. */
  private get former(): Meter["readings"] | null {
    try {
      const metered = METERED.read(this.deps.store);
      return metered?.boot === this.boot ? metered.readings : null;
    } catch {
      return null;
    }
  }

  /**
   * Reads the traffic of a tunnel. To be called on each change of its state, before the session's interface is gone.
   */
  async read(tunnel: Metered): Promise<void> {
    if (!this.isKept) return;
    const carried = await this.queue.add(() => this.meter.read(tunnel)).catch(() => null);
    // A session that an earlier process has left may have carried much.
    if (carried !== null && this.sources !== null) this.note("tunnel", tunnel.name, carried);
  }

  /** Before the service ends, the rest is counted. */
  async stop(): Promise<void> {
    if (this.sources === null) return;
    await this.count(this.sources);
    this.write();
    quietly(() => this.absences.end(this.deps.clock.now()));
  }

  /** Writes the minutes that are over. To be called before the figures are read. */
  write(): void {
    const { log } = this.deps;
    // Nothing to write says nothing about the disk.
    if (this.quality.hasWaiting) this.fault.attempt(log, () => this.quality.write());
    this.writeCarried();
  }

  private writeCarried(): void {
    this.minutesSinceWrite = 0;
    const { checkpoint, deps } = this;
    const minutes = this.complete.splice(0);
    this.checkpoint = null;
    const write = () => {
      this.ring.addAll(minutes);
      checkpoint?.();
    };
    if (checkpoint === null || this.fault.attempt(deps.log, () => deps.store.atomically(write))) return;
    for (const { amounts } of minutes)
      for (const { kind, name, rx, tx } of amounts) this.note(kind, name, { rx, tx });
  }

  /** The gathered figures belong to the minute that is half a minute ago. */
  private get lastMinute(): number {
    return Math.floor((this.deps.clock.now() - MINUTE_MS / 2) / MINUTE_MS);
  }

  private endMinute(): void {
    const amounts = [...this.gathered.values()];
    if (amounts.length === 0) return;
    const minute = this.lastMinute;
    this.complete.push({ minute, amounts });
    this.gathered.clear();
  }

  private checkpointOf({ devices }: Sources): () => void {
    const { store } = this.deps;
    const [metered, writeDevices] = [
      { boot: this.boot, readings: this.meter.readings },
      devices.checkpoint(),
    ];
    return () => {
      METERED.write(store, metered);
      writeDevices(store);
    };
  }

  private async count(sources: Sources): Promise<void> {
    const { tunnels, devices } = sources;
    await this.readTunnels(tunnels());
    // Packets outside the tunnels do not count for any tunnel.
    if (!this.isQuiet || devices.direct.devices.length > 0) await devices.count();
    this.quality.endMinute(this.lastMinute, !this.isQuiet);
    if (!this.isQuiet) {
      this.endMinute();
      this.checkpoint = this.checkpointOf(sources);
    }
    this.minutesSinceWrite += 1;
    if (this.quality.isDue) this.write();
    else if (this.minutesSinceWrite >= MINUTES_AT_ONCE) this.writeCarried();
  }

  private async readTunnels(tunnels: readonly Metered[]): Promise<void> {
    await Promise.all(tunnels.map((tunnel) => this.read(tunnel)));
    this.meter.forgetAllBut(new Set(tunnels.map(({ name }) => name)));
  }

  private get isQuiet(): boolean {
    return [...this.gathered.values()].reduce((sum, { rx, tx }) => sum + rx + tx, 0) < QUIET_BYTES;
  }
}

/** The figures, which come more often, report a disk that accepts no writes. */
function quietly(write: () => void): void {
  try {
    write();
  } catch {
    // The graph then has zeros where it should be blank.
  }
}
