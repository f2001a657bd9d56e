import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { assertLeadsToHttps, openView, SECURE_FLAGS, told } from "../rig/dashboard/secure.ts";
import { Notified } from "../rig/peers/notified.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const DIALOG = "dialog[open]";
const PASSPHRASE = "six words that nobody knows";
const TOKEN = /portcullis_[0-9a-z]{26}/;

let rig: Rig;
let notified: Notified;
let tab: Tab;
/** The token of the page. */
let laptop: string;

beforeAll(async () => {
  rig = await startRig();
  notified = await Notified.start(rig.lab);
  rig.options.environment = notified.environment;
  rig.options.flags = flags();
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  rig.options.flags = flags();
  await rig.reset();
}, TIMEOUT_MS);
afterAll(async () => {
  notified?.stop();
  await rig?.close();
}, TIMEOUT_MS);

const flags = (...more: string[]) => [...SECURE_FLAGS, ...more];

async function open(url?: string): Promise<void> {
  tab = await openView(rig, "settings", url);
}

/** With tokens asked for, and one that may change things. */
async function openWithToken(...more: string[]): Promise<void> {
  rig.options.flags = flags("--auth", "write");
  await rig.gateway.restart();
  laptop = (await rig.gateway.operate("token", "add", "laptop", ...more)).stdout.trim();
  await open();
  await tab.shows(DIALOG, "This gateway asks for a token");
  await tab.type("Token", laptop);
  await tab.press("Enter");
  await tab.loses(DIALOG);
}

const tokens = async (): Promise<string[]> =>
  JSON.parse((await rig.gateway.operate("token", "list", "--json")).stdout).tokens.map(
    ({ name }: { name: string }) => name,
  );

test("over plain HTTP the view leads to HTTPS, and asks for nothing that is secret, nor for the gateway's secrets", async () => {
  await open(rig.url);
  await assertLeadsToHttps(tab, "settings");
  await tab.shows("main", "Forwarded ports");
  expect(await tab.page.evaluate("document.querySelectorAll('main input[type=password]').length")).toBe(0);
  const headings = "[...document.querySelectorAll('main h2')].map((each) => each.innerText)";
  for (const secret of ["Tokens", "Notifications", "Backup", "Restore"])
    expect(await tab.page.evaluate(headings)).not.toContain(secret);
  for (const secret of ["tokens", "notifications", "backup", "restore"])
    expect(tab.urls.filter((url) => url.includes(`/api/${secret}`))).toEqual([]);
});

test("a link leads to a group of settings, and a search leaves the cards that have a word", async () => {
  tab = await openView(rig, "settings/messages");
  await tab.shows("main", "Use other thresholds…");
  const focused = async () => (await tab.page.evaluate("document.activeElement.innerText")) as string;
  await until(async () => (await focused()) === "Messages");
  await tab.type("Search the settings", "packets");
  const cards = "[...document.querySelectorAll('.card')].filter((each) => !each.hidden)";
  await until(async () => (await tab.page.evaluate(`${cards}.length`)) === 1);
  await tab.shows(".settings-group:has(.card:not([hidden]))", "Quality");
  await tab.type("Search the settings", "nothing like it");
  await tab.shows("main", "Nothing matches “nothing like it”.");
  expect(await tab.barriers()).toEqual([]);
});

