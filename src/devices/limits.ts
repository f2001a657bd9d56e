import { type Static, Type } from "typebox";
import type { Address } from "../base/address.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { listIn, SavedList, savedJson, type Texts } from "../base/saved.ts";
import { markOfDevice, markOfRemote } from "../network/device-mark.ts";
import {
  addressesFor,
  type ByteRate,
  isLimiting,
  type Limited,
  type Limiting,
  limitingOf,
  limitsChange,
  limitsFor,
  listLimits,
  loadLimits,
  NO_LIMITS,
  OTHERS,
} from "../network/limits-table.ts";
import { rateText } from "../shared/rates.ts";
import type { Host } from "../system/host.ts";
import { type Given, type GivenOne, inForce, oneOf, scheduledIn, withOne } from "./given.ts";
import { type DeviceId, EVERYBODY_ELSE, isPrefixId, type LimitId, parseLimitId } from "./id.ts";
import { type Quotas, usedQuotaIn } from "./quotas.ts";
import { type Quota, Rate, type UsedQuota } from "./schema.ts";

const BYTES_PER_MEGABIT = 125_000;

const StoredLimit = Type.Object({ id: Type.String(), rate: Rate }, { additionalProperties: false });
type StoredLimit = Static<typeof StoredLimit>;

/** The limits that people have given devices. */
export const LIMITS = new SavedList<StoredLimit>({
  key: "limits",
  what: "limit",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  maxCharacters: 150,
  entriesIn: (text) =>
    listIn(StoredLimit)(text).flatMap(({ id, rate: { down, up } }) =>
      parseLimitId(id) !== null && !isFree({ down, up }) ? [{ id, rate: { down, up } }] : [],
    ),
  format: (all) => JSON.stringify(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  nameOf: ({ id }) => id,
  wordsOf: ({ rate }) => rateText(rate),
});

/** By who has it; null is no rate. */
const SCHEDULED = savedJson(
  "scheduled_rates",
  Type.Record(Type.String(), Type.Union([Rate, Type.Null()])),
  {},
);

interface Deps {
  host: Pick<Host, "run">;
  store: Texts & { atomically(work: () => void): void };
  quotas: Quotas;
  /** The addresses of a device, as far as they are known. */
  addressesOf: (id: DeviceId) => readonly Address[];
  log: Pick<Log, "warn">;
}

type Rates = ReadonlyMap<LimitId, Rate>;

/** What a device, or everybody else, has now. */
export interface LimitFigures {
  id: LimitId;
  /** In force. */
  rate: Rate | null;
  /** With what was used, as read last. */
  quota: UsedQuota | null;
}

/** How fast devices may send and receive, in the database and in the kernel, which drops what is more. */
export class Limits {
  private given: Given<Rate>;
  /** The rates in force. */
  private all: Rates;
  /** The interfaces of the LAN and of the road; null before they are first known. */
  private inside: readonly string[] | null = null;
  /** What was loaded last, and how the kernel lists it. Null if that is not known. */
  private loaded: (Wanted & { listing: string | null }) | null = null;
  private isUnsaved = false;
  private isFaulty = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.given = storedIn(deps.store);
    this.all = inForce(this.given);
  }

  /** The devices with a rate that is in force. */
  get rated(): DeviceId[] {
    return devicesIn([...this.all.keys()]);
  }

  /** The devices with a rate, if not now, or a quota. */
  get ids(): DeviceId[] {
    return devicesIn([...new Set([...this.given.own.keys(), ...this.deps.quotas.given, ...this.limited])]);
  }

  /** Who has a rate, or none, by a schedule. */
  get scheduled(): LimitId[] {
    return [...this.given.scheduled.keys()];
  }

  private get limited(): LimitId[] {
    return [...new Set([...this.all.keys(), ...this.deps.quotas.ids])];
  }

  /** Whether it has a rate, if not now, or a quota. */
  isGiven(id: DeviceId): boolean {
    return this.given.own.has(id) || this.all.has(id) || this.deps.quotas.isGiven(id);
  }

  quotaOf(id: LimitId): ReturnType<Quotas["of"]> {
    return this.deps.quotas.of(id);
  }

  /** Whether the database has what is in force. */
  get isSaved(): boolean {
    return !this.isUnsaved;
  }

  private get isNone(): boolean {
    return this.limited.length === 0;
  }

  of(id: LimitId): Rate | null {
    return this.all.get(id) ?? null;
  }

  /** By id. The kernel is not asked. */
  get figures(): LimitFigures[] {
    return this.limited.toSorted().map((id) => {
      const quota = this.quotaOf(id);
      return { id, rate: this.of(id), quota: quota && usedQuotaIn(quota) };
    });
  }

  /** Reads them again, and hands them to the kernel. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      this.take(storedIn(this.deps.store));
      this.deps.quotas.load();
      this.isUnsaved = false;
      await this.settle();
    });
  }

  /** To be called when the interfaces are first known and when they change, and when devices on the road have changed. */
  async insideIs(inside: readonly string[]): Promise<void> {
    this.inside = inside;
    if (!this.isNone) await this.queue.add(() => this.settle());
  }

  /** The firewall has changed: another program may have removed the table, or the kernel says that a quota is used up. */
  async check(): Promise<void> {
    if (this.isNone) return;
    await this.queue.add(async () => {
      await this.deps.quotas.read();
      if (this.loaded !== null && (await listLimits(this.deps.host)) !== this.loaded.listing)
        this.loaded = null;
      await this.settle();
    });
  }

  /**
   * Tries again what has failed, and removes what a former run of the service has left. The kernel gets the addresses of
   * devices as they are now.
   */
  async lookAfter(): Promise<void> {
    if (this.isUnsaved) await this.queue.add(async () => this.trySave());
    if (this.loaded !== null && this.isNone) return;
    await this.queue.add(async () => {
      await this.deps.quotas.lookAfter();
      await this.settle();
    });
  }

  /**
   * Resolves once the kernel has the limit; null ends it. A lower limit takes effect even if it cannot be saved: then it
   * resolves to what is to be told. What a person decides ends what a schedule gives.
   */
  set(id: LimitId, rate: Rate | null): Promise<Unsaved | null> {
    return this.change(id, () => ({ own: rate, scheduled: undefined }));
  }

  /** The same for a schedule: this rate, or none, holds until undefined ends it, or a person decides. */
  schedule(id: LimitId, rate: Rate | null | undefined): Promise<Unsaved | null> {
    return this.change(id, ({ own }) => ({ own, scheduled: rate }));
  }

  /** What `giveBack` takes. */
  givenOf(id: LimitId): GivenOne<Rate> {
    return oneOf(this.given, id);
  }

  giveBack(id: LimitId, given: GivenOne<Rate>): Promise<Unsaved | null> {
    return this.change(id, () => given);
  }

  /** Whether more can pass if a schedule gives the second instead of the first; undefined is nothing. */
  isRaised(id: LimitId, from: Rate | null | undefined, to: Rate | null | undefined): boolean {
    const { own } = this.givenOf(id);
    const [before, after] = [from, to].map((scheduled) =>
      inForce(withOne(this.given, id, { own, scheduled })),
    ) as [Rates, Rates];
    return isHigher(before, after, id);
  }

  private change(id: LimitId, edit: (one: GivenOne<Rate>) => GivenOne<Rate>): Promise<Unsaved | null> {
    return this.queue.add(async () => {
      const before = this.given;
      const after = withOne(before, id, edit(oneOf(before, id)));
      if (Bun.deepEquals(before, after) && !this.isUnsaved) return null;
      if (after.own.size > LIMITS.max)
        throw refusal(`${LIMITS.max} devices have one already, the maximum; remove one first`);
      const isRaised = isHigher(before.own, after.own, id) || isHigher(inForce(before), inForce(after), id);
      const unsaved = this.savedOr(after, !isRaised);
      this.take(after);
      try {
        await this.apply();
      } catch (error) {
        this.take(before);
        if (unsaved === null) this.trySave();
        throw error;
      }
      return unsaved;
    });
  }

  private take(given: Given<Rate>): void {
    this.given = given;
    this.all = inForce(given);
  }

  /** Reads what devices have used. */
  async count(): Promise<void> {
    await this.queue.add(() => this.deps.quotas.read());
  }

  /** The same for a quota: what only closes takes effect even if it cannot be saved. */
  setQuota(id: LimitId, quota: Quota | null): Promise<Unsaved | null> {
    return this.changeQuota(id, () => ({ own: quota, scheduled: undefined }));
  }

  /** The same for a schedule. */
  scheduleQuota(id: LimitId, quota: Quota | null | undefined): Promise<Unsaved | null> {
    return this.changeQuota(id, ({ own }) => ({ own, scheduled: quota }));
  }

  giveQuotaBack(id: LimitId, given: GivenOne<Quota>): Promise<Unsaved | null> {
    return this.changeQuota(id, () => given);
  }

  private changeQuota(id: LimitId, edit: (one: GivenOne<Quota>) => GivenOne<Quota>): Promise<Unsaved | null> {
    return this.queue.add(async () => {
      const { quotas } = this.deps;
      await quotas.read();
      const changed = quotas.change(id, edit(quotas.givenOf(id)));
      if (changed === null) return null;
      try {
        await this.apply();
      } catch (error) {
        changed.undo();
        throw error;
      }
      changed.tell();
      return changed.unsaved;
    });
  }

  private savedOr(given: Given<Rate>, isLower: boolean): Unsaved | null {
    try {
      this.save(given);
      return null;
    } catch (error) {
      if (!isLower) throw error;
      this.isUnsaved = true;
      return new Unsaved(error);
    }
  }

  private save({ own, scheduled }: Given<Rate>): void {
    const { store } = this.deps;
    store.atomically(() => {
      LIMITS.write(
        store,
        [...own].map(([id, rate]) => ({ id, rate })),
      );
      SCHEDULED.write(store, Object.fromEntries(scheduled));
    });
    this.isUnsaved = false;
  }

  private trySave(): void {
    try {
      this.save(this.given);
    } catch {
      // The client that made the change was told.
      this.isUnsaved = true;
    }
  }

  /** Like `apply`, but tells the log of a failure, once. */
  private async settle(): Promise<void> {
    try {
      await this.apply();
      this.isFaulty = false;
    } catch (error) {
      if (!this.isFaulty) this.deps.log.warn(`devices are not limited: ${messageOf(error)}`);
      this.isFaulty = true;
    }
  }

  private async apply(): Promise<void> {
    const { host, quotas } = this.deps;
    if (this.inside === null) return;
    quotas.renew();
    const wanted = this.wanted(this.inside);
    const { loaded } = this;
    const change = loaded && changeOf(loaded, wanted);
    if (change === "") return;
    this.loaded = null;
    // A table that another program has changed cannot be changed by names.
    const isChanged =
      change !== null &&
      (await loadLimits(host, change).then(
        () => true,
        () => false,
      ));
    if (!isChanged) await this.replace(this.inside);
    const listing = wanted.limiting === null ? null : await listLimits(host);
    if (wanted.limiting !== null && !isLimiting(listing))
      throw new GatewayError("kernel_refused", "the kernel does not list the limits that it was given");
    this.loaded = { ...wanted, listing };
  }

  /** The new table goes on counting where the former one ends, that of a former run, too. */
  private async replace(inside: readonly string[]): Promise<void> {
    await this.deps.quotas.read();
    const { limiting, addresses } = this.wanted(inside);
    await loadLimits(this.deps.host, limiting === null ? NO_LIMITS : limitsFor(limiting) + addresses);
  }

  /** Without a limit there is no table, and no packet costs anything. */
  private wanted(inside: readonly string[]): Wanted {
    if (this.isNone || inside.length === 0) return { limiting: null, addresses: "" };
    const limited = this.limited.map((id): Limited => {
      const rate = this.all.get(id) ?? null;
      const quota = this.deps.quotas.loadedFor(id);
      return {
        ...this.whoIs(id),
        rate: byteRateOf(rate ?? { down: null, up: null }),
        isShared: rate === null,
        quota: quota && {
          ...quota,
          atEnd: typeof quota.atEnd === "object" ? byteRateOf(quota.atEnd) : quota.atEnd,
        },
      };
    });
    return { limiting: limitingOf(limited, inside), addresses: addressesFor(limited) };
  }

  private whoIs(id: LimitId): Pick<Limited, "number" | "mac" | "addresses"> {
    if (id === EVERYBODY_ELSE) return { number: OTHERS, mac: null, addresses: [] };
    const addresses = this.deps.addressesOf(id);
    const [number, mac] = isPrefixId(id) ? [markOfRemote(id), null] : [markOfDevice(id), id];
    return { number, mac, addresses };
  }
}

