import { expect, test } from "bun:test";
import { qualityFinding } from "../../src/checks/quality.ts";
import type { Quality } from "../../src/tunnel/schema.ts";

const GOOD: Quality = { state: "good", round_trip_ms: 20, variation_ms: 1, loss_percent: 0 };
const SLOW: Quality = { ...GOOD, state: "slow", round_trip_ms: 400 };
const LOSSY: Quality = {
  ...GOOD,
  state: "lossy",
  round_trip_ms: null,
  variation_ms: null,
  loss_percent: 100,
};
const NEAR: Quality = { ...GOOD, round_trip_ms: 1 };

const found = (main: Quality | null, second: Quality | null, uplink: Quality | null) =>
  qualityFinding({
    tunnels: [
      ...(main === null ? [] : [{ name: "main", quality: main }]),
      ...(second === null ? [] : [{ name: "tv", quality: second }]),
    ],
    uplink,
  });

test("what is not measured is not checked", () => {
  expect(found(null, null, null)).toBeNull();
});

test("while all is good, a slow device has itself a bad way to the gateway", () => {
  expect(found(GOOD, GOOD, NEAR)).toEqual({
    result: "ok",
    found:
      "the main tunnel is good (20 ms, 0 % lost); the tunnel tv is good (20 ms, 0 % lost); the uplink to the home router is good (1 ms, 0 % lost). If a device is slow all the same, it is its own way to the gateway: its Wi-Fi or cable",
    advice: null,
  });
});

test.each([
  [
    "a lossy uplink is the reason for everything behind it",
    LOSSY,
    GOOD,
    { ...NEAR, state: "lossy" },
    /^Main tunnel: The uplink to the home router is lossy .* itself/,
  ],
  [
    "a tunnel that is good by the same line leaves the server",
    SLOW,
    GOOD,
    NEAR,
    /The uplink .* is good\. The tunnel tv is good by the same line, so it is the server or its provider/,
  ],
  ["two that are not good leave the line", SLOW, LOSSY, NEAR, /No tunnel is good, so it is the line/],
  ["a tunnel alone leaves both", SLOW, null, NEAR, /the line to the internet, the server or its provider/],
  [
    "of an uplink that is not measured nothing is said",
    SLOW,
    GOOD,
    null,
    /^Main tunnel: The tunnel tv is good/,
  ],
  [
    "an uplink can be slow before a tunnel is",
    GOOD,
    null,
    { ...NEAR, state: "slow" },
    /^The uplink to the home router is slow/,
  ],
] as const)("%s", (_, main, second, uplink, advice) => {
  const finding = found(main, second, uplink);
  expect(finding?.result).toBe("warning");
  expect(finding?.advice).toMatch(advice);
});