test("a port is forwarded by keyboard, says by what it is reached, and is closed again", async () => {
  const mac = rig.lab.sandbox.computers[1]?.mac ?? "";
  await rig.gateway.api("PUT", `/api/devices/${mac}`, { name: "TV" });
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await open(rig.url);
  await tab.shows("main", "lets everyone on the internet reach one port of one device");
  await tab.click("Forward a port…");
  await tab.choose("Device", "TV");
  await tab.type("Port on the device", "70000");
  await tab.press("Enter");
  await tab.shows(".field .failed", "It must be from 1 to 65535.");
  await tab.focuses("port");
  await tab.type("Port on the device", "53");
  await tab.press("Enter");
  await tab.shows(".field .failed", "The kill switch keeps port 53");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Port on the device", "6881");
  await tab.choose("Protocol", "TCP");
  await tab.type("Port at the provider, if you have set one on its site", "51413");
  await tab.press("Enter");
  await tab.shows(".item", "TV, TCP port 6881 Open");
  await tab.shows(".item", "It is reached from the internet at port 51413 of the main tunnel.");
  await tab.shows("main", "TCP port 6881 is reached from the internet at port 51413 of the main tunnel.");
  const forwards = async () => (await rig.gateway.api("GET", "/api/forwards")).body.forwards;
  expect(await forwards()).toEqual([expect.objectContaining({ device: mac, port: 6881, state: "open" })]);
  expect(await tab.barriers()).toEqual([]);
  await rig.gateway.api("POST", "/api/disconnect");
  await tab.shows(".item", "TV, TCP port 6881 Not open");
  await tab.click("Close TV, TCP port 6881");
  await tab.shows(DIALOG, "It can no longer be reached from the internet");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Close the port");
  await tab.shows("main", "TV, TCP port 6881 is closed.");
  await tab.loses(".item");
  expect(await forwards()).toEqual([]);
});

/** The commands that the page shows. */
const commands = async () =>
  (await tab.page.evaluate(
    "[...document.querySelectorAll('main code.command')].map((each) => each.innerText)",
  )) as string[];

test("what only root changes is shown as it is, with the commands that change it, also over plain HTTP", async () => {
  await open(rig.url);
  await tab.shows("main", "If a server is dead, the gateway waits until it is back.");
  await tab.shows("main", "After a restart, the gateway connects to the last server again.");
  await tab.shows("main", "Devices get their addresses from another DHCP server");
  await tab.click("Connect to a broker…");
  await tab.click("Look at a release…");
  await tab.page.evaluate("document.querySelectorAll('main summary').forEach((each) => each.click())");
  await tab.shows("main", `ssh user@${LAN.gateway4}`);
  await tab.shows("main", `Portcullis ${version} runs.`);
  await tab.type("Address of the broker", "192.168.77.9");
  await tab.type("User at the broker", "gate");
  await tab.type("Address of a release", "https://example.org/a b/");
  await tab.shows(".field .failed", "It must begin with https://, and have no spaces or quotes.");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Address of a release", "https://example.org/1.2.3");
  const setup = "sudo portcullis install";
  expect(await commands()).toEqual([
    "portcullis https",
    `${setup} --dhcp`,
    "cat >mqtt.password",
    `${setup} --mqtt mqtt://gate@192.168.77.9 --mqtt-password-file "$PWD/mqtt.password"`,
    "rm mqtt.password",
    "sudo portcullis update https://example.org/1.2.3/ --check",
    "sudo portcullis update https://example.org/1.2.3/",
  ]);
  await tab.click(`Copy ${setup} --dhcp`);
  await tab.shows("main", "Copied.");
  // What is marked is what was copied.
  expect(await tab.page.evaluate("getSelection().toString()")).toBe(`${setup} --dhcp`);
});

test("settings that have changed are shown after the restart: failover, the range of addresses, and a broker that is gone", async () => {
  await open();
  await tab.shows("main", "If a server is dead, the gateway waits until it is back.");
  const broker = `mqtt://gate@${LAN.client4}:9`;
  const given = ["--failover", "on", "--autoconnect", "off", "--dhcp", "on", "--mqtt", broker];
  rig.options.flags = flags(...given);
  await rig.gateway.restart();
  await tab.shows("main", "another one of its city or country takes its place");
  await tab.shows("main", "After a restart, the gateway waits until somebody connects.");
  await tab.shows("main", `Not connected to the broker ${LAN.client4}:9, not encrypted.`);
  await tab.shows("main", "Connection refused.");
  await tab.shows("main", "Home Assistant sees the gateway, and changes nothing.");
  await tab.click("Change the addresses…");
  await tab.type("First address", "192.168.77.50");
  await tab.type("Last address", "192.168.77.99");
  await tab.shows("main", "sudo portcullis install --dhcp 192.168.77.50-192.168.77.99");
  expect(await tab.barriers()).toEqual([]);
  expect(await commands()).toContain('sudo portcullis install --mqtt ""');
});

