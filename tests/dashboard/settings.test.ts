import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tab } from "../../lab/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../../lab/dashboard/rig.ts";
import { Notified } from "../../lab/notified.ts";
import { until } from "../../lab/until.ts";
import { LAN } from "../../src/sandbox/topology.ts";

const HTTPS = 5443;
const SECURE = `https://${LAN.gateway4}:${HTTPS}/`;
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

const flags = (...more: string[]) => ["--host", "::", "--https", String(HTTPS), ...more];

/** HTTPS begins a moment after HTTP. */
async function open(url = SECURE): Promise<void> {
  await until(async () => (await rig.gateway.api("GET", "/api/https")).body.certificate !== null);
  tab = await rig.browser.open(`${url}#/settings`);
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

/** Wherever a person or a program could find it. */
async function told(): Promise<string> {
  const kept =
    "JSON.stringify([location.href, history.state]) + document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((each) => each.value)";
  const events = JSON.stringify((await rig.gateway.api("GET", "/api/events")).body);
  return [await tab.page.evaluate(kept), rig.gateway.log(), ...tab.urls, events].join("\n");
}

test(
  "over plain HTTP the view leads to HTTPS, and asks for nothing",
  async () => {
    await open(rig.url);
    await tab.shows("main", "By HTTPS only");
    expect(await tab.page.evaluate("document.querySelectorAll('main input').length")).toBe(0);
    expect(await tab.page.evaluate("document.querySelector('main a.button').href")).toBe(
      `${SECURE}#/settings`,
    );
    expect(await tab.barriers()).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "an address for notifications is added by keyboard, tested and removed, and its secret is not seen again",
  async () => {
    await open();
    await tab.shows("main", "Notifications");
    await tab.type("Name", "phone");
    await tab.type("Address", "nothing");
    await tab.press("Enter");
    await tab.shows(".field .failed", "It must begin with ntfy://");
    await tab.focuses("address");
    expect(await tab.barriers()).toEqual([]);
    await tab.type("Address", Notified.lan);
    await tab.press("Enter");
    await tab.shows(".setting", `phone gotify at ${LAN.client4}:8080`);
    const before = notified.messages("gotify").length;
    await tab.click("Send a test message");
    await tab.shows("main", "1 message sent.");
    expect(notified.messages("gotify").at(before)?.message).toContain("This is a test.");
    expect(await tab.barriers()).toEqual([]);
    expect(await told()).not.toContain("LanSecret");
    await tab.click("Remove phone from the notifications");
    await tab.shows(DIALOG, "Send no more messages to phone?");
    await tab.click("Remove");
    await tab.shows("main", "phone gets no more messages.");
    await tab.loses(".setting");
    expect(tab.complaints).toEqual([expect.stringContaining("400")]);
  },
  TIMEOUT_MS,
);

test(
  "a test that does not arrive says why",
  async () => {
    await open();
    await tab.type("Name", "nobody");
    await tab.type("Address", `http://${LAN.client4}:9/hook`);
    await tab.press("Enter");
    await tab.shows(".setting", "nobody");
    await tab.click("Send a test message");
    await tab.shows(".outcome.failed", `nobody (webhook at ${LAN.client4}:9): `);
  },
  TIMEOUT_MS,
);

test(
  "while no token is asked for, the page shows the commands that change that, and makes none",
  async () => {
    await open();
    await tab.shows("main", "Everyone on the network can look at this gateway and change it");
    await tab.shows("main", "sudo portcullis setup --auth write");
    expect(await tab.text('input[name="read_only"]')).toBeNull();
    expect((await rig.gateway.api("GET", "/api/access")).body.auth).toBe("off");
  },
  TIMEOUT_MS,
);

test(
  "a token is made, shown once in a dialog that no slip closes, and removed; the page knows its own",
  async () => {
    await openWithToken();
    await tab.shows(".setting", "laptop This page May read and change");
    await tab.type("Name of the new token", "tablet");
    await tab.choose("It may", "Only read");
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
    await tab.shows(".setting:last-child", "tablet May only read");
    expect(await tokens()).toEqual(["laptop", "tablet"]);
    expect(await told()).not.toContain(text);
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
  },
  TIMEOUT_MS,
);

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

test(
  "a backup is made by keyboard, and restored after the page has shown everything that it changes",
  async () => {
    await openWithToken();
    const mac = rig.lab.sandbox.computers[1]?.mac ?? "";
    const name = async (text: string) => {
      const body = JSON.stringify(JSON.stringify({ name: text }));
      const headers = `{ "Content-Type": "application/json", Authorization: "Bearer ${laptop}" }`;
      const put = `fetch("/api/devices/${mac}", { method: "PUT", headers: ${headers}, body: ${body} }).then(({ ok }) => ok)`;
      expect(await tab.page.evaluate(put)).toBe(true);
    };
    await name("Television");
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
    await tab.shows(DIALOG, "cannot be brought back without a backup");
    await tab.click("Restore");
    await tab.shows("main", /Restored: \d+ servers?, \d+ devices? and the settings\./);
    await tab.loses(".changes");
    const { devices } = (await rig.gateway.api("GET", "/api/devices")).body;
    expect(devices.find(({ id }: { id: string }) => id === mac).name).toBe("Television");
    expect(await told()).not.toContain(PASSPHRASE);
  },
  TIMEOUT_MS,
);

test(
  "while no token is asked for, nobody downloads the keys: the page has the command",
  async () => {
    await open();
    await tab.shows("main", "sudo portcullis export >backup.json");
    expect(await tab.page.evaluate("document.querySelectorAll('main input[type=password]').length")).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  "with a token that may only read, nothing of the settings is shown",
  async () => {
    await openWithToken("--read-only");
    await tab.shows("main", "It may only read");
    await tab.shows("main .pending.failed", "This token may only read");
    expect(await tokens()).toEqual(["laptop"]);
    expect(await tab.barriers()).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "it fits a narrow phone, also with letters of twice the size",
  async () => {
    await open();
    await tab.type("Name", "a-name-that-is-as-long-as-names-may-be-and-has-nowhere-to-break");
    await tab.type("Address", Notified.lan);
    await tab.press("Enter");
    await tab.shows(".setting", "nowhere-to-break");
    for (const percent of [100, 200]) {
      await tab.page.evaluate(`document.documentElement.style.fontSize = "${percent}%"`);
      for (const width of [320, 1400, 2560]) {
        await tab.page.setViewport({ width, height: 800 });
        expect({ percent, width, wide: await tab.wide() }).toEqual({ percent, width, wide: [] });
      }
    }
  },
  TIMEOUT_MS,
);
