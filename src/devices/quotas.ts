import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { listIn, SavedList, savedJson, type Texts } from "../base/saved.ts";
import { readQuotas } from "../network/limits-table.ts";
import { BYTES_PER_MEGABYTE, quotaText } from "../shared/quotas.ts";
import type { Host } from "../system/host.ts";
import { type Given, type GivenOne, inForce, oneOf, scheduledIn, withOne } from "./given.ts";
import { EVERYBODY_ELSE, type LimitId, parseLimitId } from "./id.ts";
import { GivenQuota, Quota, type Rate, type UsedQuota } from "./schema.ts";

/** Quotas of former versions have no `at_end`, and those of later ones may have another. */
const StoredQuota = Type.Object(
  {
    id: Type.String(),
    quota: Type.Object(
      { ...GivenQuota.properties, at_end: Type.Optional(Type.Unknown()) },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
);
const given = checkerOf(GivenQuota);

/** The quotas that people have given devices. */
export const QUOTAS = new SavedList<{ id: string; quota: Quota }>({
  key: "quotas",
  what: "quota",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  maxCharacters: 200,
  entriesIn: (text) =>
    listIn(StoredQuota)(text).flatMap(({ id, quota }) =>
      parseLimitId(id) === null ? [] : [{ id, quota: wholeOf(readable(quota)) }],
    ),
  format: (all) =>
    JSON.stringify(
      all
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, quota: { at_end, ...amount } }) => ({
          id,
          // As former versions know it.
          quota: at_end === "blocked" ? amount : { ...amount, at_end },
        })),
    ),
  nameOf: ({ id }) => id,
  wordsOf: ({ quota }) => quotaText(quota),
});

/** By who has it; null is no quota. */
const SCHEDULED = savedJson(
  "scheduled_quotas",
  Type.Record(Type.String(), Type.Union([Quota, Type.Null()])),
  {},
);

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
  store: Texts & { atomically(work: () => void): void };
  /** In which days and months begin. */
  zone: () => string;
  onUsedUp: (id: LimitId, quota: Quota) => void;
  log: Pick<Log, "warn">;
}

/** A quota as the kernel gets it. */
interface Loaded {
  name: string;
  bytes: number;
  used: number;
  atEnd: Quota["at_end"];
}

type All = ReadonlyMap<LimitId, Quota>;

/** How much devices may send and receive in a day or month, and what they have used. The kernel counts and drops. */
export class Quotas {
  private present: Given<Quota> = { own: new Map(), scheduled: new Map() };
  /** The quotas in force. */
  private all: All = new Map();
  /** By `countOf`. */
  private used = new Map<string, Used>();
  private readAt = Number.NEGATIVE_INFINITY;
  private savedAt = 0;
  /** What the database has of what was used. */
  private saved = "";
  private isUnsaved = false;
  private isFaulty = false;

  constructor(private readonly deps: Deps) {
    this.load();
  }

  get ids(): LimitId[] {
    return [...this.all.keys()];
  }

  /** Who has a quota of its own, if not now. */
  get given(): LimitId[] {
    return [...this.present.own.keys()];
  }

  isGiven(id: LimitId): boolean {
    return this.present.own.has(id) || this.all.has(id);
  }

  givenOf(id: LimitId): GivenOne<Quota> {
    return oneOf(this.present, id);
  }

  /** Who has a quota, or none, by a schedule. */
  get scheduled(): LimitId[] {
    return [...this.present.scheduled.keys()];
  }

  /** Whether the database has what is in force. */
  get isSaved(): boolean {
    return !this.isUnsaved;
  }

  /** Whether more can pass if a schedule gives the second instead of the first; undefined is nothing. */
  isRaised(id: LimitId, from: Quota | null | undefined, to: Quota | null | undefined): boolean {
    const { own } = this.givenOf(id);
    const [before, after] = [from, to].map((scheduled) => withOne(this.present, id, { own, scheduled })) as [
      Given<Quota>,
      Given<Quota>,
    ];
    return opens(before, after, id);
  }

  of(id: LimitId): { quota: Quota; usedBytes: number } | null {
    const quota = this.all.get(id);
    const bytes = this.used.get(countOf(this.present, id))?.bytes ?? 0;
    return quota === undefined ? null : { quota, usedBytes: Math.min(bytes, bytesOf(quota)) };
  }

