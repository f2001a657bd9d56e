import type { Rig } from "../dashboard/rig.ts";
import { until } from "../tools/until.ts";
import { type Measurement, measurementOf } from "./measure.ts";
import { PROBE, type Probe } from "./page-probe.ts";

/** Whether the updates come once a second, as they do, or in each frame that the browser draws. */
export type Pace = "real time" | "fed faster";

/** What the second half may add; the first fills the graph's ten minutes. */
const GROWTH = 1.1;
/** The waiting for one call must not end before the call does. */
const FED_AT_ONCE = 100;

interface Memory {
  heapMib: number;
  nodes: number;
  listeners: number;
}

/** What the page takes when it has just opened, after half of the updates, and after all of them. */
export async function measurePageMemory(rig: Rig, updates: number, pace: Pace): Promise<Measurement[]> {
  const tab = await rig.browser.open(rig.url, undefined, PROBE);
  await tab.shows(".rates .received", /^[0-9]/);
  const session = await tab.page.createCDPSession();
  const count = async () => ((await tab.page.evaluate("window.probe")) as Probe).updates;
  const update = async (total: number) => {
    while (pace === "fed faster" && (await count()) < total) {
      const more = Math.min(FED_AT_ONCE, total - (await count()));
      await tab.page.evaluate(`window.probe.feed(${more})`);
    }
    await until(async () => (await count()) >= total, total * 2_000, 1_000);
  };
  const memory = async (): Promise<Memory> => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    return { heapMib: usedSize / 2 ** 20, nodes, listeners: jsEventListeners };
  };
  const start = await memory();
  await update(updates / 2);
  const midway = await memory();
  await update(updates);
  const end = await memory();
  const errors = tab.complaints.filter((each) => !/Failed to load resource|WebSocket/.test(each));
  if (errors.length > 0) throw new Error(errors.join("\n"));
  await tab.page.browserContext().close();
  const lines = (what: string, unit: string, of: (memory: Memory) => number): Measurement[] => {
    const flat = {
      text: `${GROWTH} × halfway at most`,
      met: (value: number) => value <= GROWTH * of(midway),
    };
    const line = (when: string, at: Memory) => ({ name: `${what}, ${when}`, unit, portcullis: [of(at)] });
    return [
      measurementOf(line("just opened", start)),
      measurementOf(line(`after ${updates / 2} updates, ${pace}`, midway)),
      measurementOf({ ...line(`after ${updates} updates, ${pace}`, end), aim: flat }),
    ];
  };
  return [
    ...lines("the page's heap", "MiB", ({ heapMib }) => heapMib),
    ...lines("the page's DOM nodes", "", ({ nodes }) => nodes),
    ...lines("the page's event listeners", "", ({ listeners }) => listeners),
  ];
}
