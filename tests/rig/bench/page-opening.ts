import type { Page } from "puppeteer-core";
import { Tab } from "../dashboard/browser.ts";
import type { Rig } from "../dashboard/rig.ts";
import { until } from "../tools/until.ts";
import { atMost, type Goal, type Measurement, measurementOf } from "./measure.ts";
import { type Moment, PROBE, type Probe } from "./page-probe.ts";
import { TABS } from "./page-tabs.ts";

/** A phone, or an old laptop, against this machine. */
const SLOWER = 4;
const AIM = atMost(600);
/** The interface allows a client ten in a second: beyond that the page waits. */
const REQUESTS = atMost(8);
/** A page reads again after a second what has changed meanwhile. */
const SETTLED_MS = 1_500;
const CACHES = ["cold", "warm"] as const;

/** In milliseconds; `requests` are those to the interface. */
type Opening = Record<Moment | "content" | "requests", number>;

/** How long a person waits for the page, with other tabs open and a browser whose processor is throttled. */
export async function measureOpening(rig: Rig, rounds: number): Promise<Measurement[]> {
  const others = await Promise.all(Array.from({ length: TABS - 1 }, () => rig.browser.open(rig.url)));
  await Promise.all(others.map((tab) => tab.shows(".state h1", "Protected")));
  const found = { cold: [] as Opening[], warm: [] as Opening[] };
  for (let round = 0; round < rounds; round += 1) {
    const tab = await rig.browser.open("about:blank");
    found.cold.push(await openOnce(await tab.page.browserContext().newPage(), rig.url, "cold"));
    found.warm.push(await openOnce(await tab.page.browserContext().newPage(), rig.url, "warm"));
    await tab.page.browserContext().close();
  }
  await Promise.all(others.map(({ page }) => page.browserContext().close()));
  const lines = (what: string, unit: string, of: keyof Opening, aim?: Goal) =>
    CACHES.map((cache) => {
      const portcullis = found[cache].map((opening) => opening[of]);
      const name = `opening: ${what}, ${cache} cache, processor throttled ${SLOWER} times`;
      return measurementOf({ name, unit, portcullis, ...(aim && { aim }) });
    });
  return [
    ...lines("first content", "ms", "content", AIM),
    ...lines("state of the home", "ms", "state", AIM),
    ...lines("live figures", "ms", "traffic", AIM),
    // Two messages, a second apart, make a rate.
    ...lines("first rates", "ms", "rates"),
    ...lines("requests to the interface", "", "requests", REQUESTS),
  ];
}

/** The size of what a browser without a cache loads, in bytes, compressed. */
export async function sizeOf({ lab, url }: Rig): Promise<number> {
  const get = async (address: string, ...more: string[]) => {
    const compressed = ["-H", "Accept-Encoding: gzip", "-w", "%{size_download}\n"];
    const program = ["curl", "-gsSf", ...compressed, ...more, address];
    return (await lab.exec(lab.namespaces.client, program)).stdout;
  };
  const html = await get(url, "--compressed");
  const files = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(
    ([, path = ""]) => new URL(path, url).href,
  );
  if (files.length === 0) throw new Error(`${url} names no files`);
  const sizes = await Promise.all([url, ...files].map((each) => get(each, "-o", "/dev/null")));
  return sizes.map(Number).reduce((sum, size) => sum + size, 0);
}

async function openOnce(page: Page, url: string, cache: (typeof CACHES)[number]): Promise<Opening> {
  const tab = await Tab.of(page);
  await tab.wear({ width: 360, scheme: "light" });
  await page.evaluateOnNewDocument(PROBE);
  const session = await page.createCDPSession();
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  await page.goto(url);
  await until(async () => (await probeOf(tab)).times.rates !== undefined);
  const content = (await page.evaluate(FIRST_CONTENT)) as number;
  const transferred = (await page.evaluate(TRANSFERRED)) as number;
  if (transferred > 0 !== (cache === "cold"))
    throw new Error(`the ${cache} cache was not: ${transferred} bytes`);
  await page.waitForNetworkIdle({ idleTime: SETTLED_MS });
  const requests = tab.urls.filter((each) => each.includes("/api/")).length;
  const { state = Number.NaN, traffic = Number.NaN, rates = Number.NaN } = (await probeOf(tab)).times;
  await page.close();
  return { content, state, traffic, rates, requests };
}

async function probeOf(tab: Tab): Promise<Probe> {
  return (await tab.page.evaluate("window.probe")) as Probe;
}

const FIRST_CONTENT = `performance.getEntriesByName("first-contentful-paint")[0].startTime`;
/** Of scripts and style sheets: those from the cache count nothing. */
const TRANSFERRED = `performance.getEntriesByType("resource").filter(({ name }) => name.includes("/dashboard/"))
  .reduce((sum, { transferSize }) => sum + transferSize, 0)`;
