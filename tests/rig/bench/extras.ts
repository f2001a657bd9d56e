import { BACK_MINUTES } from "../../../src/shared/bounds.ts";
import type { Status } from "../../../src/tunnel/schema.ts";
import { createLab, type Gateway, type Lab } from "../tools/lab.ts";
import { now } from "./clock.ts";
import type { ContestOptions } from "./contest.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import { countIn } from "./programs.ts";
import { progress } from "./progress.ts";
import type { Span } from "./side.ts";
import { traceOf, tracerTo } from "./trace.ts";
import { startUser } from "./user.ts";

/** A former tunnel is gone, and what a connect sets in motion is over. */
const SETTLED_MS = 5_000;
/** From the connect on: long enough for one attempt to go back, after a minute, and too short for a second one. */
const ATTEMPT_MS = 110_000;
const MINUTE_MS = 60_000;
const TARGETS = [{ server: "box-vpn-1" }, { server: "box-vpn-2" }];
/** So high that nothing is dropped. */
const LIMITS = {
  rate: { down: 10_000, up: 10_000 },
  quota: { megabytes: 10_000_000, every: "day", at_end: "told" },
};
const NO_LIMITS = { rate: null, quota: null };
/** What people may have of a gateway without using it. */
const MORE_A_MINUTE = 1;

/**
 * What measured quality, limits and an order cost beside a gateway with none of them: the programs that run while a device
 * uses the tunnel, and the rules that each packet passes. The programs are noted, so nothing else can be measured.
 */
export async function measureExtras(
  ms: number,
  how: Pick<ContestOptions, "program"> = {},
): Promise<Measurement[]> {
  const homes: Home[] = [];
  try {
    for (let number = 0; number < 3; number += 1) homes.push(await Home.open(how));
    const [bare, full, left] = homes as [Home, Home, Home];
    const attempt = programsInAttempt(left);
    // It is awaited below; if what is before that fails, its own failure says nothing.
    attempt.catch(() => {});
    await bare.connect();
    const rules = await rulesOf(full);
    progress("programs, with quality, limits and an order");
    const [without, beside] = await Promise.all([programsIn(bare, ms), programsIn(full, ms)]);
    await hasQuality(bare, false);
    await hasQuality(full, true);
    await full.limit(NO_LIMITS);
    const ended = differing(rules.before, await full.rules());
    const line = (name: string, figure: number, most: number | null = null) =>
      measurementOf({
        ...{ name, unit: "", portcullis: [figure] },
        ...(most !== null && { aim: atMost(most) }),
      });
    return [
      measurementOf({
        name: `programs a minute, connected and used (${ms / 1_000} s seen), quality, limits and an order on (against all off)`,
        ...{ unit: "", portcullis: [beside], wgQuick: [without] },
        aim: {
          text: `${MORE_A_MINUTE} more at most`,
          // One at the edge of the time is counted or not.
          met: (figure) => figure <= without + MORE_A_MINUTE + MINUTE_MS / ms,
        },
      }),
      line("programs run in a vain attempt to go back to a better target", await attempt),
      line(
        `programs a minute of an order that has left its first target, by an attempt each ${BACK_MINUTES} minutes`,
        (await attempt) / BACK_MINUTES,
        MORE_A_MINUTE,
      ),
      line("rules that differ, quality and an order on, from all off", rules.differing, 0),
      line("rules that a limit adds", rules.added),
      line("rules that differ, after the limit, from before", ended, 0),
    ];
  } finally {
    for (const home of homes) await home.close();
  }
}

/** A gateway whose programs are noted, with nothing on. */
class Home {
  private constructor(
    readonly lab: Lab,
    private readonly gateway: Gateway,
  ) {}

  static async open(how: Pick<ContestOptions, "program">): Promise<Home> {
    const lab = await createLab({ cards: 2 });
    try {
      const starter = tracerTo(traceOf(lab));
      const home = new Home(lab, await lab.startGateway({ flags: ["--log-level", "warn"], starter, ...how }));
      await home.ask("PUT", "/api/settings", { quality: { on: false } });
      return home;
    } catch (error) {
      await lab.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.lab.close();
  }

  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.gateway.api(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.body.error}`);
    return answer.body;
  }

  async connect(to: object = { server: "box-vpn-1" }): Promise<void> {
    await this.ask("POST", "/api/connect", to);
    await Bun.sleep(SETTLED_MS);
  }

  async limit(limits: typeof LIMITS | typeof NO_LIMITS): Promise<void> {
    await this.ask("PUT", `/api/devices/${this.lab.sandbox.computers[0]?.mac}`, limits);
  }

  status(): Promise<Status> {
    return this.ask("GET", "/api/status");
  }

  /** Without addresses, numbers, and what sets contain. */
  async rules(): Promise<string[]> {
    const argv = ["nft", "-s", "-t", "list", "ruleset"];
    const { code, stdout, stderr } = await this.lab.exec(this.lab.namespaces.gateway, argv);
    if (code !== 0) throw new Error(stderr);
    return stdout.split("\n").map((line) => line.trim().replace(/[0-9a-f]*\d[0-9a-f]*/g, "#"));
  }

  programsBetween(span: Span): number {
    return countIn(traceOf(this.lab), span);
  }
}

/** With quality and an order on, and then with a limit as well, each beside all off. It is left with all on. */
async function rulesOf(home: Home): Promise<{ before: string[]; differing: number; added: number }> {
  await home.connect();
  const off = await home.rules();
  await home.ask("PUT", "/api/settings", { quality: { on: true } });
  await home.connect({ targets: TARGETS, back_after_minutes: BACK_MINUTES });
  const before = await home.rules();
  await home.limit(LIMITS);
  const added = (await home.rules()).length - before.length;
  return { before, differing: differing(off, before), added };
}

/** Lines that only one of them has. */
function differing(some: readonly string[], others: readonly string[]): number {
  const rest = [...others];
  let missing = 0;
  for (const line of some) {
    const at = rest.indexOf(line);
    if (at === -1) missing += 1;
    else rest.splice(at, 1);
  }
  return missing + rest.length;
}

/** A minute, while a device uses the tunnel. */
async function programsIn(home: Home, ms: number): Promise<number> {
  const user = startUser(home.lab);
  try {
    await Bun.sleep(SETTLED_MS);
    const startedAt = now();
    await Bun.sleep(ms);
    return (home.programsBetween({ startedAt, endedAt: now() }) * MINUTE_MS) / ms;
  } finally {
    user.kill("SIGKILL");
  }
}

/** The first target is out of reach, and nobody uses the tunnel: nothing else runs a program. */
async function programsInAttempt(home: Home): Promise<number> {
  const { lab } = home;
  await lab.exec(lab.namespaces.internet, ["ip", "link", "set", "vpn1", "down"]);
  await home.connect({ targets: TARGETS, back_after_minutes: 1 });
  const startedAt = now();
  await Bun.sleep(ATTEMPT_MS - SETTLED_MS);
  const programs = home.programsBetween({ startedAt, endedAt: now() });
  const { order } = await home.status();
  if (order?.at !== 1 || programs === 0) throw new Error("no attempt to go back to a better target was seen");
  return programs;
}

async function hasQuality(home: Home, isMeasured: boolean): Promise<void> {
  const { quality } = await home.status();
  if ((quality !== undefined) !== isMeasured)
    throw new Error(`the quality of a tunnel is ${isMeasured ? "not " : ""}measured`);
}
