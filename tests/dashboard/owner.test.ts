import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const PASSPHRASE = "correct horse battery";
const PAGE = `https://${LAN.gateway4}:5443/`;

let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
  rig.options.flags = ["--host", "::", "--https", "on"];
  await rig.gateway.restart();
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => rig.reset(), TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

async function code(): Promise<string> {
  const { stdout } = await rig.gateway.operate("pair");
  expect(stdout).toContain(`Open ${PAGE}#/settings/owner\n`);
  return stdout.split("\n")[0] ?? "";
}

async function pair(tab: Tab, typed: string): Promise<void> {
  await tab.type("Code", typed);
  await tab.type("Name of this browser", "laptop");
  await tab.type("New passphrase", PASSPHRASE);
  await tab.type("Once more", PASSPHRASE);
  await tab.click("Become an owner");
}

const show = (tab: Tab, route: string) => tab.page.evaluate(`location.hash = "#/${route}"`);
const remote = async () => (await rig.gateway.api("GET", "/api/remote")).body.on;
const status = async () => (await rig.gateway.api("GET", "/api/status")).body;

test("a browser with the code of pair turns remote access on, allows direct, and turns the kill switch off with the passphrase only", async () => {
  const typed = await code();
  const tab = await rig.browser.open(`${PAGE}#/settings/owner`);
  await tab.shows("main", "Rights of root");
  expect(await tab.barriers()).toEqual([]);
  await pair(tab, "0000-0000");
  await tab.shows("main", /is wrong, was used/);
  await tab.type("Code", typed);
  await tab.click("Become an owner");
  await tab.shows("main", "This browser may do everything, as laptop.");
  expect(await tab.barriers()).toEqual([]);

  await show(tab, "remote");
  await tab.shows("h2", "Remote access is off");
  expect(await tab.text(".on-gateway")).toBeNull();
  await tab.click("Turn on remote access");
  await tab.shows("h2", "Remote access is on");
  expect(await remote()).toBe(true);
  await tab.click("Turn off remote access");
  await tab.click("Turn off");
  await tab.shows("h2", "Remote access is off");
  expect(await remote()).toBe(false);

  await show(tab, "devices");
  await tab.click("Allow “direct”…");
  await tab.type("Your passphrase", PASSPHRASE);
  await tab.click("Allow it");
  await tab.click("Withdraw “direct”");
  await tab.shows("main", "Allow “direct”…");

  await show(tab, "settings/owner");
  await tab.click("Turn off the kill switch…");
  await tab.shows("dialog", "Your passphrase");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Your passphrase", "correct horse");
  await tab.click("Turn off");
  await tab.shows("dialog", "is wrong; nothing was changed");
  expect((await status()).killswitch_active).toBe(true);
  await tab.type("Your passphrase", PASSPHRASE);
  await tab.click("Turn off");
  await until(async () => (await status()).killswitch_active === false);
  await tab.click("Turn on the kill switch");
  await until(async () => (await status()).killswitch_active === true);

  // A second browser has no rights of it, and shows the commands.
  const other = await rig.browser.open(`${rig.url}#/remote`);
  await other.shows(".on-gateway", "sudo portcullis remote on");
});

/** A flashed gateway's answers about its ports, which a gateway of the sandbox has not; `asked` has the changes. */
const PORTS = `(() => {
  const local = "https://portcullis.local/";
  const now = { uplink: "eth0", lan: ["eth0"], dhcp: false, pages: [local] };
  const ports = ["eth0", "eth1", "eth2"].map((name) => ({ name, plugged: true }));
  const failed = "an address for eth2 did not come";
  const real = fetch;
  window.asked = [];
  window.fetch = async (...request) => {
    if (!String(request[0]).endsWith("/owner/ports")) return real(...request);
    const body = JSON.parse(request[1]?.body ?? "null");
    if (body === null) return Response.json({ ports, ...now, changing: false, failed });
    asked.push(body);
    const { preview, ...roles } = body;
    const after = { ...roles, dhcp: true, pages: [local, "https://192.168.73.1/"] };
    return Response.json({ before: now, after, cut: true });
  };
})()`;

test("the owner of a flashed gateway sees what other roles of its ports would change, and then changes them", async () => {
  const typed = await code();
  const plain = await rig.browser.open(`${PAGE}#/settings/owner`);
  await pair(plain, typed);
  await plain.shows("main", "This browser may do everything, as laptop.");
  expect(await plain.text("main")).not.toContain("Network ports");
  const tab = await rig.browser.open(`${PAGE}#/settings/owner`, undefined, PORTS);
  await tab.type("Code", await code());
  await tab.type("Name of this browser", "desk");
  await tab.type("New passphrase", PASSPHRASE);
  await tab.type("Once more", PASSPHRASE);
  await tab.click("Become an owner");
  await tab.shows("main", /Network ports/);
  await tab.shows("main", /an address for eth2 did not come/);
  await tab.showsChosen("Ports of the devices", "eth0");
  await tab.choose("Uplink", "eth1");
  await tab.showsChosen("Ports of the devices", "eth0");
  await tab.choose("Ports of the devices", "eth0, eth2");
  await tab.click("Look at the change");
  await tab.shows(
    "main",
    /The page is at https:\/\/portcullis\.local\/ and https:\/\/192\.168\.73\.1\/ then/,
  );
  await tab.shows("main", /devices get their addresses from the gateway\. Until/);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Change the ports");
  await tab.shows("main", /The gateway restarts with it now/);
  const wanted = { uplink: "eth1", lan: ["eth0", "eth2"] };
  expect(await tab.page.evaluate("asked")).toEqual([
    { ...wanted, preview: true },
    { ...wanted, preview: false },
  ]);
});
