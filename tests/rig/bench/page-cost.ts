import { readFileSync } from "node:fs";
import type { Tab } from "../dashboard/browser.ts";
import type { Rig } from "../dashboard/rig.ts";
import { until } from "../tools/until.ts";
import { now } from "./clock.ts";
import { type Measurement, measurementOf } from "./measure.ts";

const PAGES = [0, 1, 10];
/** A page reads more than five answers when it opens, and a client gets ten a second. */
const PAUSE_MS = 1_000;
/** On a busy machine; otherwise it takes two seconds. */
const QUIET_WITHIN_MS = 60_000;
/** proc_pid_stat(5) counts in hundredths of a second, on every architecture that Debian has. */
const TICK_MS = 10;

/** Of a second; bytes are those of IP packets to and from all pages. */
interface Cost {
  serviceMs: number;
  programsMs: number;
  bytes: number;
}

/** What open pages cost the gateway while nothing happens but traffic. */
export async function measurePageCost(rig: Rig, rounds: number, ms: number): Promise<Measurement[]> {
  await countBytes(rig);
  const found = PAGES.map((): Cost[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const tabs: Tab[] = [];
    await quiet(rig);
    for (const [index, pages] of PAGES.entries()) {
      while (tabs.length < pages) tabs.push(await openOne(rig));
      found[index]?.push(await costOf(rig, ms));
    }
    await Promise.all(tabs.map(({ page }) => page.browserContext().close()));
  }
  return PAGES.flatMap((pages, index) => {
    const line = (name: string, unit: string, of: (cost: Cost) => number) =>
      measurementOf({
        name: `${name} a second, ${pages} open`,
        unit,
        portcullis: found[index]?.map(of) ?? [],
      });
    return [
      line("pages: the service's processor time", "ms", ({ serviceMs }) => serviceMs),
      line("pages: processor time of programs it runs", "ms", ({ programsMs }) => programsMs),
      line("pages: bytes on the wire", "B", ({ bytes }) => bytes),
    ];
  });
}

async function openOne(rig: Rig): Promise<Tab> {
  const tab = await rig.browser.open(rig.url);
  await tab.shows(".rates .received", /^[0-9]/);
  await tab.page.waitForNetworkIdle({ idleTime: PAUSE_MS });
  return tab;
}

/** Pages that were closed a moment ago may still have answers on their way. */
async function quiet(rig: Rig): Promise<void> {
  let before = Number.NaN;
  await until(
    async () => {
      const { bytes } = await readingOf(rig);
      const isQuiet = bytes === before;
      before = bytes;
      return isQuiet;
    },
    QUIET_WITHIN_MS,
    PAUSE_MS,
  );
}

async function costOf(rig: Rig, ms: number): Promise<Cost> {
  const [before, startedAt] = [await readingOf(rig), now()];
  await Bun.sleep(ms);
  const [after, endedAt] = [await readingOf(rig), now()];
  const each = (name: keyof Cost) => ((after[name] - before[name]) * 1_000) / (endedAt - startedAt);
  return { serviceMs: each("serviceMs"), programsMs: each("programsMs"), bytes: each("bytes") };
}

/** Sums since the service started. Programs count when they have ended. */
async function readingOf({ gateway, lab }: Rig): Promise<Cost> {
  const stat = readFileSync(`/proc/${gateway.pid}/stat`, "utf8");
  // The name in brackets may have blanks. After it, the fields begin with the third: 14 to 17 are the times.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0, programsUser = 0, programsSystem = 0] = fields.slice(11, 15).map(Number);
  const list = await lab.exec(lab.namespaces.client, [
    "nft",
    "-j",
    "list",
    "counter",
    "inet",
    "bench",
    "page",
  ]);
  const { nftables }: { nftables: { counter?: { bytes: number } }[] } = JSON.parse(list.stdout);
  const bytes = nftables.find(({ counter }) => counter !== undefined)?.counter?.bytes ?? Number.NaN;
  const milliseconds = (ticks: number) => ticks * TICK_MS;
  return {
    serviceMs: milliseconds(user + system),
    programsMs: milliseconds(programsUser + programsSystem),
    bytes,
  };
}

/** On the computer with the browser. */
async function countBytes({ lab, gateway }: Rig): Promise<void> {
  const { code, stderr } = await lab.exec(
    lab.namespaces.client,
    ["nft", "-f", "-"],
    `table inet bench {
      counter page { }
      chain in { type filter hook input priority 0; tcp sport ${gateway.port} counter name page; }
      chain out { type filter hook output priority 0; tcp dport ${gateway.port} counter name page; }
    }`,
  );
  if (code !== 0) throw new Error(stderr);
}
