import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Look, Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const TV = "02:00:00:00:00:20";
/** Of a phone. */
const PHONE: Look = { width: 360, scheme: "light" };
const HEIGHT = 780;

let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
  for (const { mac, name } of rig.lab.sandbox.computers)
    await rig.gateway.api("PUT", `/api/devices/${mac}`, { name });
  // Enough for a search.
  for (let host = 1; host <= 6; host += 1)
    await rig.gateway.api("PUT", `/api/devices/02:00:00:00:01:0${host}`, { name: `Lamp ${host}` });
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const open = (hash: string, look?: Look) => rig.browser.open(`${rig.url}${hash}`, look);

/** What is in the field or choice with this label. */
const inputOf = (tab: Tab, selector: string) =>
  tab.page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.value ?? null`);

const pressed = (tab: Tab) => tab.text("main [aria-pressed=true]");

test("a link leads to a device: it is open and in sight, a keyboard goes on there, and a reload changes nothing", async () => {
  const tab = await open(`#/devices/${encodeURIComponent(TV)}`, PHONE);
  for (const isAgain of [false, true]) {
    if (isAgain) await tab.page.reload();
    await tab.shows(".device-details", `MAC address ${TV}`);
    await tab.focuses("Close TV");
    const { top, bottom } = (await tab.page.evaluate(
      `(({ top, bottom }) => ({ top, bottom }))(document.querySelector(".device:has(.device-details) .device-line").getBoundingClientRect())`,
    )) as { top: number; bottom: number };
    expect({ isAbove: top < 0, isBelow: bottom > HEIGHT }).toEqual({ isAbove: false, isBelow: false });
  }
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Close TV");
  await tab.loses(".device-details");
  expect(await tab.page.evaluate("location.hash")).toBe("#/devices");
  await tab.click("Edit TV");
  await tab.shows(".device-details", TV);
  expect(await tab.page.evaluate("location.hash")).toBe(`#/devices/${encodeURIComponent(TV)}`);
  expect(tab.complaints).toEqual([]);
});

test("a link to a device that is not there says so, whatever somebody has typed", async () => {
  for (const [hash, shown] of [
    [encodeURIComponent("02:00:00:00:00:99"), "02:00:00:00:00:99"],
    ["%E0%A4%A", "%E0%A4%A"],
  ]) {
    const tab = await open(`#/devices/${hash}`);
    await tab.shows(".outcome.failed", `The gateway does not know the device ${shown}`);
    await tab.shows("main", "TV");
    expect(tab.complaints).toEqual([]);
  }
});

/** Goes to Devices as soon as the page is drawn; the event comes before the page listens. */
const AT_ONCE = `addEventListener("hashchange", (event) => event.stopImmediatePropagation(), { once: true });
new MutationObserver((_, self) => {
  if (document.querySelector(".navigation .brand") === null) return;
  self.disconnect();
  location.hash = "#/devices";
}).observe(document, { childList: true, subtree: true })`;

test("an address that changes in the moment in which the page is first drawn leads there", async () => {
  const tab = await rig.browser.open(rig.url, PHONE, AT_ONCE);
  await tab.shows("main h1", "Devices");
});

test("an address that somebody has kept opens its view at once, in its entry and tab", async () => {
  const tab = await open("");
  for (const [view, title] of Object.entries(VIEWS)) {
    await tab.page.goto(`${rig.url}#/${view}`);
    await tab.page.reload();
    await tab.page.waitForFunction(`document.title === ${JSON.stringify(`${title} · Portcullis`)}`);
    await tab.shows("main h1", /./);
    const current = `[...document.querySelectorAll("main .tabs [aria-current], .navigation a[aria-current=page]")].map((each) => each.innerText.trim()).at(-1) ?? null`;
    expect([view, await tab.page.evaluate(current)]).toEqual([view, view === "setup" ? null : title]);
  }
  expect(tab.complaints).toEqual([]);
});

test("the history names devices, and leads to them", async () => {
  const tab = await open("#/history");
  await tab.shows(".total", "By device");
  const links = `[...document.querySelectorAll(".total a")].map((each) => each.getAttribute("href"))`;
  for (const link of (await tab.page.evaluate(links)) as string[])
    expect(link).toMatch(/^#\/(devices\/02%3A00%3A00%3A00%3A|tunnels$)/);
});

test("what was chosen and typed in a view is there after a reload, and when the browser goes back", async () => {
  const tab = await open("#/devices");
  await tab.shows("main", "Lamp 1");
  await tab.page.type("main input[type=search]", "lamp");
  await tab.loses(`main [aria-label="Edit TV"]`);
  const isKept = async () => {
    await tab.shows("main", "Lamp 6");
    expect(await inputOf(tab, "main input[type=search]")).toBe("lamp");
    expect(await tab.text(`main [aria-label="Edit TV"]`)).toBeNull();
  };
  await tab.page.reload();
  await isKept();
  await tab.click("System");
  await tab.click("History");
  await tab.click("Last day");
  await tab.shows("main [aria-pressed=true]", "Last day");
  await tab.page.reload();
  await tab.shows("main [aria-pressed=true]", "Last day");
  await tab.page.goBack();
  await tab.shows("h1", "Settings");
  await tab.page.goBack();
  await isKept();
  // A new way to the view begins anew.
  await tab.click("System");
  await tab.click("Log");
  await tab.click("Alerts");
  await tab.page.reload();
  await tab.shows("main [aria-pressed=true]", "Alerts");
  expect(await pressed(tab)).toBe("Alerts");
  await tab.click("Devices");
  await tab.shows("main", "TV");
  expect(await inputOf(tab, "main input[type=search]")).toBe("");
  expect(tab.complaints).toEqual([]);
});

test("a reload stays at the same place of a long view", async () => {
  const tab = await open("#/devices", PHONE);
  await tab.shows("main", "Lamp 6");
  await tab.page.evaluate("scrollTo(0, 300)");
  await tab.page.waitForFunction("history.state?.top === 300");
  await tab.page.reload();
  await tab.page.waitForFunction("scrollY === 300");
  // Not where there is not so much.
  await tab.page.evaluate(`location.hash = "#/log"`);
  await tab.page.waitForFunction(`document.title.startsWith("Log") && scrollY === 0`);
});

test("what another version of the page has kept is not taken", async () => {
  const tab = await open("#/history");
  await tab.shows("main [aria-pressed=true]", "Last hour");
  await tab.page.evaluate(`history.replaceState({ span: "decade", whose: 7, figures: "yes" }, "")`);
  await tab.page.reload();
  await tab.shows("main [aria-pressed=true]", "Last hour");
  expect(tab.complaints).toEqual([]);
});
