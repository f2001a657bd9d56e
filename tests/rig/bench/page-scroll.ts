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
  await bringDevices(rig);
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

/** As many as that are in the kernel's table of neighbours, beside the sandbox's computers. */
async function bringDevices({ lab, gateway }: Rig): Promise<void> {
  const count = DEVICES - lab.sandbox.computers.length;
  const lines = Array.from({ length: count }, (_, index) => {
    const hex = index.toString(16).padStart(2, "0");
    return `neigh replace fd77::1:${hex} lladdr 02:00:00:00:02:${hex} dev lan0 nud reachable\n`;
  });
  const { code, stderr } = await lab.outside(
    ["ip", "-n", lab.namespaces.gateway, "-batch", "-"],
    lines.join(""),
  );
  if (code !== 0) throw new Error(stderr);
  await until(async () => (await gateway.api("GET", "/api/devices")).body.devices.length === DEVICES);
}
