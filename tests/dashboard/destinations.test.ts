import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { encode } from "dns-packet";
import { LAN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { Website } from "../rig/peers/website.ts";
import { Probe } from "../rig/tools/probe.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const TV = "02:00:00:00:00:20";
const DIALOG = "dialog[open]";
const NETWORK = "198.51.100.0/24";
const LIST = "https://internet.test/ads.txt";
const RULE = ".destinations .card:first-of-type .item";
const LIST_ROW = ".destinations .card:has(.dns-doh) .item";

let rig: Rig;
let website: Website;
let tab: Tab;
let other: Tab;

beforeAll(async () => {
  rig = await startRig();
  website = await Website.start(rig.lab);
  website.show("ads.txt", "0.0.0.0 ads.example\n0.0.0.0 tracker.example\n");
  await rig.gateway.kill("SIGTERM");
  rig.options.environment = website.environment;
  await rig.gateway.start();
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.send();
  await rig.gateway.api("PUT", `/api/devices/${TV}`, { name: "TV" });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/destinations`);
}, TIMEOUT_MS);
afterAll(async () => {
  await website?.stop();
  await rig?.close();
}, TIMEOUT_MS);

const rules = async () => (await rig.gateway.api("GET", "/api/destinations")).body.destinations;
const tick = (name: string) =>
  tab.page.evaluate(
    `[...document.querySelectorAll("${DIALOG} .for-whom label")].find((each) => each.innerText.trim() === "${name}").click()`,
  );

/** The TV asks the gateway for a name, until it has an answer. */
async function asksFor(name: string): Promise<void> {
  const tv = rig.lab.sandbox.computers.find(({ mac }) => mac === TV);
  const query = encode({ ...{ type: "query", id: 1 }, questions: [{ type: "A", name }] });
  const target = { protocol: "tcp", address: LAN.gateway4, port: 53 } as const;
  const framed = `${query.length.toString(16).padStart(4, "0")}${query.toHex()}`;
  const probe = await Probe.start(tv?.namespace ?? "", [{ ...target, payload: framed }]);
  await probe.until(({ answered }) => answered > 0);
  await probe.stop();
}

test("without a rule or a list, the page says what they are for", async () => {
  await tab.shows("main", "No rule yet");
  await tab.shows("main", "There is no list.");
  expect(await tab.barriers()).toEqual([]);
});

test("a rule is added by form, changed in its row and removed; another page shows it too", async () => {
  other = await rig.browser.open(`${rig.url}#/destinations`);
  await tab.click("Add a rule…");
  await tab.focuses("prefixes");
  await tab.click("Save the rule");
  await tab.shows(`${DIALOG} .field:has([name=prefixes]) .failed`, "It is required.");
  await tab.choose("Service", "Spotify");
  const filledIn = `document.querySelector("${DIALOG} [name=prefixes]").value`;
  await until(async () => (await tab.page.evaluate(filledIn)) === "spotify.com, scdn.co, spotifycdn.com");
  await tab.choose("Service", "None of these");
  await tab.type("Destinations", "198.51.100.0/33");
  await tab.press("Enter");
  await tab.shows(`${DIALOG} .field:has([name=prefixes]) .failed`, /network|address|prefix/);
  await tab.focuses("prefixes");
  await tab.type("Destinations", `film.example, ${NETWORK}`);
  await tab.choose("Exit", "blocked · no internet");
  await tab.choose("For", "Some devices");
  await tick("TV");
  await tab.type("Note optional", "advertisements");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Save the rule");
  for (const page of [tab, other])
    await page.shows(RULE, `film.example and ${NETWORK} For TV · advertisements`);
  expect(await rules()).toMatchObject([
    {
      ...{ names: ["film.example"], prefixes: [NETWORK], devices: [TV] },
      ...{ exit: "blocked", note: "advertisements" },
    },
  ]);
  expect(await tab.barriers()).toEqual([]);
  const exit = `Exit of the traffic to film.example and ${NETWORK}`;
  await tab.choose(exit, "main · Gothenburg, Sweden");
  await other.showsChosen(exit, "main · Gothenburg, Sweden");
  expect(await rules()).toMatchObject([{ exit: "main", open: true }]);
  await tab.click(`Remove the rule for film.example and ${NETWORK}`);
  await tab.shows(
    DIALOG,
    `Traffic to film.example and ${NETWORK} then takes the exit of its device again, for TV.`,
  );
  await tab.click("Remove");
  for (const page of [tab, other]) await page.shows("main", "No rule yet");
  expect(await rules()).toEqual([]);
});

test("it answers by which exit a device reaches an address, and why", async () => {
  const rule = { prefixes: [NETWORK], devices: [TV], exit: "blocked" };
  const { id } = (await rig.gateway.api("POST", "/api/destinations", rule)).body;
  await tab.choose("Device", "TV");
  await tab.type("Name or address", "198.51.100.7");
  await tab.press("Enter");
  await tab.shows(".why-answer", "TV does not reach 198.51.100.7 now.");
  await tab.shows(".why-answer", `The rule ${id} leads ${NETWORK} to blocked, for this device.`);
  expect(await tab.barriers()).toEqual([]);
  await tab.type("Name or address", "198.51.101.7");
  await tab.click("Explain");
  await tab.shows(
    ".why-answer",
    "TV reaches 198.51.101.7 through the exit main. No rule is for this address",
  );
  await tab.type("Name or address", "film.example");
  await tab.click("Explain");
  await tab.shows(".why-answer", "TV reaches film.example through the exit main.");
  await tab.type("Name or address", "film/example");
  await tab.click("Explain");
  await tab.shows(".why-card .field:has([name=name]) .failed", "It must be");
});

test("a list is added by its address, shows its size, is paused for minutes, turned off and on, has exceptions and is removed", async () => {
  await tab.click("Add a list…");
  await tab.showsChosen("List", "Advertisements and tracking (OISD small, about 56,000 names, GPL-3.0)");
  await tab.choose("List", "Malware (URLhaus, about 600 names, CC0-1.0)");
  await tab.choose("List", "Another list, by its address");
  await tab.type("Address", "http://internet.test/ads.txt");
  await tab.press("Enter");
  await tab.shows(`${DIALOG} .field:has([name=url]) .failed`, "It must be an https address.");
  await tab.type("Address", LIST);
  await tab.click("Add the list");
  await tab.shows(
    LIST_ROW,
    /internet\.test\/ads\.txt For all devices\. 2 names, confirmed (now|\d+ seconds? ago)/,
  );
  await tab.shows("main", "2 names in all lists.");
  await asksFor("ads.example");
  await tab.click("Pause for 5 minutes");
  await tab.shows(".dns-pause", /Lists block nothing for another [45]:\d\d\./);
  await tab.shows(".destinations .figures", "1 device has asked");
  await tab.page.evaluate(`document.querySelector(".destinations .figures").open = true`);
  await tab.shows(".destinations .figures", /TV\s\d+\s[1-9]\d*$/);
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Block again");
  await tab.shows(".dns-pause", /^Pause for 5 minutes$/);
  const isOn = async () => (await rig.gateway.api("GET", "/api/dns/lists")).body.lists[0]?.on;
  await tab.click("Turn off the list internet.test/ads.txt");
  await tab.shows(LIST_ROW, "It is off, and blocks nothing.");
  expect(await isOn()).toBe(false);
  await tab.click("Turn on the list internet.test/ads.txt");
  await tab.shows(LIST_ROW, /^(?!.*It is off).*2 names, confirmed/);
  expect(await isOn()).toBe(true);
  await tab.click("Change the exceptions…");
  await tab.type("Names that are never blocked", "good.example, fine.example");
  await tab.type("Names that may have addresses of the home", "plex.direct");
  await tab.click("Save the exceptions");
  await tab.shows(".destinations .exceptions .outcome", "Saved.");
  const exceptions = async () => (await rig.gateway.api("GET", "/api/dns/lists")).body.exceptions;
  expect(await exceptions()).toEqual(["good.example", "fine.example"]);
  await tab.click("Remove the list internet.test/ads.txt");
  await tab.click("Remove");
  await tab.shows("main", "There is no list.");
  expect((await rig.gateway.api("GET", "/api/dns")).body.state).toBe("off");
});

test("one switch blocks resolvers by HTTPS, and the page says where queries can be logged", async () => {
  const isBlocked = async () => (await rig.gateway.api("GET", "/api/dns/lists")).body.block_doh;
  await tab.click("Block these resolvers");
  await tab.shows(".dns-doh", "are blocked for all devices");
  expect(await isBlocked()).toBe(true);
  expect((await rig.gateway.api("GET", "/api/dns")).body.state).toBe("on");
  await tab.shows(".query-log", "None of it is kept.");
  await tab.shows(".query-log", "sudo portcullis queries on");
  expect((await rig.gateway.operate("queries", "on")).stdout).toContain("None has come yet.");
  await tab.shows(".query-log", "Queries are logged in memory until");
  await asksFor("dns.google");
  const { stdout } = await rig.gateway.operate("queries");
  expect(stdout).toMatch(/TV +dns\.google +A +blocked\n/);
  expect((await rig.gateway.operate("queries", "off")).stdout).toContain("No queries are logged");
  await tab.shows(".query-log", "None of it is kept.");
  expect(await tab.barriers()).toEqual([]);
  await tab.click("Unblock these resolvers");
  await tab.shows("main", "There is no list.");
  expect(await isBlocked()).toBe(false);
});

test("Home names what leaves outside the tunnels by a rule", async () => {
  await rig.gateway.operate("direct", "on");
  const rule = { prefixes: [NETWORK], exit: "direct" };
  expect((await rig.gateway.api("POST", "/api/destinations", rule)).status).toBe(200);
  await tab.page.evaluate(`location.hash = "#/"`);
  await tab.shows(".state h1", /^Protected, with exceptions$/);
  await tab.shows(".state .sentence", `Traffic to ${NETWORK} leaves outside the tunnels`);
});
