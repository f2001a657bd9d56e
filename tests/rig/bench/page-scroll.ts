import { bringDevices } from "../dashboard/devices.ts";
import type { Rig } from "../dashboard/rig.ts";
import { until } from "../tools/until.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";

/** Of a large home. */
const DEVICES = 61;
/** Longer than this, and a finger on the screen feels it. Chromium calls it a long task. */
const AIM = atMost(50);
const STEP_PX = 120;

/** Notes each task that takes longer than 50 ms; a script that runs before the page's. */
const NOTES_TASKS = `(() => {
  globalThis.tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: "longtask" });
})()`;

/** Whether a long list of devices moves smoothly under a finger, on a phone. */
export async function measureScroll(rig: Rig, rounds: number): Promise<Measurement[]> {
  await bringDevices(rig, DEVICES);
  const tab = await rig.browser.open(`${rig.url}#/devices`, { width: 360, scheme: "light" }, NOTES_TASKS);
  await until(
    async () => (await tab.page.evaluate(`document.querySelectorAll(".device").length`)) === DEVICES,
  );
  await tab.page.waitForNetworkIdle({ idleTime: 1_000 });
  const longest: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await tab.page.evaluate("scrollTo(0, 0); tasks.length = 0");
    await tab.page.evaluate(SCROLL);
    longest.push(Number(await tab.page.evaluate("Math.max(0, ...tasks)")));
  }
  await tab.page.browserContext().close();
  const name = `scrolling through ${DEVICES} devices: the longest task above 50 ms`;
  return [measurementOf({ name, unit: "ms", portcullis: longest, aim: AIM })];
}

/** As fast as the browser draws. Its end is the end of the list. */
const SCROLL = `(async () => {
  const end = () => document.documentElement.scrollHeight - innerHeight;
  for (let top = 0; top < end(); top += ${STEP_PX}) {
    scrollTo(0, top);
    await new Promise(requestAnimationFrame);
  }
})()`;