  /** Reads them again. What is known to be used stays, because the database has less. */
  load(): void {
    const { store } = this.deps;
    this.take({
      own: new Map(QUOTAS.read(store).map(({ id, quota }) => [id as LimitId, quota])),
      scheduled: scheduledIn(SCHEDULED.read(store), (quota) => !isEndless(quota)),
    });
    this.keep(new Map([...Object.entries(USED.read(store) ?? {}), ...this.used]));
    this.isUnsaved = false;
  }

  private take(given: Given<Quota>): void {
    this.present = given;
    this.all = inForce(given);
  }

  /** Only those counts that are needed: a schedule's quota may come back in the same day or month. */
  private keep(used: ReadonlyMap<string, Used>): void {
    const isNeeded = ([count, { period }]: [string, Used]) => {
      const every = EVERY.find((each) => count.startsWith(`${each} `));
      return every === undefined ? this.present.own.has(count as LimitId) : period >= this.periodOf(every);
    };
    this.used = new Map([...used].filter(isNeeded));
  }

  /** What the kernel is to have for it; null without a quota. */
  loadedFor(id: LimitId): Loaded | null {
    const count = countOf(this.present, id);
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
    for (const [id, { every }] of this.all) {
      const period = this.periodOf(every);
      const count = countOf(this.present, id);
      const used = this.used.get(count);
      if (used?.period.length === period.length && used.period >= period) continue;
      const isOther = used !== undefined && used.period.length !== period.length;
      this.used.set(count, { period, bytes: isOther ? used.bytes : 0 });
      isNew = true;
    }
    if (!isNew) return;
    this.keep(this.used);
    this.saveUsed();
  }

