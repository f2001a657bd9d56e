import { expect, test } from "bun:test";
import { Handshakes } from "../../src/remote/handshakes.ts";

const DAY_MS = 86_400_000;

test("a peer was heard when it was, however the clock is set since; a new handshake is of now at the latest", () => {
  const clock = { time: 10 * DAY_MS, passed: 5_000 };
  const handshakes = new Handshakes({ now: () => clock.time, monotonic: () => clock.passed });
  const heardAt = (latestHandshake: number) =>
    handshakes.take([{ publicKey: "home", latestHandshake }] as never)[0]?.heardAt;
  const pass = (ms: number, setBy = 0) => {
    clock.time += ms + setBy;
    clock.passed += ms;
  };
  expect(heardAt(0)).toBeNull();
  const first = clock.time - 1_000;
  expect(heardAt(first)).toBe(4_000);
  pass(10_000, -DAY_MS);
  expect(heardAt(first)).toBe(4_000);
  pass(10_000, 2 * DAY_MS);
  expect(heardAt(first)).toBe(4_000);
  // By a clock that was ahead.
  expect(heardAt(clock.time + DAY_MS)).toBe(clock.passed);
  // Another key begins anew.
  handshakes.take([]);
  expect(heardAt(first)).toBeLessThan(0);
});
