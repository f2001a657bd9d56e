import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { Check } from "../../src/checks/schema.ts";
import { INTERNET } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const LAPTOP = "/api/devices/02:00:00:00:00:10";
const OWN = ".this-device";

let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.api("PUT", LAPTOP, { name: "Laptop" });
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  await rig.reset();
  tab = await rig.browser.open(`${rig.url}#/checks`);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** The titles of a list, as the page has them. */
const titlesOf = async (kind: string) =>
  (await tab.page.evaluate(
    `[...document.querySelectorAll(".check-rows.${kind} strong")].map((each) => each.innerText)`,
  )) as string[];

test("without a tunnel this device has no internet, and its DNS queries are refused", async () => {
  await tab.shows(OWN, "Laptop has no internet The main tunnel is disconnected");
  await tab.shows(OWN, "Its DNS queries are refused");
  await tab.shows(OWN, "The gateway has forwarded nothing from it yet");
  expect(await tab.barriers()).toEqual([]);
});

test("each check is shown, the worst first, with what to do about it", async () => {
  const { checks } = (await rig.gateway.api("GET", "/api/checks")).body;
  const titles = (result: string) =>
    checks.filter((each: Check) => each.result === result).map(({ title }: Check) => title);
  await tab.click("Check again");
  for (const result of ["fault", "warning", "ok"]) {
    let found: string[] = [];
    const isShown = async () => {
      found = await titlesOf(result);
      return Bun.deepEquals(found, titles(result));
    };
    await until(isShown).catch(() => expect(found).toEqual(titles(result)));
  }
  const { found, advice } = checks.find(({ advice }: Check) => advice !== null) ?? {};
  await tab.shows("main", `What to do: ${advice}`);
  expect((await tab.text("main"))?.toLowerCase()).toContain(found.toLowerCase());
});

test("with a tunnel it says by which one this device leaves, that its DNS does too, and by what it knows it", async () => {
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await tab.shows(OWN, "Laptop goes through Gothenburg, Sweden");
  await tab.shows(OWN, "Its DNS queries go through the tunnel, too");
  const website = () => rig.lab.fetchFrom(rig.lab.namespaces.client, `http://${INTERNET.host4}/`);
  await until(async () => (await website()) !== null);
  await tab.shows(OWN, "It uses the gateway as its router");
  await tab.shows(OWN, "The last check: The tunnel's resolver 10.64.0.1 answers.");
  expect(await tab.barriers()).toEqual([]);
});

test("when this device is moved it says so at once, blocked or direct", async () => {
  await rig.gateway.api("PUT", LAPTOP, { exit: "blocked" });
  await tab.shows(OWN, "Laptop has no internet Its exit is blocked");
  expect((await rig.gateway.operate("direct", "on")).code).toBe(0);
  await rig.gateway.api("PUT", LAPTOP, { exit: "direct" });
  await tab.shows(OWN, "Laptop leaves directly");
  await tab.shows(OWN, "Its DNS queries leave directly too");
  await tab.click("Check again");
  await tab.shows(".check-rows.warning", "Direct devices");
  expect(await tab.barriers()).toEqual([]);
});

test("an operator who turns the kill switch off is the worst that is shown", async () => {
  const turnedOff = await rig.gateway.operate("killswitch", "off");
  expect(turnedOff.code).toBe(0);
  await tab.click("Check again");
  await tab.shows(".check-rows.fault", "Fault: Kill switch: firewall Turned off on the gateway");
  await rig.gateway.api("PUT", LAPTOP, { exit: "blocked" });
  await tab.shows(OWN, "Laptop might leave outside the tunnel The kill switch is not in place");
  expect(await tab.barriers()).toEqual([]);
});
