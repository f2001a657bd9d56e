import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Device } from "../../src/devices/schema.ts";
import type { ScheduleList } from "../../src/schedules/schema.ts";
import { COUNTS_CLICKS, type Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

setDefaultTimeout(TIMEOUT_MS);

/** What people want of the page, each with the clicks that it may take from Home. */

const TV = "02:00:00:00:00:20";
const CONSOLE = "02:00:00:00:00:30";
const DIALOG = "dialog[open]";
let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.gateway.api("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  await rig.gateway.api("PUT", `/api/devices/${TV}`, { name: "TV" });
  await rig.gateway.api("PUT", `/api/devices/${CONSOLE}`, { name: "Console" });
  await rig.send();
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  await rig.gateway.hearsHome();
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const open = async () => {
  tab = await rig.browser.open(rig.url, undefined, COUNTS_CLICKS);
  await tab.shows(".picture", "Console");
};
const deviceAt = async (id: string): Promise<Device> =>
  (await rig.gateway.api("GET", "/api/devices")).body.devices.find((each: Device) => each.id === id);

test("the TV goes through another country after two clicks, and the picture says so", async () => {
  await open();
  await tab.click("TV");
  await tab.shows(DIALOG, "TV main · Gothenburg, Sweden");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("amsterdam · Amsterdam, Netherlands");
  await tab.shows(`${DIALOG} .about-device`, "amsterdam · Amsterdam, Netherlands");
  expect((await deviceAt(TV)).exit).toBe("amsterdam");
  expect(await tab.clicks()).toBe(2);
  await tab.press("Escape");
  await tab.shows(".picture", "1 device goes through Amsterdam, Netherlands");
});

test("a console has no internet at night after three clicks, by a schedule that two more end", async () => {
  const schedules = async () =>
    ((await rig.gateway.api("GET", "/api/schedules")).body as ScheduleList).schedules;
  await open();
  await tab.click("Console");
  await tab.click("No internet at night…");
  await tab.focuses("From");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Block it at night");
  await until(async () => (await schedules()).length === 1);
  expect(await tab.clicks()).toBe(3);
  expect(await schedules()).toMatchObject([
    { name: "Console at night", device: CONSOLE, exit: "blocked", at: "21:00", until: "07:00" },
  ]);
  await tab.click("No longer blocked from 21:00 to 07:00 the next day, each day");
  await until(async () => (await schedules()).length === 0);
});

test("a device is paused after two clicks, and has its exit again after one more", async () => {
  await open();
  await tab.click("TV");
  await tab.click("Pause for 30 minutes");
  await tab.shows(DIALOG, "Paused until");
  expect(await tab.barriers()).toEqual([]);
  expect(await tab.clicks()).toBe(2);
  expect((await deviceAt(TV)).exit).toBe("blocked");
  await tab.click("Resume");
  await tab.shows(DIALOG, "Pause for 30 minutes");
  expect((await deviceAt(TV)).exit).toBe("main");
});

test("a device has no internet after two clicks, and has it again after one more", async () => {
  await open();
  await tab.click("Console");
  await tab.click("No internet");
  await tab.shows(`${DIALOG} .about-device`, "blocked · no internet");
  expect([(await deviceAt(CONSOLE)).exit, await tab.clicks()]).toEqual(["blocked", 2]);
  await tab.click("Internet again, by the default exit");
  await tab.shows(`${DIALOG} .about-device`, "main · Gothenburg, Sweden");
  expect(await deviceAt(CONSOLE)).toMatchObject({ exit: "main", assigned: false });
});

test("advertisements are blocked for one device after two clicks, and for no other", async () => {
  const lists = async () => (await rig.gateway.api("GET", "/api/dns/lists")).body.lists;
  await open();
  await tab.click("TV");
  await tab.click("Block advertisements");
  await tab.shows(DIALOG, "The list is fetched through the tunnel.");
  expect(await lists()).toMatchObject([{ url: "https://small.oisd.nl/", devices: [TV], on: true }]);
  expect(await tab.clicks()).toBe(2);
  await tab.click("Allow advertisements");
  // With no device, it would be for all.
  await until(async () => (await lists()).length === 0);
});

test("a phone is added by a name and three clicks", async () => {
  expect((await rig.gateway.operate("remote", "on", "--endpoint", "198.51.100.2")).code).toBe(0);
  await open();
  await tab.click("Remote");
  await tab.click("Add a device…");
  await tab.type("Name", "phone");
  await tab.click("Show the code");
  await tab.shows(DIALOG, "phone");
  const added = async () => (await rig.gateway.api("GET", "/api/remote")).body.devices;
  await until(async () => (await added()).length === 1);
  expect(await tab.clicks()).toBe(3);
});

test("what happened last night is one click away, and which way something goes is two and its name", async () => {
  await open();
  await tab.click("All events");
  await tab.shows("main", "Main tunnel: connected to");
  expect(await tab.clicks()).toBe(1);
  await open();
  await tab.click("Rules");
  await tab.type("Name or address", "film.example");
  await tab.click("Explain");
  await tab.shows(".why-answer", "reaches film.example through the exit main.");
  expect(await tab.clicks()).toBe(2);
});
