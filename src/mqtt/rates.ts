import type { DeviceCount } from "../dns/device-counts.ts";
import type { TunnelRow } from "../tunnel/schema.ts";

/** Rates change constantly, so they are sent rarely. */
export const RATES_EVERY_MS = 30_000;

/** Mbit/s, on average since the last time; null if they are not known yet. */
export interface TunnelTraffic {
  received: number | null;
  sent: number | null;
  latest_handshake: string | null;
}

/** What was asked, in all and by device. */
export interface DnsFigures {
  all: DeviceCount;
  devices: ReadonlyMap<string, DeviceCount>;
}

type Row = Pick<TunnelRow, "name" | "rx_bytes" | "tx_bytes" | "latest_handshake">;

/** The traffic of tunnels, and what was asked. */
export class Rates {
  /** Null while the gateway answers no queries. */
  dns: DnsFigures | null = null;
  private counted = new Map<string, { row: Row; traffic: TunnelTraffic }>();
  private countedAt = Number.NEGATIVE_INFINITY;

  /** Calculates again if it is time; `now` is in milliseconds on a clock that never jumps. */
  take(rows: readonly Row[], dns: DnsFigures | null, now: number): void {
    const ms = now - this.countedAt;
    // Home Assistant has the entities while there is something to count.
    if ((dns === null) !== (this.dns === null)) this.dns = dns;
    if (ms < RATES_EVERY_MS) return;
    const before = this.counted;
    this.counted = new Map(
      rows.map((row) => [row.name, { row, traffic: trafficOf(row, before.get(row.name)?.row, ms) }]),
    );
    this.countedAt = now;
    this.dns = dns;
  }

  of(tunnel: string): TunnelTraffic {
    return this.counted.get(tunnel)?.traffic ?? { received: null, sent: null, latest_handshake: null };
  }
}

function trafficOf(row: Row, before: Row | undefined, ms: number): TunnelTraffic {
  const rate = (figure: "rx_bytes" | "tx_bytes") =>
    before === undefined ? null : mbits(grown(row[figure], before[figure]), ms);
  return { received: rate("rx_bytes"), sent: rate("tx_bytes"), latest_handshake: row.latest_handshake };
}

/** A new session counts from zero again. */
function grown(bytes: number, before: number): number {
  return bytes < before ? bytes : bytes - before;
}

/** With three decimals. */
function mbits(bytes: number, ms: number): number {
  return Math.round((bytes * 8) / ms) / 1_000;
}
