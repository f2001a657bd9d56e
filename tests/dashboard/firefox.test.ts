import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { zipOf } from "../cli/archives.ts";
import { long } from "../fast.ts";
import { Browser, type Tab } from "../rig/dashboard/browser.ts";
import { bringDevices } from "../rig/dashboard/devices.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { openView, SECURE, SECURE_FLAGS, untilSecure } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("the page in a second browser");

setDefaultTimeout(TIMEOUT_MS);

/** Firefox has one way to each width. */
const LOOKS = [
  { width: 360, scheme: "light" },
  { width: 1400, scheme: "light" },
] as const;

let rig: Rig;
let firefox: Browser;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = SECURE_FLAGS;
  await rig.gateway.restart();
  await untilSecure(rig.gateway);
  for (const { mac, name } of rig.lab.sandbox.computers)
    await rig.gateway.api("PUT", `/api/devices/${mac}`, { name });
  firefox = await Browser.firefox(rig.lab.namespaces.client, rig.lab.sandbox.directory);
  tab = await firefox.open(rig.url);
}, TIMEOUT_MS);
afterAll(async () => {
  await firefox?.close();
  await rig?.close();
}, TIMEOUT_MS);

const go = (route: string) => tab.page.evaluate(`location.hash = ${JSON.stringify(route)}`);

test("the main paths in Firefox: a place is connected to, a device gets another exit and a name, and is linked to", async () => {
  await tab.shows(".state h1", "Blocked");
  await go("#/servers");
  await tab.click("Connect to Sweden");
  await tab.shows("main", "Connected");
  await rig.send();
  await go("#/");
  await tab.shows(".state h1", "Protected");
  await go("#/devices");
  await tab.choose("Exit of TV", "blocked · no internet");
  await tab.shows(".device.tone-blocked", "TV");
  await tab.click("Edit Camera");
  await tab.type("Name of Camera", "Garden");
  await tab.press("Enter");
  await tab.shows("main", "Garden");
  await go("#/settings");
  await tab.click("Replace a dead server");
  await tab.shows("main", "another one of its city or country takes its place");
  await tab.page.reload();
  await tab.shows("main", "another one of its city or country takes its place");
});

test("what Firefox changes appears in Chromium, and what Chromium changes in Firefox", async () => {
  const other = await rig.browser.open(rig.url);
  await go("#/");
  await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
  await other.shows(".state h1", "Protected");
  await tab.shows(".state h1", "Protected");
  await tab.click("Disconnect");
  await tab.click("Disconnect");
  await other.shows(".state h1", "Blocked");
  await other.click("Connect to Sweden");
  await tab.shows(".state h1", "Protected");
});

test("the first run in Firefox: a dropped zip, a server, and this device is protected", async () => {
  const [box] = rig.lab.sandbox.servers;
  const first = await firefox.open(`${rig.url}#/setup`);
  await first.shows("h1", "Set up the gateway");
  await first.drop({ "servers.zip": zipOf("box.conf", box.importText) });
  await first.shows("dialog[open]", "1 server imported.");
  await first.click("Continue");
  await rig.gateway.api("POST", "/api/disconnect");
  expect(await rig.gateway.api("POST", "/api/provider/imported")).toMatchObject({ status: 200 });
  await first.click("Connect to box");
  await first.shows(".step:nth-child(2)", "Connected to box.");
  await rig.send();
  await first.shows(".verdict", "This device is protected");
  expect(await first.barriers(LOOKS)).toEqual([]);
  expect(first.complaints).toEqual([]);
});

test("Home with 12 devices in Firefox is a picture, whose groups open", async () => {
  await bringDevices(rig, 12);
  await go("#/");
  await tab.shows(".picture", "Other devices");
  await tab.click("Other devices");
  await tab.shows(".picture", "fd77::1:8");
  expect(await tab.barriers(LOOKS)).toEqual([]);
});

test("a dialog in Firefox is opened, filled in and left by keyboard alone, and the focus returns", async () => {
  await go("#/servers");
  await tab.focus("Add a server…");
  await tab.press("Enter");
  await tab.focuses("name");
  await tab.page.keyboard.type("home");
  await tab.press("Tab");
  await tab.focuses("endpoint");
  await tab.press("Enter");
  await tab.shows(".field:has([name=endpoint]) .failed", "It is required.");
  expect(await tab.barriers(LOOKS)).toEqual([]);
  await tab.press("Escape");
  await tab.loses("dialog");
  await tab.focuses("Add a server…");
});

test("no view in Firefox has a barrier, is wider than its window, or complains", async () => {
  const secure = await firefox.open(SECURE);
  await secure.shows(".state h1", "Protected");
  for (const [view, title] of Object.entries(VIEWS)) {
    await look(secure, view, title);
    expect([view, await secure.barriers(LOOKS)]).toEqual([view, []]);
  }
  expect([...secure.complaints, ...tab.complaints]).toEqual([]);
});

test("the gateway's end and its return are noticed in Firefox, too", async () => {
  const view = await openView(rig, "log");
  await view.shows("main h1", "Log");
  await go("#/");
  await rig.gateway.kill("SIGKILL");
  await tab.shows(".state h1", "No answer");
  await rig.gateway.start();
  await tab.shows(".state h1", "Protected");
});
