import { type Static, Type } from "typebox";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import { networkName, readQuotas } from "../network/limits-table.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import type { Host } from "../system/host.ts";
import { type Column, inForce } from "./column.ts";
import type { LimitId } from "./id.ts";
import { countOf } from "./quota.ts";
import type { Quota, UsedQuota } from "./values.ts";

/** What was used in the present day or month: its date, such as 2026-11-28 or 2026-11. */
const Used = Type.Object({ period: Type.String(), bytes: Type.Number({ minimum: 0 }) });
type Used = Static<typeof Used>;
const USED = savedJson("quotas_used", Type.Record(Type.String(), Used), null);

const EVERY: readonly Quota["every"][] = ["day", "month"];

/** Each writing wears the disk. What was used since the last one is forgotten with the kernel's memory. */
const SAVE_EVERY_MS = 300_000;
/** The kernel reports a quota that is used up. In case it is not heard, a minute has room for this and a beat. */
const READ_EVERY_MS = 45_000;

interface Deps {
  host: Pick<Host, "run" | "now" | "monotonic">;
  store: Texts;
  /** In which days and months begin. */
  zone: () => string;
  onUsedUp: (id: LimitId, quota: Quota) => void;
  /** One that was used up begins again. */
  onRenewed: (id: LimitId) => void;
  log: Pick<Log, "warn">;
}

/** A quota in force, and what was used of it. */
interface UsedOf {
  quota: Quota;
  usedBytes: number;
}

/** A quota as the kernel gets it. */
interface Loaded {
  name: string;
  bytes: number;
  used: number;
  atEnd: Quota["at_end"];
}

/** What devices have used of their quotas. The kernel counts and drops. */
export class Quotas {
  given: Column<Quota> = { own: new Map(), scheduled: new Map() };
  /** The quotas in force. */
  private all: ReadonlyMap<LimitId, Quota> = new Map();
  /** By `countOf`. What is known to be used is more than what the database has. */
  private used: Map<string, Used>;
  private readAt = Number.NEGATIVE_INFINITY;
  private savedAt = 0;
  /** What the database has of what was used. */
  private saved = "";
  private readonly fault = new Fault("what devices have used of their quotas could not be saved");

  constructor(private readonly deps: Deps) {
    this.used = new Map(Object.entries(USED.read(deps.store) ?? {}));
  }

  get ids(): LimitId[] {
    return [...this.all.keys()];
  }

  of(id: LimitId): UsedOf | null {
    const quota = this.all.get(id);
    const bytes = this.used.get(countOf(this.given, id))?.bytes ?? 0;
    return quota === undefined ? null : { quota, usedBytes: Math.min(bytes, bytesOf(quota)) };
  }

  /** Counts for these from now on. No count is forgotten yet: the kernel may refuse them. */
  take(given: Column<Quota>): void {
    this.given = given;
    this.all = inForce(given);
  }

  /** To be called when a change is in force: what was used may be more than it allows. */
  changed(before: Column<Quota>, after: Column<Quota>): void {
    // Most changes are of something else.
    if (before === after) return;
    const former = inForce(before);
    for (const [id, quota] of inForce(after))
      if (this.isUsedUp(after, id, quota) && !this.isUsedUp(before, id, former.get(id)))
        this.deps.onUsedUp(id, quota);
    this.forgetOthers();
  }

  private isUsedUp(given: Column<Quota>, id: LimitId, quota: Quota | undefined): boolean {
    const used = this.used.get(countOf(given, id));
    return quota !== undefined && used !== undefined && used.bytes >= bytesOf(quota);
  }

  /** Keeps only those counts that are needed: a schedule's quota may come back in the same day or month. */
  private forgetOthers(): void {
    const isNeeded = ([count, { period }]: [string, Used]) => {
      const every = EVERY.find((each) => count.startsWith(`${each} `));
      return every === undefined ? this.given.own.has(count as LimitId) : period >= this.periodOf(every);
    };
    this.used = new Map([...this.used].filter(isNeeded));
  }

  /** What the kernel is to have for it; null without a quota. */
  loadedFor(id: LimitId): Loaded | null {
    const count = countOf(this.given, id);
    const [quota, used] = [this.all.get(id), this.used.get(count)];
    if (quota === undefined || used === undefined) return null;
    const bytes = bytesOf(quota);
    return { name: nameIn(count, used), bytes, used: Math.min(used.bytes, bytes), atEnd: quota.at_end };
  }

  /**
   * Begins a new day or month. If the clock goes back, as before it is set after a start, the later one lasts:
   * otherwise a restart would give a device its quota again.
   */
  renew(): void {
    let isNew = false;
    for (const [id, quota] of this.all) {
      const period = this.periodOf(quota.every);
      const count = countOf(this.given, id);
      const used = this.used.get(count);
      if (used?.period.length === period.length && used.period >= period) continue;
      const isOther = used !== undefined && used.period.length !== period.length;
      const wasUsedUp = this.isUsedUp(this.given, id, quota);
      this.used.set(count, { period, bytes: isOther ? used.bytes : 0 });
      isNew = true;
      if (wasUsedUp && !isOther) this.deps.onRenewed(id);
    }
    if (isNew) this.saveUsed();
  }

  /** Takes over what the kernel has counted, and tells of what is used up. */
  async read(): Promise<void> {
    if (this.all.size === 0) return;
    this.readAt = this.deps.host.monotonic();
    const counted = await readQuotas(this.deps.host);
    for (const [id, quota] of this.all) {
      const count = countOf(this.given, id);
      const used = this.used.get(count);
      const bytes = used && counted.get(nameIn(count, used));
      if (used === undefined || bytes === undefined || bytes <= used.bytes) continue;
      const isNew = used.bytes < bytesOf(quota) && bytes >= bytesOf(quota);
      this.used.set(count, { ...used, bytes });
      if (!isNew) continue;
      this.saveUsed();
      this.deps.onUsedUp(id, quota);
    }
  }

  /** Reads and saves from time to time. */
  async look(): Promise<void> {
    const now = this.deps.host.monotonic();
    if (now - this.readAt >= READ_EVERY_MS) await this.read();
    if (now - this.savedAt >= SAVE_EVERY_MS) this.saveUsed();
  }

  private saveUsed(): void {
    const used = Object.fromEntries(this.used);
    const text = JSON.stringify(used);
    if (text === this.saved) return;
    this.savedAt = this.deps.host.monotonic();
    this.fault.attempt(this.deps.log, () => {
      USED.write(this.deps.store, used);
      this.saved = text;
    });
  }

  private periodOf(every: Quota["every"]): string {
    const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(this.deps.host.now()))
      .toZonedDateTimeISO(this.deps.zone())
      .toPlainDate();
    return every === "day" ? today.toString() : today.toPlainYearMonth().toString();
  }
}

/** As clients see it. */
export function usedQuotaIn({ quota, usedBytes }: UsedOf): UsedQuota {
  return { ...quota, used_bytes: usedBytes };
}

function bytesOf({ megabytes }: Quota): number {
  return megabytes * BYTES_PER_MEGABYTE;
}

/** In the kernel. A table that is left from yesterday says nothing of today. No two interfaces have the same name there. */
function nameIn(count: string, { period }: Used): string {
  const who = count.replace(/network:(.+)/, (_, link) => networkName(link));
  return `used_${period}_${who}`.replaceAll(/[^0-9a-z]/g, "_");
}
