import { useEffect, useReducer } from "preact/hooks";

/** The event of `/ws?traffic`, once a second; the figures are cumulative. */
export interface TrafficEvent {
  type: "traffic";
  payload: {
    at: string;
    tunnels: readonly { name: string; rx_bytes: number; tx_bytes: number }[];
    /** Those that changed since the last message. */
    devices: readonly { id: string; rx_bytes: number; tx_bytes: number }[];
  };
}

/** Bytes per second. */
export interface Rate {
  rx: number;
  tx: number;
}

/** `at` is in seconds since 1970; null is a gap, in which the gateway was not heard. */
export interface Sample {
  at: number;
  rate: Rate | null;
}

export const HISTORY_SECONDS = 600;

const NONE: Rate = { rx: 0, tx: 0 };

/** When the latest message was sent, in seconds since 1970. */
let latest: number | null = null;
let samples: readonly Sample[] = [];
/** Cumulative, by tunnel and device. */
const figures = new Map<string, Rate>();
const rates = new Map<string, Rate>();
const listeners = new Set<() => void>();

/** The rates of all tunnels together in the last ten minutes, oldest first. Draws again each second. */
export function useTraffic(): readonly Sample[] {
  useEverySecond();
  return samples;
}

/** The rate of a tunnel or a device now; null before it is known. Draws again each second. */
export function useRate(of: { tunnel: string } | { device: string }): Rate | null {
  useEverySecond();
  return rates.get("tunnel" in of ? `tunnel ${of.tunnel}` : `device ${of.device}`) ?? null;
}

export function recordTraffic({ payload }: TrafficEvent): void {
  const at = Date.parse(payload.at) / 1_000;
  const seconds = latest === null ? 0 : at - latest;
  latest = at;
  const tunnels = payload.tunnels.map(({ name, ...bytes }) => rateOf(`tunnel ${name}`, seconds, bytes));
  const changed = new Set(payload.devices.map(({ id }) => `device ${id}`));
  for (const { id, ...bytes } of payload.devices) rateOf(`device ${id}`, seconds, bytes);
  for (const key of rates.keys()) if (key.startsWith("device ") && !changed.has(key)) rates.set(key, NONE);
  const rate = tunnels.reduce((sum, { rx, tx }) => ({ rx: sum.rx + rx, tx: sum.tx + tx }), NONE);
  samples = [
    ...samples.filter((each) => each.at > at - HISTORY_SECONDS),
    { at, rate: seconds > 0 ? rate : null },
  ];
  for (const listener of [...listeners]) listener();
}

/** After a loss: what was carried meanwhile is nobody's rate. */
export function forgetRates(): void {
  latest = null;
  figures.clear();
  rates.clear();
  const last = samples.at(-1);
  if (last !== undefined && last.rate !== null) samples = [...samples, { at: last.at + 1, rate: null }];
  for (const listener of [...listeners]) listener();
}

/** A counter that is lower than before has begun again from zero, with a new tunnel or a restart. */
function rateOf(key: string, seconds: number, now: { rx_bytes: number; tx_bytes: number }): Rate {
  const last = figures.get(key);
  figures.set(key, { rx: now.rx_bytes, tx: now.tx_bytes });
  const isNew = last === undefined || seconds <= 0 || now.rx_bytes < last.rx || now.tx_bytes < last.tx;
  const rate = isNew
    ? NONE
    : { rx: (now.rx_bytes - last.rx) / seconds, tx: (now.tx_bytes - last.tx) / seconds };
  rates.set(key, rate);
  return rate;
}

function useEverySecond(): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listener = () => redraw(undefined);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}
