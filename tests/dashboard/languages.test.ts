import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LANGUAGES } from "../../src/dashboard/languages/all.ts";
import { long } from "../fast.ts";
import { said } from "../page/messages.ts";
import { type Tab, wishing } from "../rig/dashboard/browser.ts";
import { type Rig, startRig } from "../rig/dashboard/rig.ts";
import { SECURE, SECURE_FLAGS, untilSecure } from "../rig/dashboard/secure.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page again");

/** Thirteen views, each looked at by axe-core. */
const TIMEOUT_MS = 900_000;
setDefaultTimeout(TIMEOUT_MS);
/** The narrowest phone. */
const PHONE = { width: 320, height: 780 };
/** What the page looked like, for people. */
const PICTURES = join(import.meta.dir, "../../dist/languages");

const OTHERS = LANGUAGES.filter(({ catalogue }) => catalogue !== null);
let rig: Rig;

beforeAll(async () => {
  rig = await startRig();
  await rig.gateway.kill("SIGTERM");
  rig.options.flags = SECURE_FLAGS;
  await rig.gateway.start();
  await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
  await rig.send();
  await rig.gateway.api("PUT", "/api/tunnels/living-room-tv", { provider: "managed", server: "box-vpn-2" });
  await rig.gateway.api("PUT", "/api/schedules/other%20server", { tunnel: "main", at: "04:00" });
  await rig.gateway.api("POST", "/api/destinations", { prefixes: ["203.0.113.0/24"], exit: "blocked" });
  await untilSecure(rig.gateway);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

const open = (...languages: string[]) => rig.browser.open(SECURE, undefined, wishing(...languages));

/** As while the gateway starts again. */
const LOSES_SENTENCES = `
  const real = fetch;
  let isLost = false;
  window.fetch = (path, init) => {
    if (isLost || !String(path).includes("/sentences.")) return real(path, init);
    isLost = true;
    return Promise.reject(new TypeError("Failed to fetch"));
  };
`;

/** What the gateway tells, by the keys of its rows. */
function sentencesOf(code: string, name = "sentences"): Readonly<Record<string, string>> {
  const path = join(import.meta.dir, `../../src/shared/sentences/${name}.${code}.json`);
  return JSON.parse(readFileSync(path, "utf8"));
}

/** The country of the server, and what was asked for. */
const countryOf = (code: string) => new Intl.DisplayNames([code], { type: "region" }).of("SE");

const langOf = (tab: Tab) => tab.page.evaluate("document.documentElement.lang");

for (const { code } of LANGUAGES)
  test(`${code}: each view fits the narrowest phone, and axe-core finds nothing`, async () => {
    mkdirSync(PICTURES, { recursive: true });
    const tab = await open(`${code}-XX`, "en");
    for (const [view, title] of Object.entries(VIEWS)) {
      await look(tab, view, said(code, title));
      if (view === "tunnels")
        await tab.shows("main", new RegExp(`Gothenburg.*${countryOf(code)}.*${countryOf(code)}`));
      expect({ view, barriers: await tab.barriers([{ width: 360, scheme: "light" }]) }).toEqual({
        view,
        barriers: [],
      });
      await tab.page.setViewport(PHONE);
      expect({ view, wide: await tab.wide() }).toEqual({ view, wide: [] });
      await tab.page.screenshot({ path: join(PICTURES, `${code}-${view || "home"}.png`), fullPage: true });
    }
    expect(await langOf(tab)).toBe(code);
    expect(tab.complaints).toEqual([]);
    // The page's own messages, what the gateway tells, and what checks find.
    expect(tab.urls.filter((url) => url.endsWith(".json")).length).toBe(code === "en" ? 0 : 3);
    await rig.browser.closeTabs();
  });

test("a language that the page has not is English, and the next one that the browser wishes is taken", async () => {
  const [other] = OTHERS;
  const tab = await open("tlh", "zh-Hant-TW", "en-GB");
  await tab.shows("nav", "Home");
  expect(await langOf(tab)).toBe("en");
  if (other === undefined) return;
  const next = await open("tlh", other.code);
  await next.shows("nav", said(other.code, "Home"));
});

for (const { code, name } of OTHERS.slice(0, 1)) {
  test("what a person chooses counts more than what the browser wishes, and stays", async () => {
    const tab = await open("en");
    await look(tab, "settings", "Settings");
    await tab.click(name);
    await tab.shows("nav", said(code, "Home"));
    await tab.page.reload();
    await tab.shows("nav", said(code, "Home"));
    expect(await langOf(tab)).toBe(code);
    await tab.click("English");
    await tab.shows("nav", "Home");
    expect(await tab.page.evaluate("document.cookie")).toBe("");
  });

  test("without its messages the page is English, and works", async () => {
    const tab = await open("en");
    await tab.shows("nav", "Home");
    await tab.page.evaluate(`document.cookie = "portcullis-language=${code}"`);
    const session = await tab.page.createCDPSession();
    await session.send("Network.enable");
    await session.send("Network.setBlockedURLs", { urls: ["*.json"] });
    await tab.page.reload();
    await tab.shows("nav", "Home");
    await tab.shows(".state h1", /^Protected$/);
    expect(await langOf(tab)).toBe("en");
  });

  test("what checks find is said in the language, once their view is open", async () => {
    const tab = await open(code);
    await tab.shows("nav", said(code, "Home"));
    expect(tab.urls.some((url) => url.includes("/findings."))).toBe(false);
    await look(tab, "checks", said(code, "Checks"));
    await tab.shows("main", sentencesOf(code).check_clock ?? "missing");
    await tab.shows("main", sentencesOf(code, "findings").firewall_holds ?? "missing");
  });

  test("what the gateway tells is asked for again if it could not be had", async () => {
    const tab = await rig.browser.open(SECURE, undefined, `${wishing(code)};${LOSES_SENTENCES}`);
    await look(tab, "checks", said(code, "Checks"));
    await tab.shows("main", sentencesOf(code).check_clock ?? "missing");
  });
}
