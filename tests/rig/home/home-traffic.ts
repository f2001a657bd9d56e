import dgram from "node:dgram";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { linesOf } from "../tools/lines.ts";
import { until } from "../tools/until.ts";

/** Hosts of the internet that do not answer; a device that spreads IPv6 over two routers does so by destination. */
export const SILENT_HOSTS6 = Array.from({ length: 7 }, (_, index) => `2001:db8:113::a${index}`);
/** Between two rounds of one datagram to each host. */
const ROUND_MS = 100;
/** Enough on a busy machine for rounds that take a few seconds on an idle one. */
const SENT_WITHIN_MS = 60_000;
const ECHO = 7;

/** Datagrams to the host that answers, by family. */
export interface Served {
  rounds: number;
  answered4: number;
  answered6: number;
}

/** One datagram after the other to hosts of the internet, each routed anew: none keeps to a route that it began with. */
export class HomeTraffic {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  /** It ends with the namespace. */
  static async start(namespace: string): Promise<HomeTraffic> {
    const child = Bun.spawn(commandIn(namespace, [process.execPath, import.meta.path]), {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const traffic = new HomeTraffic(child, linesOf(child.stdout));
    await traffic.lines.next();
    return traffic;
  }

  async count(): Promise<Served> {
    this.child.stdin.write("count\n");
    await this.child.stdin.flush();
    return JSON.parse((await this.lines.next()).value ?? "{}");
  }

  /** Returns once so many more rounds have been sent, and what was answered meanwhile. */
  async rounds(more: number): Promise<Served> {
    const before = await this.count();
    let after = before;
    await until(
      async () => {
        after = await this.count();
        return after.rounds >= before.rounds + more;
      },
      SENT_WITHIN_MS,
      ROUND_MS,
    );
    return {
      rounds: after.rounds - before.rounds,
      answered4: after.answered4 - before.answered4,
      answered6: after.answered6 - before.answered6,
    };
  }
}

function run(): void {
  const served: Served = { rounds: 0, answered4: 0, answered6: 0 };
  const sockets = { 4: dgram.createSocket("udp4"), 6: dgram.createSocket("udp6") };
  for (const family of [4, 6] as const) {
    sockets[family].on("error", () => {});
    sockets[family].on("message", () => {
      served[`answered${family}`] += 1;
    });
  }
  setInterval(() => {
    served.rounds += 1;
    sockets[4].send("home", ECHO, INTERNET.host4, () => {});
    for (const host of [INTERNET.host6, ...SILENT_HOSTS6]) sockets[6].send("home", ECHO, host, () => {});
  }, ROUND_MS);
  process.stdin.on("data", () => process.stdout.write(`${JSON.stringify(served)}\n`));
  console.log("ready");
}

if (import.meta.main) run();
