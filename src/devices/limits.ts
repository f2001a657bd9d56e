import { type Static, Type } from "typebox";
import type { Address } from "../base/address.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { listIn, SavedList, type Texts } from "../base/saved.ts";
import {
  addressesFor,
  type ByteRate,
  isLimiting,
  type Limited,
  limitsFor,
  listLimits,
  loadLimits,
  NO_LIMITS,
  OTHERS,
} from "../network/limits-table.ts";
import { rateText } from "../shared/rates.ts";
import type { Host } from "../system/host.ts";
import { type DeviceId, EVERYBODY_ELSE, isPrefixId, type LimitId, parseLimitId } from "./id.ts";
import type { Quotas } from "./quotas.ts";
import { type Quota, Rate } from "./schema.ts";

const BYTES_PER_MEGABIT = 125_000;

const StoredLimit = Type.Object({ id: Type.String(), rate: Rate }, { additionalProperties: false });
type StoredLimit = Static<typeof StoredLimit>;

/** The limits that people have given devices. */
export const LIMITS = new SavedList<StoredLimit>({
  key: "limits",
  what: "limit",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  entriesIn: (text) =>
    listIn(StoredLimit)(text).flatMap(({ id, rate: { down, up } }) =>
      parseLimitId(id) !== null && !isFree({ down, up }) ? [{ id, rate: { down, up } }] : [],
    ),
  format: (all) => JSON.stringify(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  nameOf: ({ id }) => id,
  wordsOf: ({ rate }) => rateText(rate),
});

interface Deps {
  host: Pick<Host, "run">;
  store: Texts;
  quotas: Quotas;
  /** The addresses of a device, as far as they are known. */
  addressesOf: (id: DeviceId) => readonly Address[];
  log: Pick<Log, "warn">;
}

type Rates = ReadonlyMap<LimitId, Rate>;

/** How fast devices may send and receive, in the database and in the kernel, which drops what is more. */
export class Limits {
  private all: Rates;
  /** The interfaces of the LAN and of the road; null before they are first known. */
  private inside: readonly string[] | null = null;
  /** Numbers are never given twice: a connection keeps its mark until its device sends again. */
  private readonly numbers = new Map<DeviceId, number>();
  /** Connections outlive the service, too. */
  private nextNumber = randomNumber();
  /** What was loaded last, and how the kernel lists it. Null if that is not known. */
  private loaded: { text: string; addresses: string; listing: string | null } | null = null;
  private isUnsaved = false;
  private isFaulty = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.all = storedIn(deps.store);
  }

  /** The devices with a rate of their own. */
  get rated(): DeviceId[] {
    return devicesIn([...this.all.keys()]);
  }

  /** The devices with a rate or a quota. */
  get ids(): DeviceId[] {
    return devicesIn(this.limited);
  }

  private get limited(): LimitId[] {
    return [...new Set([...this.all.keys(), ...this.deps.quotas.ids])];
  }

  quotaOf(id: LimitId): ReturnType<Quotas["of"]> {
    return this.deps.quotas.of(id);
  }

  private get isNone(): boolean {
    return this.limited.length === 0;
  }

  of(id: LimitId): Rate | null {
    return this.all.get(id) ?? null;
  }

  /** Reads them again, and hands them to the kernel. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      this.all = storedIn(this.deps.store);
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
    if (this.isUnsaved) await this.queue.add(() => this.save(this.all)).catch(() => {});
    if (this.loaded !== null && this.isNone) return;
    await this.queue.add(async () => {
      await this.deps.quotas.lookAfter();
      await this.settle();
    });
  }

  /**
   * Resolves once the kernel has the limit; null ends it. A lower limit takes effect even if it cannot be saved: then it
   * resolves to what is to be told.
   */
  set(id: LimitId, rate: Rate | null): Promise<Unsaved | null> {
    return this.queue.add(async () => {
      const before = this.all;
      const after = new Map(before);
      if (rate === null) after.delete(id);
      else after.set(id, { down: rate.down, up: rate.up });
      if (Bun.deepEquals(before, after) && !this.isUnsaved) return null;
      if (after.size > LIMITS.max)
        throw refusal(`${LIMITS.max} devices have one already, the maximum; remove one first`);
      const unsaved = this.savedOr(after, !isHigher(before, after, id));
      this.all = after;
      try {
        await this.apply();
      } catch (error) {
        this.all = before;
        if (unsaved === null) this.save(before);
        throw error;
      }
      return unsaved;
    });
  }

  /** Reads what devices have used. */
  async count(): Promise<void> {
    await this.queue.add(() => this.deps.quotas.read());
  }

  /** The same for a quota: what only closes takes effect even if it cannot be saved. */
  setQuota(id: LimitId, quota: Quota | null): Promise<Unsaved | null> {
    return this.queue.add(async () => {
      const { quotas } = this.deps;
      await quotas.read();
      const changed = quotas.change(id, quota);
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

  private savedOr(all: Rates, isLower: boolean): Unsaved | null {
    try {
      this.save(all);
      return null;
    } catch (error) {
      if (!isLower) throw error;
      this.isUnsaved = true;
      return new Unsaved(error);
    }
  }

  private save(all: Rates): void {
    LIMITS.write(
      this.deps.store,
      [...all].map(([id, rate]) => ({ id, rate })),
    );
    this.isUnsaved = false;
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
    const { host } = this.deps;
    if (this.inside === null) return;
    this.deps.quotas.renew();
    const { text, addresses } = this.wanted(this.inside, false);
    const { loaded } = this;
    if (text === loaded?.text && addresses === loaded.addresses) return;
    this.loaded = null;
    if (text === loaded?.text) await loadLimits(host, addresses);
    else {
      // The new table goes on counting where the former one ends, that of a former run, too.
      await this.deps.quotas.read();
      await loadLimits(host, this.wanted(this.inside, true).text + addresses);
    }
    const listing = text === NO_LIMITS ? null : await listLimits(host);
    if (text !== NO_LIMITS && !isLimiting(listing))
      throw new GatewayError("kernel_refused", "the kernel does not list the limits that it was given");
    this.loaded = { text, addresses, listing };
    const limited = new Set(this.ids);
    for (const id of this.numbers.keys()) if (!limited.has(id)) this.numbers.delete(id);
  }

  /** Without a limit there is no table, and no packet costs anything. What was used changes with each packet. */
  private wanted(inside: readonly string[], withUsed: boolean): { text: string; addresses: string } {
    if (this.isNone || inside.length === 0) return { text: NO_LIMITS, addresses: "" };
    const limited = this.limited.map((id): Limited => {
      const rate = this.all.get(id) ?? null;
      const quota = this.deps.quotas.loadedFor(id);
      return {
        ...this.whoIs(id),
        rate: byteRateOf(rate ?? { down: null, up: null }),
        isShared: rate === null,
        quota: quota && {
          ...quota,
          used: withUsed ? quota.used : 0,
          atEnd: typeof quota.atEnd === "object" ? byteRateOf(quota.atEnd) : quota.atEnd,
        },
      };
    });
    return { text: limitsFor(limited, inside), addresses: addressesFor(limited) };
  }

  private whoIs(id: LimitId): Pick<Limited, "number" | "mac" | "addresses"> {
    if (id === EVERYBODY_ELSE) return { number: OTHERS, mac: null, addresses: [] };
    const addresses = this.deps.addressesOf(id);
    return { number: this.numberOf(id), mac: isPrefixId(id) ? null : id, addresses };
  }

  private numberOf(id: DeviceId): number {
    const known = this.numbers.get(id);
    if (known !== undefined) return known;
    const number = this.nextNumber++;
    this.numbers.set(id, number);
    return number;
  }
}

/** The rate that a client has given for a device or for everybody else; null is none. */
export function rateIn(isSingle: boolean, rate: Rate | null): Rate | null {
  if (rate === null) return null;
  if (!isSingle) throw refusal("is for single devices, not for a network behind another router");
  if (isFree(rate)) throw refusal("down or up is required; null for no limit");
  return rate;
}

function devicesIn(ids: readonly LimitId[]): DeviceId[] {
  return ids.flatMap((id) => (id === EVERYBODY_ELSE ? [] : [id]));
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

/** Far above that of everybody else, and others in each run. */
function randomNumber(): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return 2 ** 24 + (random >>> 8);
}

function byteRateOf({ down, up }: Rate): ByteRate {
  const bytesOf = (megabits: number | null) =>
    megabits === null ? null : Math.round(megabits * BYTES_PER_MEGABIT);
  return { down: bytesOf(down), up: bytesOf(up) };
}

function storedIn(store: Pick<Texts, "read">): Rates {
  return new Map(LIMITS.read(store).map(({ id, rate }) => [id as LimitId, rate]));
}

function refusal(what: string): GatewayError {
  return new GatewayError("bad_request", `rate: ${what}`);
}
