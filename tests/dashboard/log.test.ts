import { Database } from "bun:sqlite";
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const DAY_MS = 86_400_000;
/** More than the gateway answers at once. */
const OLD = 700;

let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.kill("SIGTERM");
  writeOld();
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/log`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** Days of a tunnel that loses its server, and one alert long before. */
function writeOld(): void {
  const file = join(rig.lab.sandbox.directory, "state", "portcullis.db");
  const database = new Database(file);
  const insert = database.query("INSERT INTO events (at, content) VALUES ($at, $content)");
  const now = Date.now();
  const alert = { type: "security_alert", code: "firewall_restored", message: "The firewall is back" };
  const state = { type: "tunnel_state", tunnel: "old", server: "box-vpn-1", location: "Gothenburg, Sweden" };
  database.transaction(() => {
    insert.run({ $at: now - 30 * DAY_MS, $content: JSON.stringify(alert) });
    for (let index = 0; index < OLD; index++) {
      const happening = { ...state, state: index % 2 ? "connected" : "reconnecting", error: null };
      insert.run({ $at: now - 3 * DAY_MS + index * 1_000, $content: JSON.stringify(happening) });
    }
  })();
  database.close();
}

const flush = () => rig.lab.exec(rig.lab.namespaces.gateway, ["nft", "flush", "table", "inet", "portcullis"]);
const FLUSHED = "Alert: The firewall";
const count = async () => Number(await tab.page.evaluate(`document.querySelectorAll(".day li").length`));

test("events are by day, the latest first, in the reader's locale, and new ones come by themselves", async () => {
  await tab.shows(".day:last-of-type h2", /^\w+day,? \d+ \w+ \d{4}$/);
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await tab.shows(".day:first-of-type", "Main tunnel: connected to Gothenburg, Sweden (box-vpn-1).");
  await tab.shows(".day:first-of-type h2", /^Today$/);
  await tab.shows(".day time", /^\d\d:\d\d:\d\d$/);
  await rig.gateway.api("POST", "/api/disconnect");
  await tab.shows(".day li:first-child", "Main tunnel: disconnected.");
  expect(await tab.barriers()).toEqual([]);
});

test("an alert is there as soon as it happens", async () => {
  await tab.shows(".day:last-of-type h2", /\d/);
  await flush();
  await tab.shows(".day:first-of-type", FLUSHED);
});

test("older events come on demand, until there are none", async () => {
  await until(async () => (await count()) > 0);
  const before = await count();
  await tab.click("Older events");
  await until(async () => (await count()) > before);
  while (await tab.text(".log > .button")) {
    const known = await count();
    await tab.click("Older events");
    await until(async () => (await count()) > known || (await tab.text(".log > .button")) === null);
  }
  expect(await count()).toBeGreaterThan(OLD);
  await tab.shows("main", "The firewall is back");
});

test("the filter shows alerts, tunnels or one tunnel, and looks for older ones of its kind", async () => {
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.gateway.api("POST", "/api/disconnect");
  await tab.shows("main", "Main tunnel: disconnected.");
  await flush();
  await tab.shows(".day:first-of-type", FLUSHED);
  await tab.page.reload();
  await tab.click("Alerts");
  await tab.shows(".day:first-of-type", FLUSHED);
  expect(await tab.text("main")).not.toContain("Main tunnel:");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Older events");
  await tab.shows("main", "The firewall is back");
  await tab.click("Tunnel old");
  await tab.shows("main", "Tunnel old: no answer from Gothenburg, Sweden (box-vpn-1)");
  expect(await tab.text("main")).not.toContain("Main tunnel:");
  await tab.page.click(".chip:nth-child(3)");
  await tab.shows("main", "Main tunnel: disconnected.");
  expect(await tab.text("main")).not.toContain("Alert:");
});
