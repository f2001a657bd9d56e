import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { long } from "../fast.ts";
import type { Tab } from "../rig/dashboard/browser.ts";
import { type Rig, startRig, TIMEOUT_MS } from "../rig/dashboard/rig.ts";
import { look, VIEWS } from "../rig/dashboard/views.ts";

const { test } = long("each view of the page again");

setDefaultTimeout(TIMEOUT_MS);

const HEIGHT = 800;
const NORMAL_PX = 16;
/** The right edge of what a wide screen shows is no further from the window's than this. */
const MARGIN_PX = 80;

let rig: Rig;
let tab: Tab;

beforeAll(async () => {
  rig = await startRig();
  for (const { mac, name } of rig.lab.sandbox.computers)
    await rig.gateway.api("PUT", `/api/devices/${mac}`, { name });
  await rig.gateway.api("POST", "/api/connect", { server: "Sweden" });
  await rig.send();
  await rig.gateway.api("PUT", "/api/tunnels/living-room-tv", { provider: "managed", server: "box-vpn-2" });
  await rig.gateway.api("PUT", "/api/schedules/other%20server", { tunnel: "main", at: "04:00" });
  await rig.gateway.api("POST", "/api/destinations", {
    prefixes: ["2001:db8:1234:5678::/64"],
    exit: "blocked",
  });
  const url = `https://lists.example/${"a".repeat(100)}.txt`;
  await rig.gateway.api("PUT", "/api/dns/lists", { lists: [{ url }] });
  tab = await rig.browser.open(rig.url);
  await tab.shows(".state h1", /^Protected$/);
}, TIMEOUT_MS);
afterAll(() => rig?.close(), TIMEOUT_MS);

/** The size of letters that a person has chosen in the browser, in per cent. */
async function letters(percent: number): Promise<void> {
  const session = await tab.page.createCDPSession();
  const standard = (NORMAL_PX * percent) / 100;
  await session.send("Page.setFontSizes", { fontSizes: { standard, fixed: standard } });
  await session.detach();
}

/** Some browsers make letters larger without telling the style sheet. */
async function untoldLetters(percent: number): Promise<void> {
  await tab.page.evaluate(`document.documentElement.style.fontSize = "${percent}%"`);
}

test("the browser finds no fault in what makes it an app", async () => {
  const session = await tab.page.createCDPSession();
  const { errors, data } = await session.send("Page.getAppManifest");
  await session.detach();
  expect(errors).toEqual([]);
  expect(JSON.parse(data ?? "")).toMatchObject({ name: "Portcullis" });
});

test("no view is wider than its window, with letters of twice the size either", async () => {
  for (const enlarge of [letters, untoldLetters])
    for (const percent of [100, 200]) {
      await enlarge(percent);
      for (const [view, title] of Object.entries(VIEWS)) {
        await look(tab, view, title);
        for (const width of [320, 390, 1400, 2000, 2560]) {
          await tab.page.setViewport({ width, height: HEIGHT });
          const wide = await tab.wide();
          expect({ view, width, percent, wide }).toEqual({ view, width, percent, wide: [] });
        }
      }
      await enlarge(100);
    }
});

test("a wide screen is used", async () => {
  await tab.page.setViewport({ width: 2000, height: HEIGHT });
  // Without a remote device there is little of remote access to show.
  const { remote: _, ...full } = VIEWS;
  for (const [view, title] of Object.entries(full)) {
    await look(tab, view, title);
    const right = `Math.max(...[...document.querySelectorAll("main .card")].map((each) => each.getBoundingClientRect().right))`;
    const left = 2000 - Number(await tab.page.evaluate(right));
    expect({ view, left: left > MARGIN_PX ? left : "little" }).toEqual({ view, left: "little" });
  }
});

test("the names of the kinds of servers and their numbers stay in one piece on a phone", async () => {
  await tab.page.setViewport({ width: 390, height: HEIGHT });
  await tab.page.evaluate(`location.hash = "#/servers"`);
  await tab.shows(".segments", /Imported/);
  await tab.page.evaluate(
    `for (const each of document.querySelectorAll(".segments .count")) each.innerText = "2,000"`,
  );
  // A line has one rectangle.
  const lines =
    await tab.page.evaluate(`[...document.querySelectorAll(".segments .provider")].flatMap((each) =>
      [...each.childNodes].filter((node) => node.textContent.trim() !== "").map((node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
      }))`);
  expect(lines).toEqual([1, 1, 1, 1, 1, 1]);
});
