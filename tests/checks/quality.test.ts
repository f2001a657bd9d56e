import { expect, test } from "bun:test";
import { qualityFinding } from "../../src/checks/quality.ts";
import type { Quality } from "../../src/tunnel/quality-facts.ts";

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

/** Those of the names in `unjudged` have had too few questions. */
const found = (
  main: Quality | null,
  second: Quality | null,
  uplink: Quality | null,
  ...unjudged: ("main" | "tv" | "uplink")[]
) => {
  const way = <Name extends "main" | "tv" | "uplink">(name: Name, quality: Quality | null) =>
    quality === null ? [] : [{ name, quality, isJudged: !unjudged.includes(name) }];
  return qualityFinding({
    tunnels: [...way("main", main), ...way("tv", second)],
    uplink: way("uplink", uplink)[0] ?? null,
  });
};

test("what is not measured is not checked", () => {
  expect(found(null, null, null)).toBeNull();
});

test("while all is good, a slow device has itself a bad way to the gateway", () => {
  expect(found(GOOD, GOOD, NEAR)).toMatchObject({
    result: "ok",
    found:
      "round trip and loss in tunnels: main 20 ms, 0 %; tv 20 ms, 0 %; to the home router: 1 ms, 0 %. If a device is slow all the same, it is its own way to the gateway: its Wi-Fi or cable",
    advice: null,
  });
});

test.each([
  [
    "a lossy uplink is the reason for everything behind it",
    LOSSY,
    GOOD,
    { ...NEAR, state: "lossy" },
    /^The uplink to the home router is lossy itself/,
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
  ["of an uplink that is not measured nothing is said", SLOW, GOOD, null, /^The tunnel tv is good/],
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

test.each([
  [
    "a tunnel that was hardly asked does not blame the server",
    found(SLOW, GOOD, NEAR, "tv"),
    /^The uplink to the home router is good\. Whether another tunnel is good is not known yet\. It is the line to the internet, the server or its provider/,
  ],
  [
    "nor the line",
    found(SLOW, LOSSY, NEAR, "tv"),
    /good\. Whether another tunnel is good is not known yet\. It is the line to the internet, the server/,
  ],
  [
    "an uplink that was hardly asked is neither good nor the reason",
    found(SLOW, null, { ...NEAR, state: "lossy" }, "uplink"),
    /^Whether the uplink to the home router is good is not known yet\. It is the line/,
  ],
] as const)("%s", (_, finding, advice) => {
  expect(finding?.result).toBe("warning");
  expect(finding?.advice).toMatch(advice);
});

test("ways that were hardly asked are neither good nor bad, and no device is blamed", () => {
  expect(found(GOOD, SLOW, NEAR, "main", "tv", "uplink")).toMatchObject({
    result: "ok",
    found: "round trip and loss in tunnels: main ?; tv ?; to the home router: ?",
    advice: null,
  });
});
