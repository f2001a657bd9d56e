import { afterEach, beforeEach, expect } from "bun:test";
import fc from "fast-check";
import type { Mac } from "../../src/base/mac.ts";
import { expositionOf } from "../../src/http/exposition.ts";
import { slow } from "../fast.ts";
import { PUBLIC } from "../servers/example.ts";
import { parseExposition } from "./exposition.ts";
import { Home } from "./home.ts";

const { test } = slow;

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const ENDPOINT = "192.0.2.1:51820";
const scrape = async () => parseExposition((await home.send("GET", "/metrics")).text);

async function figure(name: string, labels: Record<string, string> = {}) {
  return (await scrape())
    .get(name)
    ?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;
}

// The whole text of a home in which everything is used: tests/golden/metrics.txt.
test("a handshake has the parts of its second, a counter all of its bytes, and each connect is in its bucket", async () => {
  const { host, parts } = home;
  // A program's WireGuard tells the parts of seconds too.
  host.native = false;
  for (const takes of [100, 400, 9_000]) {
    await parts.controller.disconnect();
    host.roundTrips.set(ENDPOINT, takes);
    const connecting = parts.connects.connect({ server: "se-1" });
    await host.pass(takes + 100);
    await connecting;
  }
  host.removeTable();
  await parts.killSwitch.mend();
  const peer = host.links.get("wg0")?.device?.peer;
  if (peer) peer.received.bytes = 9_007_199_254_740_991;
  const { text, headers } = await home.again("GET", "/metrics");
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const metrics = parseExposition(text);
  // What a home does not use has no series.
  expect(metrics.size).toBe(26);
  const valuesOf = (name: string) => metrics.get(name)?.samples.map(({ value }) => value);
  expect(valuesOf("wireguard_received_bytes_total")).toEqual([9_007_199_254_740_991]);
  expect(valuesOf("wireguard_latest_handshake_seconds")).toEqual([1_700_000_009.95]);
  expect(valuesOf("portcullis_security_alerts_total")).toEqual([2]);
  const durations = valuesOf("portcullis_connect_duration_seconds") ?? [];
  expect(durations.toSpliced(-2, 1)).toEqual([0, 0, 0, 1, 2, 2, 2, 2, 2, 3, 3, 3]);
  // The handshake is looked for every 100 ms at the least.
  expect(durations.at(-2)).toBeWithin(9.5, 9.8);
});

test("without a tunnel there are no figures of WireGuard", async () => {
  const names = [...(await scrape()).keys()];
  expect(names.filter((name) => name.startsWith("wireguard_"))).toEqual([]);
  expect(names).toContain("portcullis_connected");
});

test("a tunnel without a handshake has its time at 0", async () => {
  await home.connect();
  // Somebody has set the interface anew, and the server is away by now.
  home.host.silent.add(ENDPOINT);
  const peer = home.host.links.get("wg0")?.device?.peer;
  if (peer) peer.latestHandshake = 0;
  const labels = { interface: "wg0", public_key: PUBLIC, tunnel: "main" };
  expect(await figure("wireguard_latest_handshake_seconds", labels)).toBe(0);
});

test("connected and kill switch are 1 or 0, and exactly one state is 1", async () => {
  const { host, parts } = home;
  const expectFigures = async (state: string, killSwitch: number) => {
    const metrics = await scrape();
    const samples = metrics.get("portcullis_state")?.samples ?? [];
    expect(samples.filter(({ value }) => value === 1).map(({ labels }) => labels)).toEqual([{ state }]);
    expect(samples).toHaveLength(5);
    expect(await figure("portcullis_connected")).toBe(Number(state === "connected"));
    expect(await figure("portcullis_killswitch_active")).toBe(killSwitch);
  };
  await expectFigures("disconnected", 1);
  const held = home.hold("wg setconf wg0 /dev/stdin");
  const connecting = parts.connects.connect({ server: "se-1" });
  await held.begun;
  await expectFigures("connecting", 1);
  held.release();
  await connecting;
  await expectFigures("connected", 1);
  for (let count = 0; count < 12; count += 1) parts.tunnels.main.quality.quality.add(20);
  const qualities = async () => [
    await figure("portcullis_tunnel_loss_ratio", { tunnel: "main" }),
    (await parts.overview.status()).quality?.state,
    (await parts.overview.rows())[0]?.quality?.state,
  ];
  expect(await qualities()).toEqual([0, "good", "good"]);
  parts.controller.lost("the server is dead");
  await expectFigures("reconnecting", 1);
  // What was measured before says nothing now.
  expect(await qualities()).toEqual([undefined, undefined, undefined]);
  await parts.controller.disconnect();
  host.silent.add(ENDPOINT);
  const failing = parts.connects.connect({ server: "se-1" }).catch(() => {});
  await host.pass(11_000);
  await failing;
  await expectFigures("failed", 1);
  await parts.operatorSwitch.turn(false);
  await expectFigures("failed", 0);
});

test("whatever is in a label or in a help text is read back as it was", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[\\"\n,={} n]*$/));
  fc.assert(
    fc.property(text, text, (label, tail) => {
      const help = `x${tail}`;
      const samples = [{ labels: { label }, value: 1 }];
      const metric = parseExposition(expositionOf([{ name: "m", help, of: () => samples }], null)).get("m");
      expect(metric).toEqual({ type: "gauge", help, samples: [{ name: "m", ...samples[0] }] } as never);
    }),
  );
});

