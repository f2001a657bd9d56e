import { afterAll, expect } from "bun:test";
import type { DeviceId } from "../../src/devices/id.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
afterAll(() => home.stop());

const URL = "https://lists.example/ads.txt";
const put = (body: object) => home.send("PUT", "/api/dns/lists", body);
const lists = async () => (await home.send("GET", "/api/dns/lists")).json;

test("without a list there is no resolver, and nothing is counted", async () => {
  expect((await home.send("GET", "/api/dns")).json).toEqual({
    ...{ state: "off", reason: null, asked: 0, local: 0, cached: 0, blocked: 0, refused: 0 },
    ...{ failed: 0, devices: [], blocked_names: 0, paused_until: null, logged_until: null },
  });
  expect(await lists()).toEqual({ lists: [], exceptions: [], private_names: [], block_doh: false });
});

test("lists are kept as they were given, and a bad one is refused and named", async () => {
  const answer = await put({
    lists: [{ url: URL, devices: ["02:00:00:00:00:20"] }],
    exceptions: ["Good.example"],
  });
  expect(answer.text).toBe('{"success":true}');
  const shown = {
    lists: [
      {
        url: URL,
        devices: ["02:00:00:00:00:20"],
        on: true,
        names: 0,
        skipped: 0,
        fetched_at: null,
        error: null,
      },
    ],
    exceptions: ["good.example"],
    private_names: [],
    block_doh: false,
  };
  expect(await lists()).toEqual(shown);
  const bad = await put({ lists: [{ url: URL, devices: ["nobody"] }] });
  expect(bad.status).toBe(400);
  expect(bad.json.error).toStartWith("lists[0].devices: must be a MAC address");
  expect((await put({ lists: [{ url: "http://lists.example/" }] })).json.error).toBe(
    "lists[0].url: must be an https address",
  );
  expect(await lists()).toEqual(shown);
  expect((await put({ lists: [] })).status).toBe(200);
});

test("the metrics have what was asked and how that ended, in numbers only", async () => {
  const counts = { asked: 9, local: 1, cached: 2, blocked: 3, refused: 4, failed: 5 };
  const none = { ...home.parts.dns.counts };
  Object.assign(home.parts.dns.counts, counts);
  const lines = (await home.send("GET", "/metrics")).text.split("\n");
  Object.assign(home.parts.dns.counts, none);
  expect(lines.filter((line) => line.startsWith("portcullis_dns_"))).toEqual(
    [
      ...["resolver 0", "blocked_names 0", "queries_total 9", "local_total 1", "cached_total 2"],
      ...["blocked_total 3", "refused_total 4", "failed_total 5"],
    ].map((line) => `portcullis_dns_${line}`),
  );
});

test("each device has its own figures, by its name, in the interface and by its address in the metrics", async () => {
  const [tv, other] = ["02:00:00:00:00:20", "02:00:00:00:00:30"] as [DeviceId, DeviceId];
  await home.send("PUT", `/api/devices/${tv}`, { name: "TV" });
  const { byDevice } = home.parts.dns;
  byDevice.asked(other);
  for (let count = 0; count < 3; count += 1) byDevice.asked(tv);
  byDevice.blocked(tv);
  expect((await home.send("GET", "/api/dns")).json.devices).toEqual([
    { id: tv, name: "TV", asked: 3, blocked: 1 },
    { id: other, name: "", asked: 1, blocked: 0 },
  ]);
  const { text } = await home.send("GET", "/metrics");
  expect(text).toContain(`portcullis_dns_device_queries_total{device="${tv}"} 3\n`);
  expect(text).toContain(`portcullis_dns_device_blocked_total{device="${tv}"} 1\n`);
  expect(text).not.toContain("TV");
});

test("a pause is for minutes, and ends, and open pages hear of it", async () => {
  const paused: unknown[] = [];
  home.parts.events.subscribe("dns_update", ({ payload }) => paused.push(payload.paused_until));
  const pause = (body: object) => home.send("POST", "/api/dns/pause", body);
  expect((await pause({})).status).toBe(200);
  expect((await home.send("GET", "/api/dns")).json.paused_until).toEndWith("Z");
  expect((await pause({ minutes: 0 })).status).toBe(200);
  expect((await home.send("GET", "/api/dns")).json.paused_until).toBeNull();
  expect((await pause({ minutes: 61 })).status).toBe(400);
  expect(paused).toEqual([expect.stringMatching(/Z$/), null]);
});
