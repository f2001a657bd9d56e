import { Home } from "../home/home.ts";
import { Clock } from "../tools/clock.ts";
import { randomFrom } from "../tools/random.ts";
import { until } from "../tools/until.ts";
import { type Control, control } from "./control.ts";
import { crash, type Kind, outage, TAMPERING } from "./disturbances.ts";
import { jumpsOf } from "./jumps.ts";
import { Listeners } from "./listeners.ts";
import { Load } from "./load.ts";
import { growth, Meter, type Sample } from "./meter.ts";
import { leftBehind } from "./processes.ts";
import { round, type Tally } from "./round.ts";

const DEVICES = 4;
const LISTENERS = 2;
/** The devices send fewer packets than in a short play, because other programs run at the same time. */
const SLOWER = 2;
const SAMPLE_MS = 5_000;
/** Programs end at once, or later on a busy machine. */
const ENDS_WITHIN_MS = 120_000;
/** Crashes and restarts come before and after this part, in which one process is measured. */
const MEASURED = { from: 0.2, to: 0.9 };
/** Whatever the machine's speed, a play goes on until it has so many, because with less it has shown nothing. */
const AT_LEAST = { rounds: 3, packets: 100, frames: 100, requests: 100 };
/** They take the place of this part of the jumps of the clock. */
const LONG_OUTAGES = { part: 0.15, shortestMs: 3_000, longestMs: 15_000 };

export interface Report extends Tally {
  minutes: number;
  fault: string | null;
  begin: Control | null;
  end: Control | null;
  /** Kinds of packets that were seen where they must not be. */
  leaked: number;
  /** Marked packets, and frames at the home router. */
  judged: { packets: number; frames: number };
  requests: { sent: number; skipped: number; medianMs: number; slowestMs: number };
  /** Of the journal's events, how many were compared with what each socket heard. */
  events: { heard: number; compared: number; closed: number };
  lives: number;
  /** Of the process that lived in the middle part. */
  samples: readonly Sample[];
}

/** Plays everything that may happen to a gateway for so long, and checks all that must hold. */
export class Soak {
  readonly story: string[] = [];
  private readonly tally: Tally = { rounds: 0, made: 0, asked: 0, disturbances: 0, kinds: {} };
  private readonly random: () => number;
  private readonly begunAt = performance.now();
  private readonly load: Load;
  private readonly listeners: Listeners;
  private readonly meter = new Meter();
  private readonly sampler: Timer;
  private readonly controls: Pick<Report, "begin" | "end"> = { begin: null, end: null };
  /** How often the service had been started at the last quiet moment. */
  private life = 0;
  private fault: string | null = null;

  private constructor(
    private readonly home: Home,
    private readonly clock: Clock,
    seed: number,
    private readonly ms: number,
    private readonly only: readonly Kind[] | null,
  ) {
    this.random = randomFrom(seed);
    // The number of requests depends on the machine, so they have random numbers of their own.
    this.load = new Load(home.gateway.port, randomFrom(seed + 1));
    this.listeners = new Listeners(home.gateway.port, LISTENERS);
    this.sampler = setInterval(() => {
      if (this.isMeasured) this.meter.sample(home.gateway.pid, performance.now() - this.begunAt);
    }, SAMPLE_MS);
  }

  /** With all kinds of disturbances, or with `only` these, in each round if it is one. */
  static async open(seed: number, ms: number, only: readonly Kind[] | null = null): Promise<Soak> {
    const clock = Promise.withResolvers<Clock>();
    const home = await Home.open(
      DEVICES,
      async (lab) => {
        const built = await Clock.build(lab);
        clock.resolve(built);
        // Otherwise the service, which is in none of the lab's namespaces, would outlive a SIGKILL of the soak.
        return { ...built.options, starter: ["setpriv", "--pdeathsig", "KILL"] };
      },
      SLOWER,
    );
    // Its clock jumps over days.
    home.isOneDay = only !== null;
    return new Soak(home, await clock.promise, seed, ms, only);
  }

  /** Returns what was wrong, or null. */
  async play(): Promise<string | null> {
    this.fault = await this.rounds().catch((error: Error) => error.message);
    return this.fault;
  }

  async close(): Promise<void> {
    clearInterval(this.sampler);
    this.load.stop();
    this.listeners.stop();
    await this.home.close();
  }

  /** All that the service has printed. */
  log(): string {
    return this.home.gateway.log();
  }

  get report(): Report {
    const { sent, skipped, medianMs, slowestMs } = this.load;
    const { heard, compared, closed } = this.listeners;
    return {
      ...this.tally,
      ...this.controls,
      minutes: (performance.now() - this.begunAt) / 60_000,
      fault: this.fault,
      leaked: this.home.wrong().length,
      judged: this.home.judged,
      requests: { sent, skipped, medianMs, slowestMs },
      events: { heard, compared, closed },
      lives: this.home.gateway.lives,
      samples: this.meter.samples,
    };
  }

  private async rounds(): Promise<string | null> {
    const { home, tally } = this;
    const note = (line: string) => this.story.push(`${new Date().toISOString()} ${line}`);
    note("positive control");
    this.controls.begin = await control(home);
    this.load.start();
    for (let wrong = await this.quiet(); ; wrong = await this.quiet()) {
      if (wrong !== null) return wrong;
      if (this.part >= 1 && this.hasSeenEnough) break;
      const found = await round(home, this.random, tally, this.kinds(), note);
      if (found !== null) return found;
    }
    this.load.stop();
    const grown = growth(this.meter.samples);
    if (grown.length > 0) return grown.join("; ");
    note("positive control");
    this.controls.end = await control(home);
    const { wrong, missed } = await home.finish();
    if (missed > 0) wrong.push(`the sniffer missed ${missed} frames`);
    return wrong.length > 0 ? wrong.join("; ") : null;
  }

  private get part(): number {
    return (performance.now() - this.begunAt) / this.ms;
  }

  private get hasSeenEnough(): boolean {
    const { packets, frames } = this.home.judged;
    const seen = { rounds: this.tally.rounds, packets, frames, requests: this.load.sent };
    return (Object.keys(AT_LEAST) as (keyof typeof AT_LEAST)[]).every((what) => seen[what] >= AT_LEAST[what]);
  }

  private get isMeasured(): boolean {
    return this.only === null && this.part >= MEASURED.from && this.part < MEASURED.to;
  }

  private kinds(): readonly Kind[] {
    if (this.only !== null) return this.only;
    const { part, shortestMs, longestMs } = LONG_OUTAGES;
    const clockOrOutage: Kind = (pick, random) =>
      random() < part
        ? outage(shortestMs + (longestMs - shortestMs) * random())
        : jumpsOf(this.clock)(pick, random);
    return [...TAMPERING, clockOrOutage, ...(this.isMeasured ? [] : [crash])];
  }

  /** What must hold at a quiet moment besides a round's own invariants. */
  private async quiet(): Promise<string | null> {
    const { gateway, lab } = this.home;
    const hasLived = this.life === gateway.lives;
    this.life = gateway.lives;
    const wrong = [...this.load.settle(hasLived), ...(await this.listeners.settle(hasLived))];
    let left: string[] = [];
    await until(async () => {
      left = await leftBehind(lab, gateway);
      return left.length === 0;
    }, ENDS_WITHIN_MS).catch(() => wrong.push(`left behind: ${left.join("; ")}`));
    return wrong.length === 0 ? null : wrong.join("; ");
  }
}
