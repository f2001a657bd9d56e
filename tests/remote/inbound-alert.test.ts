import { expect, test } from "bun:test";
import { alertText } from "../../src/base/alert-rows.ts";
import { InboundAlert } from "../../src/remote/inbound-alert.ts";

const MINUTE_MS = 60_000;
const OPEN = { on: true, endpoint: "203.0.113.7:51820", fault: null };
const LOST = { on: true, endpoint: null, fault: "the uplink is down" };

function begin() {
  const told: string[] = [];
  const alert = new InboundAlert((code, args) => told.push(`${code}: ${alertText(code, args)}`));
  return { told, alert };
}

test("a way in that is lost for a minute is told once, and when it is back", () => {
  const { told, alert } = begin();
  alert.see(OPEN, 0);
  for (const at of [1, 30_000, MINUTE_MS]) alert.see(LOST, at);
  expect(told).toEqual([]);
  for (const at of [MINUTE_MS + 1, 2 * MINUTE_MS]) alert.see(LOST, at);
  expect(told).toEqual(["remote_lost: Devices away from home cannot connect: the uplink is down."]);
  alert.see(OPEN, 3 * MINUTE_MS);
  expect(told.slice(1)).toEqual(["remote_found: Devices away from home can connect again."]);
});

test("a short loss is not told, and neither is a way in that never was", () => {
  const { told, alert } = begin();
  for (const at of [0, 5 * MINUTE_MS]) alert.see(LOST, at);
  alert.see(OPEN, 6 * MINUTE_MS);
  alert.see(LOST, 7 * MINUTE_MS);
  alert.see(OPEN, 7 * MINUTE_MS + 30_000);
  expect(told).toEqual([]);
});

test("another endpoint is told, but not if remote access was off in between", () => {
  const { told, alert } = begin();
  alert.see(OPEN, 0);
  alert.see({ ...OPEN, endpoint: "203.0.113.8:40000" }, 1);
  expect(told).toEqual([
    "remote_moved: Devices away from home must use the endpoint 203.0.113.8:40000 now, and no longer 203.0.113.7:51820: change the endpoint in their WireGuard apps, or remove and add them again.",
  ]);
  alert.see({ on: false, endpoint: null, fault: null }, 2);
  alert.see(OPEN, 3);
  expect(told.length).toBe(1);
});
