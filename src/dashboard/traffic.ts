import { computed, signal } from "@preact/signals";
import type { TrafficUpdate } from "../http/traffic.ts";

/** Received and sent: bytes, or bytes per second. */
export interface BothWays {
  rx: number;
  tx: number;
}

/** `at` is in seconds since 1970. Null is a gap: the gateway was not heard. */
export interface Sample {
  at: number;
  rate: BothWays | null;
}

export const HISTORY_SECONDS = 600;
export const MINUTE_MS = 60_000;
/** The gateway counts what devices carry every five seconds, or a little later. */
const COUNTED_SECONDS = 6;

const NONE: BothWays = { rx: 0, tx: 0 };

interface Meter {
  /** Cumulative. */
  rx: number;
  tx: number;
  /** When they were read, in seconds since 1970. */
  at: number;
  rate: BothWays;
}

/** What the gateway has told. It is replaced each second, so a component that reads it is drawn again. */
const traffic = signal({
  /** The rates of all tunnels together in the last ten minutes, oldest first. */
  samples: [] as readonly Sample[],
  tunnels: new Map<string, Meter>(),
  devices: new Map<string, Meter>(),
  /** How far the gateway's clock is ahead of the browser's. */
  aheadMs: 0,
});
/** Whether any device has sent something through the gateway. */
export const hasSent = computed(() => [...traffic.value.devices.values()].some(({ tx }) => tx > 0));
const minute = computed(() => Math.floor(useNow() / MINUTE_MS));

/** The rates of all tunnels together in the last ten minutes, oldest first. Draws again each second. */
export function useTraffic(): readonly Sample[] {
  return traffic.value.samples;
}

/** The rates of all devices and tunnels now; null where they are not known. Draws again each second. */
export function useRates(): Rates {
  return rates.value;
}

interface Rates {
  rateOf: (device: string) => BothWays | null;
  tunnelRate: (name: string) => BothWays | null;
}

const rates = computed((): Rates => {
  const now = traffic.value;
  return {
    rateOf: (id) => deviceRate(now, id),
    tunnelRate: (name) => now.tunnels.get(name)?.rate ?? null,
  };
});

/** The rate of a device now; null if it is not known. Draws again each second. */
export function useDeviceRate(id: string): BothWays | null {
  return deviceRate(traffic.value, id);
}

function deviceRate({ samples, devices }: Pick<typeof traffic.value, "samples" | "devices">, id: string) {
  const last = samples.at(-1);
  const meter = devices.get(id);
  if (last?.rate == null) return null;
  return meter === undefined || last.at - meter.at > COUNTED_SECONDS ? NONE : meter.rate;
}

/** The rate of a tunnel now; null if it is not known. Draws again each second. */
export function useTunnelRate(name: string): BothWays | null {
  return traffic.value.tunnels.get(name)?.rate ?? null;
}

/** What a tunnel's present session has carried so far, in bytes; null if it is not known. Draws again each second. */
export function useCarried(name: string): BothWays | null {
  return traffic.value.tunnels.get(name) ?? null;
}

/** What a device has received and sent so far, in bytes; null if nothing. Draws again each second. */
export function useDeviceCarried(id: string): BothWays | null {
  return traffic.value.devices.get(id) ?? null;
}

/** The time by the gateway's clock, in milliseconds since 1970. Draws again each second. */
export function useNow(): number {
  return Date.now() + traffic.value.aheadMs;
}

/** The minute by the gateway's clock, counted from 1970. Draws again each minute. */
export function useMinute(): number {
  return minute.value;
}

export function recordTraffic(update: TrafficUpdate): void {
  const { samples, tunnels, devices } = traffic.value;
  const at = Date.parse(update.at) / 1_000;
  const isFirst = tunnels.size === 0;
  const rate = update.tunnels.reduce<BothWays>((sum, row) => {
    const { rx, tx } = meter(tunnels, row.name, { at, rx: row.rx_bytes, tx: row.tx_bytes }, Infinity);
    return { rx: sum.rx + rx, tx: sum.tx + tx };
  }, NONE);
  for (const { id, rx_bytes: rx, tx_bytes: tx } of update.devices)
    meter(devices, id, { at, rx, tx }, COUNTED_SECONDS);
  const recent = samples.filter((each) => each.at > at - HISTORY_SECONDS && each.at < at);
  traffic.value = {
    ...{ tunnels, devices, aheadMs: Date.parse(update.at) - Date.now() },
    samples: [...recent, { at, rate: isFirst ? null : rate }],
  };
}

/** After a loss of the gateway: when what was carried meanwhile was carried is not known. */
export function forgetRates(): void {
  const { samples, aheadMs } = traffic.value;
  const last = samples.at(-1);
  const gap = last?.rate == null ? [] : [{ at: last.at + 1, rate: null }];
  traffic.value = { aheadMs, samples: [...samples, ...gap], tunnels: new Map(), devices: new Map() };
}

/**
 * Notes figures and returns the rate since the last ones, which were read at most `longest` seconds ago. A counter that
 * is lower than before has begun again from zero, with a new session or a restart.
 */
function meter(
  meters: Map<string, Meter>,
  key: string,
  { at, rx, tx }: Omit<Meter, "rate">,
  longest: number,
): BothWays {
  const last = meters.get(key);
  const seconds = Math.min(longest, at - (last?.at ?? at));
  const isNew = last === undefined || seconds <= 0 || rx < last.rx || tx < last.tx;
  const rate = isNew ? NONE : { rx: (rx - last.rx) / seconds, tx: (tx - last.tx) / seconds };
  meters.set(key, { at, rx, tx, rate });
  return rate;
}
