import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { playHistory } from "../rig/dashboard/played-history.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

/** Some seconds in which the traffic goes on. */
const WATCHED_MS = 5_000;

let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  const [laptop] = rig.lab.sandbox.computers;
  await rig.gateway.api("PUT", `/api/devices/${laptop?.mac}`, { name: "Laptop" });
  await rig.gateway.kill("SIGTERM");
  playHistory(rig);
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/history`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const rows = async (selector: string) =>
  Number(await tab.page.evaluate(`document.querySelectorAll("${selector}").length`));

test("Home's graph begins with what the gateway knows, and its last time is whole", async () => {
  await tab.page.evaluate(`location.hash = "#/"`);
  // What was received, left of the middle: before the page was opened.
  const isDrawn = `(() => {
      const graph = document.querySelector(".traffic .graph");
      const box = graph?.querySelector(".received")?.getBoundingClientRect();
      return box !== undefined && box.height > 0 && box.left < graph.getBoundingClientRect().left + graph.clientWidth / 2;
    })()`;
  await tab.page.waitForFunction(isDrawn);
  const cut = `[...document.querySelectorAll(".traffic .graph text")].filter((each) => {
      const [{ left, right }, graph] = [each, each.closest(".graph")].map((one) => one.getBoundingClientRect());
      return left < graph.left || right > graph.right;
    }).map((each) => each.textContent)`;
  expect(await tab.page.evaluate(cut)).toEqual([]);
  expect(await tab.barriers()).toEqual([]);
});

test("the last hour: what was carried, by whom, and the outage with its cause", async () => {
  await tab.shows(".rates .received", /^[\d.]+ [GM]B received$/);
  await tab.shows("main", "Shaded: the main tunnel was not connected.");
  await tab.shows("main", "Main tunnel: no answer from Gothenburg, Sweden (box-vpn-1).");
  await tab.shows("main", "The server has not answered for 3 minutes.");
  await tab.shows(".card:nth-of-type(2)", /^By device Device Received Sent Laptop [\d.]+ MB/);
  await tab.shows(".card:nth-of-type(3)", /^By tunnel Tunnel Received Sent main /);
  const label = String(await tab.page.evaluate(`document.querySelector(".graph").ariaLabel`));
  expect(label).toMatch(/^Graph of the rates: received [\d.]+ Mbit\/s at most, sent .* at most\. The times/);
  expect(await tab.barriers()).toEqual([]);
});

test("the last day and two months, and the graph as a table", async () => {
  await tab.click("Last day");
  await tab.shows(".chip[aria-pressed=true]", "Last day");
  await tab.shows(".rates .received", /^[\d.]+ GB received$/);
  await tab.page.click(".figures summary");
  await tab.shows(".figures table", /^From Received Sent \d\d:\d\d [\d.]+ [GM]B/);
  expect(await rows("details.figures tbody tr")).toBeWithin(24, 26);
  await tab.click("Two months");
  await tab.shows(".figures table", /^Day Received Sent \d+ \w+ [\d.]+ GB/);
  expect(await rows("details.figures tbody tr")).toBeWithin(61, 63);
  expect(await tab.barriers()).toEqual([]);
});

test("one device's traffic, and none of a device that is forgotten", async () => {
  await tab.choose("Whose traffic", "Laptop");
  const [laptop] = rig.lab.sandbox.computers;
  await tab.shows(".rates .received", /^[\d.]+ [GM]B received$/);
  await rig.gateway.api("DELETE", `/api/devices/${laptop?.mac}`);
  await tab.page.reload();
  await tab.shows(".card:nth-of-type(2)", /^By device Device Received Sent \S/);
  expect(await tab.text(".card:nth-of-type(2)")).not.toContain("Laptop");
  expect(await tab.text(".card:nth-of-type(2)")).not.toContain(laptop?.mac ?? "");
});

test("it is read again once a minute at most, and by keyboard alone everything can be chosen", async () => {
  await tab.page.waitForNetworkIdle({ idleTime: 2_000 });
  const before = tab.urls.length;
  await Bun.sleep(WATCHED_MS);
  expect(tab.urls.slice(before).filter((url) => url.includes("/api/history")).length).toBeLessThan(2);
  await tab.page.focus(".chip:nth-child(2)");
  await tab.press("Enter");
  await tab.shows(".chip[aria-pressed=true]", "Last day");
  await tab.press("Tab");
  await tab.press("Tab");
  await tab.focuses("Whose traffic");
  expect(tab.complaints).toEqual([]);
});
