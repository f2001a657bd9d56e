import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import { NUMBER } from "../providers/mullvad/provider.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { assertLeadsToHttps, openView, SECURE_FLAGS, told } from "../rig/dashboard/secure.ts";
import { ProviderSite } from "../rig/peers/provider.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const DIALOG = "dialog[open]";

let rig: Rig;
let provider: ProviderSite;
let tab: Tab;

/** A gateway without an account, and a provider who knows no device. */
beforeAll(async () => {
  rig = await startRig();
  provider = await ProviderSite.start(rig.lab);
  rig.options.environment = provider.environment;
  rig.options.flags = flags();
  await rig.gateway.keep();
  await provider.stop();
}, TIMEOUT_MS);
beforeEach(async () => {
  provider = await ProviderSite.start(rig.lab);
  rig.options.flags = flags();
  await rig.reset();
  provider.visits();
}, TIMEOUT_MS);
afterEach(() => provider.stop(), TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const flags = (...more: string[]) => [
  ...[...SECURE_FLAGS, "--managed-api", provider.address],
  ...["--managed-key-file", "", "--managed-address", "", "--managed-dns", ""],
  ...more,
];

async function open(url?: string): Promise<void> {
  tab = await openView(rig, "account", url);
}

async function logIn(): Promise<void> {
  await tab.shows("main", "Log in");
  await tab.type("Account number", "1234 5678 9012 3456");
  await tab.press("Enter");
  await tab.shows("main", "Logged in at Mullvad, account ************3456.");
}

const managed = async () => (await rig.gateway.api("GET", "/api/managed")).body.choices[0];

test("over plain HTTP the view leads to HTTPS, and asks for nothing", async () => {
  await open(rig.url);
  await assertLeadsToHttps(tab, "account");
  expect(await tab.page.evaluate("document.querySelectorAll('main input').length")).toBe(0);
  await open();
  await tab.shows("main", "Log in");
  expect(await tab.barriers()).toEqual([]);
  expect(provider.visits()).toEqual([]);
});

test("logged in by keyboard, another key, logged out: each shows what it changes first, and nothing secret stays", async () => {
  await open();
  await tab.shows("main", "You cannot connect to any of them yet.");
  await logIn();
  await tab.shows(
    "main",
    "Mullvad Account ************3456 Paid until 2 Jan 2027 Registration happy otter 50",
  );
  await tab.shows("main", "2 servers to connect to.");
  expect((await managed()).account).toBe(true);
  expect(await tab.barriers()).toEqual([]);
  const key = () => tab.text(".facts > div:last-child dd");
  const former = await key();
  await tab.click("Replace the key at Mullvad");
  await tab.shows(DIALOG, "Mullvad forgets the present one");
  await tab.click("Replace");
  await tab.shows(".outcome", "This gateway has a new key.");
  await until(async () => ((await key()) ?? former) !== former);
  await tab.click("Log out at Mullvad");
  await tab.shows(DIALOG, "nothing can connect to them until you log in again");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Cancel");
  expect((await managed()).account).toBe(true);
  await tab.click("Log out at Mullvad");
  await tab.click("Log out");
  await tab.loses(".facts");
  expect((await managed()).account).toBe(false);
  expect(await told(rig, tab)).not.toMatch(/1234 ?5678/);
  expect(tab.complaints).toEqual([]);
});

test("a wrong number is said at once, each provider asks for its own, and what a provider could not do is not lost", async () => {
  await open();
  await tab.shows("main", "Log in");
  await tab.click("Log in");
  await tab.focuses("account_number");
  await tab.type("Account number", "123");
  await tab.click("Log in");
  await tab.shows(".outcome.failed", "Account number: must be 16 digits.");
  await tab.choose("Provider", "Private Internet Access");
  await tab.shows("main", "User name Password");
  await tab.choose("Provider", "Mullvad");
  await logIn();
  provider.pause();
  await tab.click("Log out at Mullvad");
  await tab.click("Log out");
  await tab.shows(".outcome.failed", "nothing was changed");
  expect((await managed()).account).toBe(true);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Remove here only, at Mullvad");
  await tab.shows(DIALOG, "The registration may stay in the account");
  await tab.click("Remove here");
  await tab.shows(".outcome", 'The registration "happy otter 50" is still in the account');
  provider.resume();
  expect((await managed()).account).toBe(false);
});

test("with a token that may only read, nothing of an account is shown or can be changed", async () => {
  rig.options.flags = flags("--auth", "write");
  await rig.gateway.restart();
  const { stdout } = await rig.gateway.operate("token", "add", "tablet", "--read-only");
  await open();
  await tab.shows("main", "Log in");
  await tab.type("Account number", NUMBER);
  await tab.click("Log in");
  await tab.shows(DIALOG, "This gateway asks for a token");
  await tab.type("Token", stdout.trim());
  await tab.press("Enter");
  await tab.shows("main", "may only read");
  expect((await managed()).account).toBe(false);
  expect(provider.visits()).toEqual([]);
  expect(await tab.barriers()).toEqual([]);
});

test("it fits a narrow phone, also with letters of twice the size", async () => {
  await open();
  await logIn();
  await tab.shows("main", "happy otter 50");
  expect(await tab.misfits([320, 1400])).toEqual([]);
});
