import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import type { Gateway, Lab } from "../tools/lab.ts";
import { linesOf } from "../tools/lines.ts";
import { until } from "../tools/until.ts";
import { now } from "./clock.ts";
import type { Contest } from "./contest.ts";
import { type Measurement, measurementOf, percentile, ratioAtMost } from "./measure.ts";
import { addClients, queriesOf } from "./names.ts";
import type { Portcullis } from "./portcullis.ts";
import type { Side } from "./side.ts";

const PER_SECOND = 2_000;
/** Questions are under way before a flush and after the repair. */
const [BEFORE_MS, SECONDS] = [1_000, 3];
/** The gateway repairs once a second, if it has to do so again and again. */
export const PAUSE_MS = 1_500;
const KNOWN_NAMES = 50;
/** For the message of a failure. */
const SAID = 50;

/**
 * How long the kernel has no table after a flush: while nobody asks, while the gateway's resolver is asked, and while as
 * many questions go to the other gateway, which costs this machine the same and the gateway's loop nothing.
 */
export async function measureRepair(
  { portcullis, wgQuick }: Contest,
  rounds: number,
): Promise<Measurement[]> {
  for (const { lab } of [portcullis, wgQuick]) await addClients(lab);
  await Promise.all([portcullis.connect(0), wgQuick.connect(0)]);
  await portcullis.call("POST", "/api/destinations", { names: ["repair.internet.test"], exit: "main" });
  const cases: { name: string; asked: Side | null; times: number[] }[] = [
    { name: "nobody asks", asked: null, times: [] },
    { name: `${PER_SECOND} questions a second to the gateway`, asked: portcullis, times: [] },
    { name: `${PER_SECOND} questions a second to another gateway`, asked: wgQuick, times: [] },
  ];
  const table = Table.watch(portcullis.lab);
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const { asked, times } of cases) times.push(await repairOf(portcullis, table, asked));
  } finally {
    table.stop();
  }
  await Promise.all([portcullis.disconnect(), wgQuick.disconnect()]);
  const other = cases[2]?.times ?? [];
  return cases.flatMap(({ name, asked, times }) =>
    [50, 90, 100].map((part) =>
      measurementOf({
        name: `flush to the table's return, ${name}, ${part}th percentile`,
        ...{ unit: "ms", portcullis: [percentile(times, part)] },
        // Beside it: while as many go to the other gateway.
        ...(asked === portcullis ? { wgQuick: [percentile(other, part)], aim: ratioAtMost(1.5) } : {}),
      }),
    ),
  );
}

async function repairOf({ lab, gateway }: Portcullis, table: Table, asked: Side | null): Promise<number> {
  const queries = { ...queriesOf(PER_SECOND, SECONDS, "known"), names: KNOWN_NAMES };
  const asking = asked?.computer.askNames(queries);
  await Bun.sleep(BEFORE_MS);
  const absence = await flushed(lab, gateway, table);
  await asking;
  await Bun.sleep(PAUSE_MS);
  return absence;
}

/** Flushes all tables, and returns for how many milliseconds the gateway's was away. */
export async function flushed(lab: Lab, gateway: Gateway, table: Table): Promise<number> {
  const repairs = table.absences.length;
  const { code, stderr } = await lab.exec(lab.namespaces.gateway, ["nft", "flush", "ruleset"]);
  if (code !== 0) throw new Error(stderr);
  await until(() => table.absences.length > repairs).catch(async (error) => {
    const { stdout } = await lab.exec(lab.namespaces.gateway, ["nft", "list", "tables"]);
    throw new Error(`${error.message}: ${table.said.slice(-20).join("\n")}\n${stdout}${gateway.log()}`);
  });
  return table.absences[repairs] ?? Number.NaN;
}

/** The gateway's table, as the kernel reports it. */
export class Table {
  /** Milliseconds that it was away, each time. */
  readonly absences: number[] = [];
  /** The lines of the latest reports. */
  said: string[] = [];
  private goneAt: number | null = null;

  private constructor(private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">) {}

  static watch(lab: Lab): Table {
    const argv = commandIn(lab.namespaces.gateway, ["nft", "monitor"]);
    const table = new Table(Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" }));
    void table.listen();
    return table;
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }

  private async listen(): Promise<void> {
    for await (const line of linesOf(this.child.stdout)) {
      this.said = [...this.said, line].slice(-SAID);
      if (line === `delete table ${TABLE}`) this.goneAt = now();
      if (line !== `add table ${TABLE}` || this.goneAt === null) continue;
      this.absences.push(now() - this.goneAt);
      this.goneAt = null;
    }
  }
}
