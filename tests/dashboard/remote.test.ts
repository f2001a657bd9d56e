import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import type { RemoteDevice } from "../../src/remote/schema.ts";
import { LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { Phone } from "../rig/home/phone.ts";
import { Doorbell } from "../rig/peers/visited-port.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const DIALOG = "dialog[open]";
/** At home, on the laptop. */
const BELL = 8_080;

let rig: Rig;
let tab: Tab;
let phone: Phone;
let bell: Doorbell;

beforeAll(async () => {
  rig = await startRig();
  phone = await Phone.away(rig.lab, 1);
  bell = await Doorbell.start(rig.lab, rig.lab.namespaces.client, BELL);
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.gateway.api("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "box-vpn-2" });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await phone.hangsUp();
  await rig.reset();
}, TIMEOUT_MS);
afterAll(async () => {
  bell?.stop();
  await rig?.close();
}, TIMEOUT_MS);

const open = async (route = "#/remote") => {
  tab = await rig.browser.open(`${rig.url}${route}`);
};
const turnOn = async (...flags: string[]) => {
  const on = await rig.gateway.operate("remote", "on", ...flags);
  expect(on).toMatchObject({ code: 0, stderr: "" });
};
const devices = async (): Promise<RemoteDevice[]> =>
  (await rig.gateway.api("GET", "/api/remote")).body.devices;
const home = () => rig.lab.fetchFrom(phone.namespace, `http://${LAN.client4}:${BELL}/`);
const row = (name: string) => `.item:has([aria-label="What ${name} reaches"])`;

/** What the WireGuard app of a phone reads from the screen. */
async function scanned(): Promise<string> {
  const picture = join(rig.lab.sandbox.directory, "screen.png");
  await tab.page.screenshot({ path: picture });
  const { code, stdout } = await rig.lab.outside(["zbarimg", "--raw", "--quiet", "-Sbinary", picture]);
  expect(code).toBe(0);
  return stdout;
}

test("while it is off, the page says what it is, and copies the command that turns it on", async () => {
  await open();
  await tab.shows("main", "Remote access is off");
  expect(await tab.page.evaluate("isSecureContext")).toBe(false);
  expect(await tab.text("main")).not.toContain("Add a device");
  await tab.click("Copy sudo portcullis remote on");
  await tab.shows(".copied-command [role=status]", "Copied.");
  expect(await tab.barriers()).toEqual([]);
  await turnOn("--endpoint", ROUTER.public4);
  await tab.shows(
    "main",
    `Remote access is on Devices connect through the uplink, at UDP port 51820. They connect to ${ROUTER.public4}:51820.`,
  );
  await tab.shows("main", "enter it there: UDP port 51820 to 192.168.88.2, port 51820.");
  await tab.shows("main", "No device may come in yet");
  expect(await tab.barriers()).toEqual([]);
});

test("a phone is added by its name and one look at the code, and reaches home and the internet by its exit", async () => {
  await turnOn("--endpoint", ROUTER.public4);
  await open();
  await tab.click("Add a device…");
  await tab.shows(DIALOG, "Add a device");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name", "Phone of Ada");
  await tab.press("Enter");
  await tab.shows(DIALOG, "Let Phone of Ada in");
  const file = await scanned();
  expect(file).toMatch(/^\[Interface\]\nPrivateKey = \S{44}\n/);
  expect(file).toContain(`Endpoint = ${ROUTER.public4}:51820\n`);
  expect(await tab.save("Download as a file", rig.lab.sandbox.directory)).toEqual({
    name: "PhoneofAda.conf",
    text: file,
  });
  expect(await tab.barriers()).toEqual([]);
  const [, key = ""] = /PrivateKey = (\S+)/.exec(file) ?? [];
  const told = JSON.stringify(await devices()) + rig.gateway.log() + tab.urls.join("\n");
  expect(told).not.toContain(key);

  // A click beside the dialog does not lose the code.
  await tab.page.mouse.click(5, 5);
  await tab.shows(DIALOG, "Let Phone of Ada in");
  await tab.click("Done");
  expect(await tab.page.evaluate("document.querySelector('dialog')")).toBeNull();
  const kept =
    "JSON.stringify([location.href, history.state, {...localStorage}, {...sessionStorage}]) + document.documentElement.outerHTML";
  expect(await tab.page.evaluate(kept)).not.toContain(key);

  await tab.shows(row("Phone of Ada"), /Offline .*It has not called yet\./);
  await phone.takes(file);
  await until(async () => (await home()) === rig.lab.namespaces.client);
  expect(await phone.seenAs()).toBe(VPN.vpn1.v4);
  await tab.shows(row("Phone of Ada"), /Online .*Last handshake .* from 203\.0\.113\.101/);
  await tab.choose("Exit of Phone of Ada", "amsterdam · Amsterdam, Netherlands");
  await until(async () => (await phone.seenAs()) === VPN.vpn2.v4);
  expect(await tab.barriers()).toEqual([]);
  expect(tab.complaints).toEqual([]);
});

/** Lets a device in as another program does. */
async function added(name: string): Promise<void> {
  const { publicKey } = generateKeyPair();
  const answer = await rig.gateway.api("POST", "/api/remote/devices", { name, public_key: publicKey });
  expect(answer).toMatchObject({ status: 200 });
}

test("a name that is taken is refused at its field, and a device for home only has the LAN's prefixes in its file", async () => {
  await turnOn("--endpoint", ROUTER.public4);
  await added("phone");
  await open();
  await tab.click("Add a device…");
  await tab.type("Name", "PHONE");
  await tab.press("Enter");
  await tab.shows(".field:has([name=name]) .failed", "Another device away from home has this name");
  await tab.focuses("name");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name", "laptop");
  await tab.choose("Exit", "blocked · no internet");
  await tab.choose(
    "What it reaches by the gateway",
    "Only home: it reaches the internet through whatever network it is on",
  );
  await tab.click("Show the code");
  await tab.shows(DIALOG, "Let laptop in");
  const file = await scanned();
  expect(file).toContain(`AllowedIPs = ${LAN.prefix4}, ${LAN.prefix6}\n`);
  expect(await devices()).toMatchObject([
    { name: "phone", exit: "main", lan: true },
    { name: "laptop", exit: "blocked", lan: true },
  ]);
  await phone.takes(file);
  await until(async () => (await home()) === rig.lab.namespaces.client);
  expect(await phone.seenAs()).toBe(phone.v4);
});

test("what a device reaches is changed in its row, it is removed only after a question, and other pages see it", async () => {
  await turnOn("--endpoint", ROUTER.public4);
  await added("phone");
  await open();
  const other = await rig.browser.open(`${rig.url}#/devices`);
  await tab.choose("What phone reaches", "Internet only");
  await until(async () => (await devices())[0]?.lan === false);
  await other.shows('.device:has([aria-label="Exit of phone"])', "Away from home");
  await other.click("Edit phone");
  expect(await other.barriers()).toEqual([]);
  await other.click("Away from home");
  await other.shows("h1", "Remote access");
  await tab.click("Remove phone");
  await tab.shows(DIALOG, "Remove phone? Its session ends at once");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Cancel");
  expect((await devices()).length).toBe(1);
  await tab.click("Remove phone");
  await tab.click("Remove");
  await tab.shows("main", "No device may come in yet");
  await other.shows("main", "No device may come in yet");
  expect(await devices()).toEqual([]);
});

test("why no device can come in is shown in words, also where one is added, and what is kept while it is off", async () => {
  await turnOn();
  await open();
  await tab.shows("main", "no device can come in The gateway does not know the address that devices call");
  await tab.shows("main", "sudo portcullis remote on --endpoint");
  await tab.click("Add a device…");
  await tab.type("Name", "phone");
  await tab.press("Enter");
  await tab.shows(`${DIALOG} .failed`, "The gateway does not know the address that devices call");
  expect(await devices()).toEqual([]);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Close");
  await turnOn("--endpoint", ROUTER.public4);
  await added("phone");
  await rig.gateway.operate("killswitch", "off");
  await tab.shows("main", "no device can come in The kill switch is off, and without it no device comes in.");
  await rig.gateway.operate("killswitch", "on");
  await tab.shows("main", "Remote access is on Devices connect");
  await rig.gateway.operate("remote", "off");
  await tab.shows("main", "Remote access is off");
  await tab.shows("main", "They may come in again when remote access is on.");
  expect(await tab.barriers()).toEqual([]);
});
