import { expect, test } from "bun:test";
import { RATES_EVERY_MS, Rates } from "../../src/mqtt/rates.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

test("rates are in Mbit/s since the last time, and a new session counts from zero", () => {
  const rates = new Rates();
  const taken = (now: number, rx_bytes: number, tx_bytes: number) => {
    const row = { name: "main", rx_bytes, tx_bytes } as TunnelRow;
    rates.take({ tunnels: [row], dns: null, quotas: new Map() }, now);
    const { received, sent } = rates.of("main");
    return [received, sent];
  };
  expect(taken(0, 1_000, 500)).toEqual([null, null]);
  expect(taken(RATES_EVERY_MS, 75_001_000, 3_750_500)).toEqual([20, 1]);
  // Too soon for others.
  expect(taken(2 * RATES_EVERY_MS - 1, 1e9, 1e9)).toEqual([20, 1]);
  expect(taken(2 * RATES_EVERY_MS, 37_500, 3_750_500)).toEqual([0.01, 0]);
});
