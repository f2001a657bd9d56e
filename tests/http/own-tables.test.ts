import { afterEach, beforeEach, expect } from "bun:test";
import { BOUNDS_TABLE } from "../../src/network/bounds-table.ts";
import { LIMITS_TABLE } from "../../src/network/limits-table.ts";
import { nftTable, OWN_TABLES } from "../../src/network/own-table.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { Home } from "./home.ts";

const { test } = slow;

let home: Home;
let stopping: AbortController;
beforeEach(async () => {
  stopping = new AbortController();
  home = await Home.start();
});
afterEach(async () => {
  stopping.abort();
  await home.stop();
});

test("changes of which the kernel tells before they are checked are checked once", async () => {
  const { host, parts } = home;
  void parts.bounds.watch(stopping.signal);
  await until(async () => (await parts.bounds.refused()) !== null);
  const checks = () =>
    host.commands.filter((command) => command.endsWith(`list table ${BOUNDS_TABLE}`)).length;
  const before = checks();
  for (let time = 0; time < 50; time += 1)
    parts.events.publish({ type: "other_firewalls_changed", payload: null });
  await until(() => checks() > before);
  await parts.bounds.check();
  expect(checks()).toBe(before + 2);
});

test("when the kernel tells of a change, the service makes each of its tables and queues again", async () => {
  const { host, parts } = home;
  void parts.bounds.watch(stopping.signal);
  void parts.fairQueues.keep(stopping.signal);
  await home.send("PUT", "/api/settings", { line: { down: 90, up: 18 } });
  const rate = JSON.stringify({ rate: { down: 20, up: 5 } });
  expect((await home.send("PUT", "/api/devices/02:00:00:00:00:20", rate)).status).toBe(200);
  await home.send("GET", "/api/devices");
  const listing = () =>
    Promise.all(
      OWN_TABLES.map((table) =>
        nftTable(host, table, String, table === LIMITS_TABLE ? ["-s"] : undefined).list(),
      ),
    );
  await until(async () => !(await listing()).includes(null));
  const before = [await listing(), host.tc.wordsOf("lan0")];
  for (const table of OWN_TABLES) host.meddle(table, "dormant");
  host.tc.alter("lan0", null);
  const now = async () => [await listing(), host.tc.wordsOf("lan0")];
  expect(await now()).not.toEqual(before);
  parts.events.publish({ type: "other_firewalls_changed", payload: null });
  await until(async () => JSON.stringify(await now()) === JSON.stringify(before));
});
