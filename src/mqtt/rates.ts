import type { UsedQuota } from "../devices/values.ts";
import type { DeviceCount } from "../dns/device-counts.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { TUNNEL_FACTS } from "../tunnel/tunnel-facts.ts";
import { stateOf } from "./discovery.ts";

/** Rates change constantly, so they are sent rarely. */
export const RATES_EVERY_MS = 30_000;

/** Mbit/s, on average since the last time; null if they are not known yet. */
export interface TunnelTraffic {
  received: number | null;
  sent: number | null;
  /** Facts that change as often. */
  [fact: string]: unknown;
}

/** What was asked, in all and by device. */
export interface DnsFigures {
  all: DeviceCount;
  devices: ReadonlyMap<string, DeviceCount>;
}

/** What is read of the gateway. */
interface Counted {
  tunnels: readonly TunnelRow[];
  dns: DnsFigures | null;
  /** By device, or who shares one. */
  quotas: ReadonlyMap<string, UsedQuota>;
}

/** The traffic of tunnels, what was asked, and what was used of quotas. */
export class Rates {
  /** Null while the gateway answers no queries. */
  dns: DnsFigures | null = null;
  quotas: Counted["quotas"] = new Map();
  private counted = new Map<string, { row: TunnelRow; traffic: TunnelTraffic }>();
  private countedAt = Number.NEGATIVE_INFINITY;

  /** Calculates again if it is time; `now` is in milliseconds on a clock that never jumps. */
  take({ tunnels, dns, quotas }: Counted, now: number): void {
    const ms = now - this.countedAt;
    const isDue = ms >= RATES_EVERY_MS;
    // Home Assistant has the entities while there is something to count.
    if (isDue || (dns === null) !== (this.dns === null)) this.dns = dns;
    this.quotas = isDue ? quotas : new Map([...quotas].map(([id, quota]) => [id, this.toldOf(id, quota)]));
    if (!isDue) return;
    const before = this.counted;
    this.counted = new Map(
      tunnels.map((row) => [row.name, { row, traffic: trafficOf(row, before.get(row.name)?.row, ms) }]),
    );
    this.countedAt = now;
  }

  of(tunnel: string): TunnelTraffic {
    return (
      this.counted.get(tunnel)?.traffic ?? {
        received: null,
        sent: null,
        ...stateOf(TUNNEL_FACTS, {}, "traffic"),
      }
    );
  }

  /** As it was sent last, unless it is another quota, has begun again, or is used up by now. */
  private toldOf(id: string, quota: UsedQuota): UsedQuota {
    const told = this.quotas.get(id);
    if (told === undefined || quota.used_bytes < told.used_bytes) return quota;
    const isSame = Bun.deepEquals({ ...quota, used_bytes: 0 }, { ...told, used_bytes: 0 });
    const isUsedUp = quota.used_bytes >= quota.megabytes * BYTES_PER_MEGABYTE;
    return isSame && !isUsedUp ? told : quota;
  }
}

function trafficOf(row: TunnelRow, before: TunnelRow | undefined, ms: number): TunnelTraffic {
  const rate = (figure: "rx_bytes" | "tx_bytes") =>
    before === undefined ? null : mbits(grown(row[figure], before[figure]), ms);
  return { received: rate("rx_bytes"), sent: rate("tx_bytes"), ...stateOf(TUNNEL_FACTS, row, "traffic") };
}

/** A new session counts from zero again. */
function grown(bytes: number, before: number): number {
  return bytes < before ? bytes : bytes - before;
}

/** With three decimals. */
function mbits(bytes: number, ms: number): number {
  return Math.round((bytes * 8) / ms) / 1_000;
}