test("failover, the connection after a restart and the time zone are changed without a restart, and stay over one", async () => {
  await open(rig.url);
  const other = await openView(rig, "settings", rig.url);
  await tab.click("Replace a dead server");
  await other.shows("main", "another one of its city or country takes its place");
  await other.click("Do not connect after a restart");
  await tab.shows("main", "After a restart, the gateway waits until somebody connects.");
  await tab.choose("Another time zone", "Pacific/Auckland");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Use this time zone");
  await tab.shows("main", "Schedules follow the time of Pacific/Auckland; this device has UTC.");
  const chosen = { failover: true, autoconnect: false, time_zone: "Pacific/Auckland" };
  expect((await rig.gateway.api("GET", "/api/settings")).body).toMatchObject(chosen);
  await rig.gateway.restart();
  expect((await rig.gateway.api("GET", "/api/settings")).body).toMatchObject(chosen);
  expect((await rig.gateway.api("GET", "/api/schedules")).body.time_zone).toBe("Pacific/Auckland");
});

test("a device gets an address that stays, and any again", async () => {
  rig.options.flags = flags("--dhcp", "on");
  await rig.gateway.restart();
  const mac = rig.lab.sandbox.computers[1]?.mac ?? "";
  await rig.gateway.api("PUT", `/api/devices/${mac}`, { name: "TV" });
  await open();
  await tab.shows("main", "Fixed addresses");
  await tab.click("Fix an address…");
  await tab.choose("Device with this address", "TV");
  await tab.type("Its address", "10.1.2.3");
  await tab.press("Enter");
  await tab.shows(".field .failed", "is outside the LAN");
  await tab.focuses("address");
  await tab.type("Its address", "192.168.77.50");
  await tab.press("Enter");
  await tab.shows(".item", "TV 192.168.77.50");
  await tab.shows("main", "TV gets 192.168.77.50 from its next lease on.");
  expect(await tab.barriers()).toEqual([]);
  const fixed = async () =>
    (await rig.gateway.api("GET", "/api/devices")).body.devices.find(({ id }: { id: string }) => id === mac)
      .fixed_address;
  expect(await fixed()).toBe("192.168.77.50");
  await tab.click("Let TV have any address again");
  await tab.shows("main", "TV gets any free address from its next lease on.");
  expect(await fixed()).toBeNull();
});

test("an address for notifications is added by keyboard, tested and removed, and its secret is not seen again", async () => {
  await open();
  await tab.shows("main", "Notifications");
  await tab.click("Add an address…");
  await tab.type("Name", "phone");
  await tab.type("Address", "nothing");
  await tab.press("Enter");
  await tab.shows(".field .failed", "It must begin with ntfy://");
  await tab.focuses("address");
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Address", Notified.lan);
  await tab.press("Enter");
  await tab.shows(".item", `phone gotify at ${LAN.client4}:8080`);
  const before = notified.messages("gotify").length;
  await tab.click("Send a test message");
  await tab.shows("main", "1 message sent.");
  expect(notified.messages("gotify").at(before)?.message).toContain("This is a test.");
  expect(await tab.barriers()).toEqual([]);
  expect(await told(rig, tab)).not.toContain("LanSecret");
  await tab.click("Remove phone from the notifications");
  await tab.shows(DIALOG, "Send no more messages to phone?");
  await tab.click("Remove");
  await tab.shows("main", "phone gets no more messages.");
  await tab.loses(".item");
  expect(tab.complaints).toEqual([expect.stringContaining("400")]);
});

