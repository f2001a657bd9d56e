import { expect, test } from "bun:test";
import type { TunnelRow } from "../../src/tunnel/schema.ts";
import { wrongTargets } from "../rig/judges/consistency.ts";

const targets = ["box-vpn-1", "Amsterdam, Netherlands"].map((server) => ({
  provider: "managed" as const,
  server,
}));
const row = (server: string, at: number, more: Partial<TunnelRow> = {}): TunnelRow =>
  ({
    name: "main",
    provider: "managed",
    state: "connected",
    server,
    order: { targets, at },
    ...more,
  }) as TunnelRow;
const wrong = (tunnel: TunnelRow) => wrongTargets({ tunnels: [tunnel] });

test("a tunnel that is connected to the target that its order says agrees with it", () => {
  expect(wrong(row("box-vpn-1", 0))).toEqual([]);
  expect(wrong(row("box-vpn-2", 1))).toEqual([]);
});

test("one that is connected to another server, or to one of another provider, does not", () => {
  expect(wrong(row("box-vpn-2", 0))).toEqual([
    "main: connected to box-vpn-2, number 0 of box-vpn-1,Amsterdam, Netherlands",
  ]);
  expect(wrong(row("box-vpn-1", 0, { provider: "custom" }))).toHaveLength(1);
  expect(wrong(row("box-vpn-1", 7))).toHaveLength(1);
});

test("one that is not connected, or has one target, says nothing", () => {
  expect(wrong(row("", 0, { state: "reconnecting" }))).toEqual([]);
  const { order: _, ...single } = row("box-vpn-1", 0);
  expect(wrong(single)).toEqual([]);
});