/** What the kernel is to have: null without a table. */
interface Wanted {
  limiting: Limiting | null;
  addresses: string;
}

/** Null if the table is to be made or removed. */
function changeOf(loaded: Wanted, wanted: Wanted): string | null {
  if (loaded.limiting === null || wanted.limiting === null)
    return loaded.limiting === wanted.limiting ? "" : null;
  const addresses = loaded.addresses === wanted.addresses ? "" : wanted.addresses;
  return limitsChange(loaded.limiting, wanted.limiting) + addresses;
}

/** The rate that a client has given for a device or for everybody else; null is none. */
export function rateIn(isSingle: boolean, rate: Rate | null, field = "rate"): Rate | null {
  if (rate === null) return null;
  assertSingle(isSingle);
  if (isFree(rate)) throw refusal("down or up is required; null for no limit", field);
  return { down: rate.down, up: rate.up };
}

function devicesIn(ids: readonly LimitId[]): DeviceId[] {
  return ids.flatMap((id) => (id === EVERYBODY_ELSE ? [] : [id]));
}

/** Throws if it is no single device, which can have neither rate nor quota. */
export function assertSingle(isSingle: boolean, field = "rate"): void {
  if (!isSingle) throw refusal("is for single devices, not for a network behind another router", field);
}

function isFree({ down, up }: Rate): boolean {
  return down === null && up === null;
}

