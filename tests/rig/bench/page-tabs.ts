import { Tab } from "../dashboard/browser.ts";
import type { Rig } from "../dashboard/rig.ts";
import { until } from "../tools/until.ts";
import { now } from "./clock.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { PROBE, type Probe } from "./page-probe.ts";

export const TABS = 4;
const AIM = atMost(2_000);
const STATE = ".state h1";

/** How long four tabs of one browser take until the last one shows what is true. */
export async function measureTabs(rig: Rig, rounds: number): Promise<Measurement[]> {
  const opened: number[] = [];
  const returned: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const tabs = await blankTabs(rig);
    opened.push(await openTogether(tabs, rig.url));
    await rig.gateway.kill("SIGKILL");
    await Promise.all(tabs.map((tab) => tab.shows(STATE, /^No answer$/)));
    await rig.gateway.start();
    const startedAt = now();
    await Promise.all(tabs.map((tab) => tab.shows(STATE, /^Protected$/)));
    returned.push(now() - startedAt);
    await tabs[0]?.page.browserContext().close();
  }
  const line = (name: string, portcullis: number[]) =>
    measurementOf({
      name: `${TABS} tabs, until the last shows the state of the home: ${name}`,
      unit: "ms",
      portcullis,
      aim: AIM,
    });
  return [line("opened at once", opened), line("after the service has started again", returned)];
}

async function blankTabs(rig: Rig): Promise<Tab[]> {
  const first = await rig.browser.open("about:blank");
  const others = Array.from({ length: TABS - 1 }, async () =>
    Tab.of(await first.page.browserContext().newPage()),
  );
  return [first, ...(await Promise.all(others))];
}

/** By the clock of each page, from the moment at which it is asked for. */
async function openTogether(tabs: readonly Tab[], url: string): Promise<number> {
  for (const { page } of tabs) await page.evaluateOnNewDocument(PROBE);
  const times = tabs.map(async ({ page }) => {
    await page.goto(url);
    let state: number | undefined;
    await until(async () => {
      state = ((await page.evaluate("window.probe")) as Probe).times.state;
      return state !== undefined;
    });
    return state ?? Number.NaN;
  });
  return Math.max(...(await Promise.all(times)));
}
