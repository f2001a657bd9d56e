import { useEffect, useReducer, useState } from "preact/hooks";
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

const tunnels = new Map<string, Meter>();
const devices = new Map<string, Meter>();
let samples: readonly Sample[] = [];
/** How far the gateway's clock is ahead of the browser's. */
let aheadMs = 0;
const listeners = new Set<() => void>();

/** The rates of all tunnels together in the last ten minutes, oldest first. Draws again each second. */
export function useTraffic(): readonly Sample[] {
  useEverySecond();
  return samples;
}

/** The rate of a device now; null if it is not known. Draws again each second. */
export function useDeviceRate(id: string): BothWays | null {
  useEverySecond();
  const meter = devices.get(id);
  if (samples.at(-1)?.rate == null) return null;
  if (meter === undefined) return NONE;
  return (samples.at(-1)?.at ?? 0) - meter.at > COUNTED_SECONDS ? NONE : meter.rate;
}

/** How many bytes a device has sent through the gateway; null if it has not carried any. Draws again each second. */
export function useDeviceSent(id: string): number | null {
  useEverySecond();
  return devices.get(id)?.tx ?? null;
}

/** The rate of a tunnel now; null if it is not known. Draws again each second. */
export function useTunnelRate(name: string): BothWays | null {
  useEverySecond();
  return tunnels.get(name)?.rate ?? null;
}

/** What a tunnel's present session has carried so far, in bytes; null if it is not known. Draws again each second. */
export function useCarried(name: string): BothWays | null {
  useEverySecond();
  return tunnels.get(name) ?? null;
}

/** What a device has received and sent so far, in bytes; null if nothing. Draws again each second. */
export function useDeviceCarried(id: string): BothWays | null {
  useEverySecond();
  return devices.get(id) ?? null;
}

/** The time by the gateway's clock, in milliseconds since 1970. Draws again each second. */
export function useNow(): number {
  useEverySecond();
  return Date.now() + aheadMs;
}

/** The minute by the gateway's clock, counted from 1970. Draws again each minute. */
export function useMinute(): number {
  const [minute, setMinute] = useState(minuteNow());
  useEffect(() => {
    const listener = () => setMinute(minuteNow());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return minute;
}

function minuteNow(): number {
  return Math.floor((Date.now() + aheadMs) / MINUTE_MS);
}

export function recordTraffic(update: TrafficUpdate): void {
  aheadMs = Date.parse(update.at) - Date.now();
  const at = Date.parse(update.at) / 1_000;
  const isFirst = tunnels.size === 0;
  const rate = update.tunnels.reduce<BothWays>((sum, row) => {
    const { rx, tx } = meter(tunnels, row.name, { at, rx: row.rx_bytes, tx: row.tx_bytes }, Infinity);
    return { rx: sum.rx + rx, tx: sum.tx + tx };
  }, NONE);
  for (const { id, rx_bytes: rx, tx_bytes: tx } of update.devices)
    meter(devices, id, { at, rx, tx }, COUNTED_SECONDS);
  const recent = samples.filter((each) => each.at > at - HISTORY_SECONDS && each.at < at);
  samples = [...recent, { at, rate: isFirst ? null : rate }];
  draw();
}

/** After a loss of the gateway: when what was carried meanwhile was carried is not known. */
export function forgetRates(): void {
  tunnels.clear();
  devices.clear();
  const last = samples.at(-1);
  if (last?.rate != null) samples = [...samples, { at: last.at + 1, rate: null }];
  draw();
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

function draw(): void {
  for (const listener of [...listeners]) listener();
}

function useEverySecond(): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listener = () => redraw(undefined);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}
