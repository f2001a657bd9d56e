import { type Static, Type } from "typebox";
import type { Address } from "../base/address.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { listIn, SavedList, type Texts } from "../base/saved.ts";
import {
  FIRST_NUMBER,
  type Limited,
  limitsFor,
  listLimits,
  loadLimits,
  NO_LIMITS,
  OTHERS,
} from "../network/limits-table.ts";
import { rateText } from "../shared/rates.ts";
import type { Host } from "../system/host.ts";
import { type DeviceId, isPrefixId, isRemoteId, parseDeviceId } from "./id.ts";
import { Rate } from "./schema.ts";

const BYTES_PER_MEGABIT = 125_000;

/** All devices without a limit of their own, which share one. */
export const EVERYBODY_ELSE = "others";
/** Who can have a limit. */
type LimitId = DeviceId | typeof EVERYBODY_ELSE;

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
      (id === EVERYBODY_ELSE || (parseDeviceId(id) === id && mayBeLimited(id))) && !isFree({ down, up })
        ? [{ id, rate: { down, up } }]
        : [],
    ),
  format: (all) => JSON.stringify(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  nameOf: ({ id }) => id,
  wordsOf: ({ rate }) => rateText(rate),
});

interface Deps {
  host: Pick<Host, "run">;
  store: Texts;
  /** The addresses of a device on the road. */
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
  /** What was loaded last, and how the kernel lists it. Null if that is not known. */
  private loaded: { text: string; listing: string | null } | null = null;
  private isUnsaved = false;
  private isFaulty = false;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.all = storedIn(deps.store);
  }

  /** The devices with a limit of their own. */
  get ids(): DeviceId[] {
    return [...this.all.keys()].flatMap((id) => (id === EVERYBODY_ELSE ? [] : [id]));
  }

  of(id: LimitId): Rate | null {
    return this.all.get(id) ?? null;
  }

  /** Reads them again, and hands them to the kernel. */
  load(): Promise<void> {
    return this.queue.add(async () => {
      this.all = storedIn(this.deps.store);
      this.isUnsaved = false;
      await this.settle();
    });
  }

  /** To be called when the interfaces are first known and when they change, and when devices on the road have changed. */
  async insideIs(inside: readonly string[]): Promise<void> {
    this.inside = inside;
    if (this.all.size > 0) await this.queue.add(() => this.settle());
  }

  /** Another program has changed the firewall, and may have removed the table. */
  async check(): Promise<void> {
    if (this.all.size === 0) return;
    await this.queue.add(async () => {
      if (this.loaded !== null && (await listLimits(this.deps.host)) !== this.loaded.listing)
        this.loaded = null;
      await this.settle();
    });
  }

  /** Tries again what has failed, and removes what a former run of the service has left. */
  async lookAfter(): Promise<void> {
    if (this.isUnsaved) await this.queue.add(() => this.save(this.all)).catch(() => {});
    if (this.loaded === null) await this.queue.add(() => this.settle());
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
      const unsaved = this.savedOr(after, !isHigher(effective(before, id), effective(after, id)));
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
    const text = this.text(this.inside);
    if (text === this.loaded?.text) return;
    this.loaded = null;
    await loadLimits(host, text);
    this.loaded = { text, listing: text === NO_LIMITS ? null : await listLimits(host) };
  }

  /** Without a limit there is no table, and no packet costs anything. */
  private text(inside: readonly string[]): string {
    const limited = [...this.all].map(
      ([id, rate]): Limited => ({
        ...this.whoIs(id),
        rate: { down: bytesOf(rate.down), up: bytesOf(rate.up) },
      }),
    );
    return limited.length === 0 || inside.length === 0 ? NO_LIMITS : limitsFor(limited, inside);
  }

  private whoIs(id: LimitId): Omit<Limited, "rate"> {
    if (id === EVERYBODY_ELSE) return { number: OTHERS, mac: null, addresses: [] };
    const number = this.numberOf(id);
    return isPrefixId(id)
      ? { number, mac: null, addresses: this.deps.addressesOf(id) }
      : { number, mac: id, addresses: [] };
  }

  private numberOf(id: DeviceId): number {
    const number = this.numbers.get(id) ?? FIRST_NUMBER + this.numbers.size;
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

function mayBeLimited(id: string): boolean {
  return !id.includes("/") || isRemoteId(id);
}

function isFree({ down, up }: Rate): boolean {
  return down === null && up === null;
}

/** The limit that holds for a device: its own, or that of everybody else. */
function effective(all: Rates, id: LimitId): Rate | undefined {
  return all.get(id) ?? all.get(EVERYBODY_ELSE);
}

/** Whether more can pass in a direction than before. */
function isHigher(before: Rate | undefined, after: Rate | undefined): boolean {
  return (["down", "up"] as const).some(
    (way) => (after?.[way] ?? Number.POSITIVE_INFINITY) > (before?.[way] ?? Number.POSITIVE_INFINITY),
  );
}

function bytesOf(megabits: number | null): number | null {
  return megabits === null ? null : Math.round(megabits * BYTES_PER_MEGABIT);
}

function storedIn(store: Pick<Texts, "read">): Rates {
  return new Map(LIMITS.read(store).map(({ id, rate }) => [id as LimitId, rate]));
}

function refusal(what: string): GatewayError {
  return new GatewayError("bad_request", `rate: ${what}`);
}