test("a test that does not arrive says why", async () => {
  await open();
  await tab.click("Add an address…");
  await tab.type("Name", "nobody");
  await tab.type("Address", `http://${LAN.client4}:9/hook`);
  await tab.press("Enter");
  await tab.shows(".item", "nobody");
  await tab.click("Send a test message");
  await tab.shows(".outcome.failed", `nobody (webhook at ${LAN.client4}:9): `);
});

test("while no token is asked for, the page shows the commands that change that, and makes none", async () => {
  await open();
  await tab.shows("main", "Everyone on the network can look at this gateway and change it");
  await tab.shows("main", "sudo portcullis install --auth write");
  expect(await tab.text('input[name="read_only"]')).toBeNull();
  expect((await rig.gateway.api("GET", "/api/access")).body.auth).toBe("off");
});

test("a token is made, shown once in a dialog that no slip closes, and removed; the page knows its own", async () => {
  await openWithToken();
  await tab.shows(".item", "laptop This page May read and change");
  await tab.click("Make a token…");
  await tab.type("Name of the new token", "tablet");
  await tab.choose("Rights", "Read only");
  await tab.press("Enter");
  await tab.shows(DIALOG, "The token tablet");
  await tab.shows(`${DIALOG} code`, TOKEN);
  const text = (await tab.text(`${DIALOG} code`)) ?? "";
  expect(await tab.barriers()).toEqual([]);
  await tab.page.mouse.click(5, 5);
  await tab.shows(`${DIALOG} code`, text);
  await tab.click("Copy the token");
  await tab.shows(`${DIALOG} .outcome`, "Copied.");
  await tab.click("Done");
  await tab.loses(DIALOG);
  await tab.shows(".item:last-child", "tablet May only read");
  expect(await tokens()).toEqual(["laptop", "tablet"]);
  expect(await told(rig, tab)).not.toContain(text);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Remove the token tablet");
  await tab.shows(DIALOG, "What uses it is refused from then on");
  await tab.click("Remove");
  await tab.shows("main", "The token tablet is not valid any more.");
  expect(await tokens()).toEqual(["laptop"]);
  await tab.click("Remove the token laptop");
  await tab.shows(DIALOG, "This page uses it");
  await tab.click("Cancel");
  expect(await tokens()).toEqual(["laptop"]);
});

/** A field that takes a file. */
interface Chooser {
  uploadFile(path: string): Promise<void>;
}

/** As a person chooses a file. */
async function chooseFile(text: string): Promise<void> {
  const path = join(rig.lab.sandbox.directory, "backup.json");
  writeFileSync(path, text);
  const input = (await tab.page.$("main input[type=file]")) as Chooser | null;
  await input?.uploadFile(path);
}