  /** Takes over what the kernel has counted, and tells of what is used up. */
  async read(): Promise<void> {
    if (this.all.size === 0) return;
    this.readAt = this.deps.host.monotonic();
    const counted = await readQuotas(this.deps.host);
    for (const [id, quota] of this.all) {
      const count = countOf(this.present, id);
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
  async lookAfter(): Promise<void> {
    if (this.isUnsaved) this.trySave();
    const now = this.deps.host.monotonic();
    if (now - this.readAt >= READ_EVERY_MS) await this.read();
    if (now - this.savedAt >= SAVE_EVERY_MS) this.saveUsed();
  }

  /**
   * Gives a device a quota; null if it has it already. A change that opens throws if it cannot be saved. `tell` is for
   * when the kernel has it: what was used may be more than it allows.
   */
  change(
    id: LimitId,
    one: GivenOne<Quota>,
  ): { unsaved: Unsaved | null; undo: () => void; tell: () => void } | null {
    const [before, used] = [this.present, this.used];
    const after = withOne(before, id, one);
    if (Bun.deepEquals(before, after) && !this.isUnsaved) return null;
    if (after.own.size > QUOTAS.max)
      throw refusal(`${QUOTAS.max} devices have one already, the maximum; remove one first`);
    const isUsedUpBefore = this.isUsedUp(id);
    this.take(after);
    const isOpening = opens(before, after, id) || opensOwn(before, after, id);
    const unsaved = this.savedOr(before, isOpening);
    this.keep(used);
    const undo = () => {
      this.take(before);
      this.used = used;
      if (unsaved === null) this.trySave();
    };
    const tell = () => {
      const quota = this.all.get(id);
      if (quota !== undefined && this.isUsedUp(id) && !isUsedUpBefore) this.deps.onUsedUp(id, quota);
    };
    return { unsaved, undo, tell };
  }

  private isUsedUp(id: LimitId): boolean {
    const one = this.of(id);
    return one !== null && one.usedBytes >= bytesOf(one.quota);
  }

  private savedOr(before: Given<Quota>, isOpening: boolean): Unsaved | null {
    try {
      this.save();
      return null;
    } catch (error) {
      if (isOpening) {
        this.take(before);
        throw error;
      }
      this.isUnsaved = true;
      return new Unsaved(error);
    }
  }

  private save(): void {
    const { store } = this.deps;
    const { own, scheduled } = this.present;
    store.atomically(() => {
      QUOTAS.write(
        store,
        [...own].map(([id, quota]) => ({ id, quota })),
      );
      SCHEDULED.write(store, Object.fromEntries(scheduled));
    });
    this.isUnsaved = false;
  }

  private trySave(): void {
    try {
      this.save();
    } catch {
      // The client that made the change was told.
      this.isUnsaved = true;
    }
  }

  private saveUsed(): void {
    const used = Object.fromEntries(this.used);
    const text = JSON.stringify(used);
    if (text === this.saved) return;
    this.savedAt = this.deps.host.monotonic();
    try {
      USED.write(this.deps.store, used);
      this.saved = text;
      this.isFaulty = false;
    } catch (error) {
      if (!this.isFaulty)
        this.deps.log.warn(`what devices have used of their quotas could not be saved: ${messageOf(error)}`);
      this.isFaulty = true;
    }
  }

  private periodOf(every: Quota["every"]): string {
    const today = Temporal.Instant.fromEpochMilliseconds(Math.floor(this.deps.host.now()))
      .toZonedDateTimeISO(this.deps.zone())
      .toPlainDate();
    return every === "day" ? today.toString() : today.toPlainYearMonth().toString();
  }
}

/** As clients see it. */
export function usedQuotaIn({ quota, usedBytes }: NonNullable<ReturnType<Quotas["of"]>>): UsedQuota {
  return { ...quota, used_bytes: usedBytes };
}

/** The quota that a client has given; null is none. */
export function quotaIn(isSingle: boolean, quota: GivenQuota | null, field = "quota"): Quota | null {
  if (quota === null) return null;
  if (!isSingle) throw refusal("is for single devices, not for a network behind another router", field);
  if (isEndless(quota)) throw refusal("at_end: down or up is required; told for no limit", field);
  return wholeOf(quota);
}

/** What cannot be read of a quota's end blocks, as what cannot be read of an exit does. */
function readable(quota: Static<typeof StoredQuota>["quota"]): GivenQuota {
  const { megabytes, every } = quota;
  return given.Check(quota) && !isEndless(quota) ? quota : { megabytes, every };
}

/** Whether its end would be a rate that limits nothing. */
function isEndless({ at_end }: GivenQuota): boolean {
  return typeof at_end === "object" && at_end.down === null && at_end.up === null;
}

/** A copy that has what the client may leave out, and nothing else. */
function wholeOf({ megabytes, every, at_end = "blocked" }: GivenQuota): Quota {
  const end = typeof at_end === "object" ? { down: at_end.down, up: at_end.up } : at_end;
  return { megabytes, every, at_end: end };
}

/**
 * What counts for its quota in force. One by a schedule has a count of its own, and meanwhile the device's own one stays
 * where it is: so neither gives the other anything, however they begin and end.
 */
function countOf({ scheduled }: Given<Quota>, id: LimitId): string {
  const quota = scheduled.get(id);
  return quota ? `${quota.every} ${id}` : id;
}

/** Whether more can pass than before. */
function opens(before: Given<Quota>, after: Given<Quota>, id: LimitId): boolean {
  const [former, quotas] = [inForce(before), inForce(after)];
  const isCountNew = countOf(before, id) !== countOf(after, id);
  return leavesShared(former, quotas, id) || allowsMore(former.get(id), quotas.get(id), isCountNew);
}

/** The same once what a schedule gives has ended. */
function opensOwn({ own: former }: Given<Quota>, { own }: Given<Quota>, id: LimitId): boolean {
  return leavesShared(former, own, id) || allowsMore(former.get(id), own.get(id), false);
}

/** Whether it gets a quota beside the one that it has shared, so that more can pass together. */
function leavesShared(before: All, after: All, id: LimitId): boolean {
  const shared = before.get(EVERYBODY_ELSE);
  return !before.has(id) && after.has(id) && shared !== undefined && shared.at_end !== "told";
}

/** Of another count nothing is known to be used. */
function allowsMore(before: Quota | undefined, after: Quota | undefined, isCountNew: boolean): boolean {
  if (before === undefined || before.at_end === "told") return false;
  if (after === undefined || isCountNew || after.megabytes > before.megabytes) return true;
  if (before.every === "month" && after.every === "day") return true;
  const [former, rate] = [rateAtEnd(before), rateAtEnd(after)];
  return (["down", "up"] as const).some(
    (way) => (rate[way] ?? Number.POSITIVE_INFINITY) > (former[way] ?? Number.POSITIVE_INFINITY),
  );
}

function rateAtEnd({ at_end }: Quota): Rate {
  if (at_end === "blocked") return { down: 0, up: 0 };
  return at_end === "told" ? { down: null, up: null } : at_end;
}

function bytesOf({ megabytes }: Quota): number {
  return megabytes * BYTES_PER_MEGABYTE;
}

/** In the kernel. A table that is left from yesterday says nothing of today. */
function nameIn(count: string, { period }: Used): string {
  return `used_${period}_${count}`.replaceAll(/[^0-9a-z]/g, "_");
}

function refusal(what: string, field = "quota"): GatewayError {
  return new GatewayError("bad_request", `${field}: ${what}`);
}