test("the only key in it is the server's public one", async () => {
  await home.connect();
  const { text } = await home.send("GET", "/metrics");
  expect(new Set(text.match(/[A-Za-z0-9+/]{43}=/g))).toEqual(new Set([PUBLIC]));
});

test("a scrape is not limited", async () => {
  for (let i = 0; i < 15; i++) expect((await home.again("GET", "/metrics")).status).toBe(200);
  const { headers } = await home.again("GET", "/metrics");
  expect(headers.has("x-ratelimit-limit")).toBe(false);
});

test("scrapes that come together are answered by few readings", async () => {
  const { overview } = home.parts;
  const status = overview.status;
  let readings = 0;
  const slowly = async () => {
    readings += 1;
    await Bun.sleep(50);
    return status();
  };
  Object.assign(overview, { status: slowly });
  const answers = await Promise.all(Array.from({ length: 20 }, () => home.again("GET", "/metrics")));
  Object.assign(overview, { status });
  expect(new Set(answers.map(({ status: code, text }) => `${code} ${text.includes("killswitch")}`))).toEqual(
    new Set(["200 true"]),
  );
  expect(readings).toBeLessThan(10);
});

test("figures that cannot be read are an error in JSON, as everywhere", async () => {
  // Without WireGuard in the kernel it is asked through its socket, and that answer is needed.
  home.host.native = false;
  await home.connect();
  home.host.onEvent = (event) => {
    if (event === "uapi get") throw new Error("boom");
  };
  const { status, json } = await home.send("GET", "/metrics");
  expect({ status, json }).toEqual({ status: 500, json: { success: false, error: "internal error" } });
});

test("quality has a series for each tunnel and for the uplink once it is measured, and none before", async () => {
  const { parts } = home;
  await parts.connects.connect({ server: "se-1" });
  expect(await figure("portcullis_tunnel_round_trip_seconds", { tunnel: "main" })).toBeUndefined();
  const { quality } = parts.tunnels.main.quality;
  for (const ms of [20, 30, null, null]) quality.add(ms);
  parts.tunnels.uplink.quality.add(2);
  expect(await figure("portcullis_tunnel_round_trip_seconds", { tunnel: "main" })).toBe(0.025);
  expect(await figure("portcullis_tunnel_round_trip_variation_seconds", { tunnel: "main" })).toBe(0.01);
  expect(await figure("portcullis_tunnel_loss_ratio", { tunnel: "main" })).toBe(0.5);
  expect(await figure("portcullis_uplink_round_trip_seconds")).toBe(0.002);
  expect(await figure("portcullis_uplink_round_trip_variation_seconds")).toBeUndefined();
  expect(await figure("portcullis_uplink_loss_ratio")).toBe(0);
});

test("each rate and each quota has series while there is one, and a scrape runs no program for them", async () => {
  const { host, parts } = home;
  const limited = async () => {
    const { text } = await home.send("GET", "/metrics");
    return text.split("\n").filter((line) => /^portcullis_(device|shared)_/.test(line));
  };
  expect(await limited()).toEqual([]);
  const [tv, phone] = ["02:00:00:00:00:20", "02:00:00:00:00:30"];
  await parts.devices.assign(tv, { rate: { down: 20, up: null }, quota: { megabytes: 500, every: "day" } });
  await parts.devices.assign(phone, { rate: { down: 0.1, up: 5.5 } });
  await parts.devices.setSharedRate({ down: null, up: 50 });
  await parts.devices.setSharedQuota({ megabytes: 20_000, every: "month", at_end: "told" });
  host.useQuotas(1_234);
  await parts.devices.list();
  host.commands.length = 0;
  expect(await limited()).toHaveLength(8);
  expect(host.commands.filter((command) => /quota|limits/.test(command))).toEqual([]);
  // The rate in force, as a schedule gives it.
  await parts.devices.byTime.rate.schedule(tv as Mac, { down: 1, up: 1 });
  await parts.devices.byTime.rate.schedule(phone as Mac, null);
  expect((await limited()).filter((line) => line.startsWith("portcullis_device_rate"))).toEqual([
    `portcullis_device_rate_bytes_per_second{device="${tv}",direction="down"} 125000`,
    `portcullis_device_rate_bytes_per_second{device="${tv}",direction="up"} 125000`,
  ]);
  for (const id of [tv, phone]) await parts.devices.assign(id, { rate: null, quota: null });
  await parts.devices.setSharedRate(null);
  await parts.devices.setSharedQuota(null);
  expect(await limited()).toEqual([]);
  await parts.devices.networks.set("lan0", {
    rate: { down: 20, up: null },
    quota: { megabytes: 500, every: "day" },
  });
  expect(
    await figure("portcullis_network_rate_bytes_per_second", { network: "lan0", direction: "down" }),
  ).toBe(2_500_000);
  expect(await figure("portcullis_network_quota_bytes", { network: "lan0", period: "day" })).toBe(
    500_000_000,
  );
  // Nobody takes them for a device's or the shared ones.
  expect([await limited(), parts.devices.limitedCount]).toEqual([[], 0]);
});
