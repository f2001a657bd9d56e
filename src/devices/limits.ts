import type { Address } from "../base/address.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { markOfDevice, markOfRemote } from "../network/device-mark.ts";
import {
  addressesFor,
  type ByteRate,
  LIMITS_TABLE,
  type Limited,
  type Limiting,
  limitingOf,
  limitsChange,
  limitsFor,
  loadLimits,
  type Metered,
  NO_LIMITS,
  OTHERS,
} from "../network/limits-table.ts";
import { hasRules, nftTable, OwnTable } from "../network/own-table.ts";
import { linkIn, networkIdOf } from "../shared/network-id.ts";
import type { Host } from "../system/host.ts";
import { type Column, inForce } from "./column.ts";
import { type DeviceId, isDeviceId, isPrefixId, type LimitId } from "./id.ts";
import { type Quotas, usedQuotaIn } from "./quotas.ts";
import type { Quota, Rate, UsedQuota } from "./values.ts";

const BYTES_PER_MEGABIT = 125_000;

interface Deps {
  host: Pick<Host, "run">;
  quotas: Quotas;
  /** The addresses of a device, as far as they are known. */
  addressesOf: (id: DeviceId) => readonly Address[];
  log: Pick<Log, "warn">;
}

/** What a device, a network, or all others have now. */
export interface LimitFigures {
  id: LimitId;
  /** In force. */
  rate: Rate | null;
  /** With what was used, as read last. */
  quota: UsedQuota | null;
}

/** How fast devices may send and receive, and how much, in the kernel, which drops what is more. */
export class Limits {
  /** The rates in force. */
  private all: ReadonlyMap<LimitId, Rate> = new Map();
  /** The interfaces of the LAN and of remote devices; null before they are first known. */
  private inside: readonly string[] | null = null;
  private readonly table: OwnTable<Wanted>;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.table = new OwnTable(deps.log, {
      // With the elements of its maps: without them, nobody is limited.
      ...nftTable(deps.host, LIMITS_TABLE, textOf, ["-s"]),
      fault: "devices are not limited",
      change: (wanted, former) => this.change(wanted, former),
      replace: () => this.replace(),
      isWhole: (listing, { limiting }) => hasRules(listing, limiting && ruleCountsOf(limiting)),
    });
  }

  /** The devices with a rate that is in force. */
  get rated(): DeviceId[] {
    return [...this.all.keys()].filter(isDeviceId);
  }

  private get limited(): LimitId[] {
    return [...new Set([...this.all.keys(), ...this.deps.quotas.ids])];
  }

  quotaOf(id: LimitId): ReturnType<Quotas["of"]> {
    return this.deps.quotas.of(id);
  }

  /** The same of all devices of a network; null, too, if it is not known which network that is. */
  quotaOfNetwork(link: string | null): ReturnType<Quotas["of"]> {
    return link === null ? null : this.quotaOf(networkIdOf(link));
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

  /** Takes what holds from now on, without the kernel. */
  take(rates: Column<Rate>, quotas: Column<Quota>): void {
    this.all = inForce(rates);
    this.deps.quotas.take(quotas);
  }

  /** Resolves once the kernel has it. What was used of a quota is read before another one is given. */
  apply(rates: Column<Rate>, quotas: Column<Quota>): Promise<void> {
    return this.queue.add(async () => {
      const isCounted = quotas === this.deps.quotas.given || this.deps.quotas.read();
      await Promise.resolve(isCounted).finally(() => this.take(rates, quotas));
      await this.load();
    });
  }

  /** To be called when the interfaces are first known and when they change, and when remote devices have changed. */
  async insideIs(inside: readonly string[]): Promise<void> {
    this.inside = inside;
    if (!this.isNone) await this.queue.add(() => this.settle());
  }

  /** The firewall has changed: another program may have removed the table, or the kernel says that a quota is used up. */
  async check(): Promise<void> {
    if (this.isNone) return;
    await this.queue.add(async () => {
      await this.deps.quotas.read();
      if (this.table.current !== null) await this.table.check(this.wanted());
      await this.settle();
    });
  }

  /**
   * Tries again what has failed, and removes what a former run of the service has left. The kernel gets the addresses of
   * devices as they are now.
   */
  async retry(): Promise<void> {
    if (this.table.current !== null && this.isNone) return;
    await this.queue.add(async () => {
      await this.deps.quotas.look();
      await this.settle();
    });
  }

  /** Reads what devices have used. */
  async count(): Promise<void> {
    await this.queue.add(() => this.deps.quotas.read());
  }

  /** Like `load`, but tells the log of a failure, once. */
  private settle(): Promise<void> {
    return this.table.attempt(() => this.load());
  }

  private async load(): Promise<void> {
    if (this.inside === null) return;
    this.deps.quotas.renew();
    const wanted = this.wanted();
    const { current } = this.table;
    if (current === null || changeOf(current, wanted) !== "") await this.table.load(wanted);
  }

  /** A table that another program has changed cannot be changed by names. */
  private async change(wanted: Wanted, former: Wanted | null): Promise<boolean> {
    const change = former && changeOf(former, wanted);
    if (change === null) return false;
    await loadLimits(this.deps.host, change);
    return true;
  }

  /** The new table goes on counting where the former one ends, that of a former run, too. */
  private async replace(): Promise<void> {
    await this.deps.quotas.read();
    await loadLimits(this.deps.host, textOf(this.wanted()) || NO_LIMITS);
  }

  /** Without a limit there is no table, and packets cost nothing. */
  private wanted(): Wanted {
    const inside = this.inside ?? [];
    if (this.isNone || inside.length === 0) return { limiting: null, addresses: "" };
    const limited = this.limited
      .filter((id) => linkIn(id) === null)
      .map((id) => ({ ...this.whoIs(id), ...this.metered(id), isShared: this.of(id) === null }));
    const networks = this.limited.flatMap((id) => {
      const link = linkIn(id);
      return link === null ? [] : [{ interface: link, ...this.metered(id) }];
    });
    return { limiting: limitingOf(limited, inside, networks), addresses: addressesFor(limited) };
  }

  private metered(id: LimitId): Metered {
    const quota = this.deps.quotas.loadedFor(id);
    return {
      rate: byteRateOf(this.of(id) ?? { down: null, up: null }),
      quota: quota && {
        ...quota,
        atEnd: typeof quota.atEnd === "object" ? byteRateOf(quota.atEnd) : quota.atEnd,
      },
    };
  }

  private whoIs(id: LimitId): Pick<Limited, "number" | "mac" | "addresses"> {
    if (!isDeviceId(id)) return { number: OTHERS, mac: null, addresses: [] };
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

/** The whole table; empty without one. */
function textOf({ limiting, addresses }: Wanted): string {
  return limiting === null ? "" : limitsFor(limiting) + addresses;
}

function ruleCountsOf({ chains }: Limiting): Map<string, number> {
  return new Map([...chains].map(([name, rules]) => [name, rules.length]));
}

/** Null if the table is to be made or removed. */
function changeOf(loaded: Wanted, wanted: Wanted): string | null {
  if (loaded.limiting === null || wanted.limiting === null)
    return loaded.limiting === wanted.limiting ? "" : null;
  const addresses = loaded.addresses === wanted.addresses ? "" : wanted.addresses;
  return limitsChange(loaded.limiting, wanted.limiting) + addresses;
}

/** As the kernel counts. */
export function byteRateOf({ down, up }: Rate): ByteRate {
  const bytesOf = (megabits: number | null) =>
    megabits === null ? null : Math.round(megabits * BYTES_PER_MEGABIT);
  return { down: bytesOf(down), up: bytesOf(up) };
}