/** Whether more can pass than before. A device that leaves the shared limit has a rate beside it. */
function isHigher(before: Rates, after: Rates, id: LimitId): boolean {
  if (before.has(EVERYBODY_ELSE) && !before.has(id) && after.has(id)) return true;
  const [former, rate] = [before, after].map((all) => all.get(id) ?? all.get(EVERYBODY_ELSE));
  return (["down", "up"] as const).some(
    (way) => (rate?.[way] ?? Number.POSITIVE_INFINITY) > (former?.[way] ?? Number.POSITIVE_INFINITY),
  );
}

/** As the kernel counts. */
export function byteRateOf({ down, up }: Rate): ByteRate {
  const bytesOf = (megabits: number | null) =>
    megabits === null ? null : Math.round(megabits * BYTES_PER_MEGABIT);
  return { down: bytesOf(down), up: bytesOf(up) };
}

function storedIn(store: Pick<Texts, "read">): Given<Rate> {
  return {
    own: new Map(LIMITS.read(store).map(({ id, rate }) => [id as LimitId, rate])),
    scheduled: scheduledIn(SCHEDULED.read(store), (rate) => !isFree(rate)),
  };
}

function refusal(what: string, field = "rate"): GatewayError {
  return new GatewayError("bad_request", `${field}: ${what}`);
}
