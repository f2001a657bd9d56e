import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each view of the page");

setDefaultTimeout(TIMEOUT_MS);

const CONNECT = "Connect to Gothenburg, Sweden";

let rig: Rig;

/** A gateway that asks for a token even of those who read. */
beforeAll(async () => {
  rig = await startRig();
  // So that the page offers to connect to it again.
  await rig.gateway.api("POST", "/api/connect", { server: "box-vpn-1" });
  await rig.send();
  await rig.gateway.api("POST", "/api/disconnect");
  await rig.gateway.keep();
}, TIMEOUT_MS);
beforeEach(async () => {
  demand("on");
  await rig.reset();
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** From the gateway's next start on. */
function demand(auth: string): void {
  rig.options.flags = ["--host", "::", "--auth", auth];
}

async function made(...words: string[]): Promise<string> {
  const { stdout } = await rig.gateway.operate("token", "add", ...words);
  return stdout.trim();
}

const remove = (name: string) => rig.gateway.operate("token", "remove", name);

async function logIn(tab: Tab, token: string, keep = "Until this tab is closed"): Promise<void> {
  await tab.type("Token", token);
  await tab.choose("Remember it", keep);
  await tab.click("Log in");
}

/** What can be used of what changes something; what only shows more, or copies a command, is no part of it. */
const LIVE = `[...document.querySelectorAll("main :is(button, select, input):not([type=search], .opener, .device-edit, .reader *, .copied-command *, .picture *, .your-home .chip, [name=whom])")]
  .filter((each) => !each.disabled && each.ariaDisabled !== "true" && !each.closest(".entry-choice"))
  .map((each) => each.outerHTML.slice(0, 120))`;

/** What the page may not show in its address or in a request's. */
const isIn = (tab: Tab, token: string) => tab.urls.some((url) => url.includes(token.slice(-26)));

test("without a token the page asks for one, and shows nothing of the home", async () => {
  const tab = await rig.browser.open(rig.url);
  await tab.shows("h1", "Log in");
  await tab.shows(".login", "sudo portcullis token add phone");
  expect(await tab.text("nav")).toBeNull();
  expect(await tab.barriers()).toEqual([]);
  await logIn(tab, `portcullis_${"0".repeat(26)}`);
  await tab.shows(".outcome.failed", "This token is not valid, or was removed.");
  await logIn(tab, "kein Schlüssel");
  await tab.shows(".outcome.failed", "This token is not valid, or was removed.");
});

test("a login over the limit of requests is made as soon as the gateway takes it", async () => {
  const token = await made("phone");
  const tab = await rig.browser.open(rig.url);
  await tab.shows("h1", "Log in");
  await tab.type("Token", token);
  // From the computer of the browser, so that both share the limit.
  const questions = ["timeout", "3", "curl", "-s", "-o", "/dev/null", `${rig.url}api/access?[1-1000000]`];
  const asking = rig.lab.exec(rig.lab.namespaces.client, questions);
  const isOver = async () =>
    (
      await rig.lab.exec(rig.lab.namespaces.client, [
        "curl",
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code}",
        `${rig.url}api/access`,
      ])
    ).stdout === "429";
  await until(isOver, undefined, 25);
  await tab.click("Log in");
  await asking;
  await tab.shows(".state h1", "Blocked");
});

test("a token opens the page until the tab is closed; once it is removed the page asks again and forgets the home", async () => {
  const token = await made("phone");
  const tab = await rig.browser.open(rig.url);
  await tab.shows("h1", "Log in");
  await logIn(tab, token);
  await tab.shows(".state h1", "Blocked");
  await tab.click("Servers");
  await tab.shows("main", "box-vpn-2");
  await tab.page.reload();
  await tab.shows("main", "box-vpn-2");
  expect(await tab.page.evaluate("localStorage.length")).toBe(0);
  expect(isIn(tab, token)).toBe(false);
  await remove("phone");
  await tab.shows("h1", "Log in");
  // The page loads itself again to forget the home, and cannot be asked meanwhile.
  await until(async () => (await tab.page.evaluate("sessionStorage.length").catch(() => null)) === 0);
});

test("a read-only token is named and shows everything, and nothing can be changed; kept in the browser, it opens other tabs until one logs out", async () => {
  const token = await made("tablet", "--read-only");
  const tab = await rig.browser.open(rig.url);
  await tab.shows("h1", "Log in");
  await logIn(tab, token, "In this browser");
  await tab.shows(".state h1", "Blocked");
  await tab.shows(".reader", "You are logged in with the token tablet. This token may only read");
  for (const route of ["", "servers", "setup", "devices", "tunnels", "schedules"]) {
    await tab.page.evaluate(`location.hash = "#/${route}"`);
    await tab.page.waitForFunction(
      `document.querySelector("main :is(.button, select, .star)") && !document.querySelector(".pending")`,
    );
    expect({ route, live: await tab.page.evaluate(LIVE) }).toEqual({ route, live: [] });
    expect(await tab.barriers([{ width: 360, scheme: "dark" }])).toEqual([]);
  }
  await tab.page.goto(`${rig.url}swagger`);
  await tab.shows(".opblock-summary", "/api/");
  await tab.page.goto(rig.url);
  await tab.shows(".reader", "token tablet");
  expect(await tab.barriers()).toEqual([]);
  await tab.page.click(".reader button");
  await tab.shows("h1", "Log in");
  expect(await tab.page.evaluate("localStorage.length")).toBe(0);
});

test("the documentation page asks for a token, shows its operations, and uses it for those that are tried", async () => {
  const token = await made("laptop");
  const tab = await rig.browser.open(`${rig.url}swagger/#/Tunnels/getStatus`);
  await tab.shows("form", "This gateway asks for a token:");
  await tab.type("This gateway asks for a token:", token);
  await tab.click("Log in");
  const operation = "#operations-Tunnels-getStatus";
  await tab.shows(`${operation} .try-out__btn`, "Try it out");
  await tab.page.click(`${operation} .try-out__btn`);
  await tab.page.waitForSelector(`${operation} .execute`);
  await tab.page.click(`${operation} .execute`);
  await tab.shows(`${operation} .live-responses-table tbody`, /^200/);
  expect(isIn(tab, token)).toBe(false);
});

test("if only changes need a token, the page is shown without one and asks when something is changed", async () => {
  demand("write");
  await rig.gateway.restart();
  const token = await made("desk");
  const tab = await rig.browser.open(rig.url);
  await tab.shows(".state h1", "Blocked");
  await tab.click(CONNECT);
  await tab.shows("dialog h2", "Log in");
  expect(await tab.barriers()).toEqual([]);
  await logIn(tab, token);
  await tab.shows(".logout", "Log out");
  expect(await tab.text("dialog")).toBeNull();
  await tab.click(CONNECT);
  await tab.shows(".state h1", "Protected");
  await remove("desk");
  await tab.shows(".state h1", "Protected");
  // It learns of that with its next request.
  await tab.page.evaluate(`location.hash = "#/history"`);
  await tab.page.waitForFunction("sessionStorage.length === 0");
});