test("a backup is made by keyboard, and restored after the page has shown everything that it changes", async () => {
  await openWithToken();
  const mac = rig.lab.sandbox.computers[1]?.mac ?? "";
  const name = async (text: string) => {
    const body = JSON.stringify(JSON.stringify({ name: text }));
    const headers = `{ "Content-Type": "application/json", Authorization: "Bearer ${laptop}" }`;
    const put = `fetch("/api/devices/${mac}", { method: "PUT", headers: ${headers}, body: ${body} }).then(({ ok }) => ok)`;
    expect(await tab.page.evaluate(put)).toBe(true);
  };
  await name("Television");
  await tab.click("Make a backup…");
  await tab.type("Passphrase of the backup", "short");
  await tab.press("Enter");
  await tab.shows(".field .failed", "It must have at least 8 characters.");
  await tab.type("Passphrase of the backup", PASSPHRASE);
  await tab.type("Once more", `${PASSPHRASE}!`);
  await tab.press("Enter");
  await tab.shows(".field .failed", "The two do not match.");
  await tab.type("Once more", PASSPHRASE);
  await tab.press("Enter");
  await tab.shows("main a[download]", "Save the backup");
  expect(await tab.barriers()).toEqual([]);
  const { name: file, text: backup } = await tab.save("Save the backup", rig.lab.sandbox.directory);
  expect(file).toMatch(/^portcullis-\d{4}-\d\d-\d\d\.json$/);
  expect(JSON.parse(backup)).toMatchObject({ format: "portcullis-backup", keys: "encrypted" });

  await name("Radio");
  await chooseFile("nothing");
  await tab.shows(".outcome.failed", "backup.json is not a backup of Portcullis.");
  await chooseFile(backup);
  await tab.type("Its passphrase", "another passphrase");
  await tab.press("Enter");
  await tab.shows(".outcome.failed", "Wrong passphrase");
  await tab.type("Its passphrase", PASSPHRASE);
  await tab.press("Enter");
  await tab.shows(
    ".changes",
    `device Radio (${mac}): named Radio, exit default → named Television, exit default`,
  );
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Restore it");
  await tab.shows(DIALOG, "cannot be brought back unless you make a backup");
  await tab.click("Restore");
  await tab.shows("main", /Restored: \d+ servers?, \d+ devices? and the settings\./);
  await tab.loses(".changes");
  const { devices } = (await rig.gateway.api("GET", "/api/devices")).body;
  expect(devices.find(({ id }: { id: string }) => id === mac).name).toBe("Television");
  expect(await told(rig, tab)).not.toContain(PASSPHRASE);
});

test("while no token is asked for, nobody downloads the keys: the page has the command", async () => {
  await open();
  await tab.shows("main", "sudo portcullis export >backup.json");
  // Whoever becomes an owner chooses a passphrase, elsewhere in this view.
  const cards = `[...document.querySelectorAll("main section.card")]`;
  const fields = `${cards}.findLast((each) => each.innerText.includes("export >backup.json")).querySelectorAll("input[type=password]").length`;
  expect(await tab.page.evaluate(fields)).toBe(0);
});

test("with a token that may only read, nothing of the settings is shown", async () => {
  await openWithToken("--read-only");
  await tab.shows("main", "may only read");
  await tab.shows("main .pending.failed", "This token may only read");
  expect(await tokens()).toEqual(["laptop"]);
  expect(await tab.barriers()).toEqual([]);
});

test("it fits a narrow phone, also with letters of twice the size", async () => {
  await open();
  await tab.click("Add an address…");
  await tab.type("Name", "a-name-that-is-as-long-as-names-may-be-and-has-nowhere-to-break");
  await tab.type("Address", Notified.lan);
  await tab.press("Enter");
  await tab.shows(".item", "nowhere-to-break");
  expect(await tab.misfits([320, 1400, 2560])).toEqual([]);
});

test("the rates of the line are shared from then on, and a kernel that cannot do that is named", async () => {
  await open();
  await tab.shows("main", "Does one device slow down all others?");
  await tab.click("Share the line…");
  await tab.type("All devices together receive at most, in Mbit/s", "50");
  await tab.type("All devices together send at most, in Mbit/s", "10");
  await tab.click("Share the line");
  const line = async () => (await rig.gateway.api("GET", "/api/settings")).body.line;
  if (await hasCake()) {
    await tab.shows("main", "The devices share 50 Mbit/s down and 10 Mbit/s up fairly");
    expect(await line()).toEqual({ down: 50, up: 10 });
    await tab.click("Do not share the line");
    await tab.shows("main", "Does one device slow down all others?");
  } else {
    await tab.shows("main", "This kernel has no CAKE");
  }
  expect(await line()).toBeNull();
  expect(await tab.barriers()).toEqual([]);
});

/** Whether the kernel can do what the line needs (Debian's can). */
async function hasCake(): Promise<boolean> {
  const { lab } = rig;
  const { code } = await lab.exec(lab.namespaces.client, ["tc", "qdisc", "add", "dev", "lo", "root", "cake"]);
  if (code === 0) await lab.exec(lab.namespaces.client, ["tc", "qdisc", "delete", "dev", "lo", "root"]);
  return code === 0;
}
