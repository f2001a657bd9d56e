import type { JournalEntry } from "../../../src/journal/schema.ts";
import { call } from "../caller.ts";
import { Home } from "../home.ts";
import { randomFrom } from "../leaks/random.ts";
import { crash, type Kind, outage, TAMPERING } from "../random/disturbances.ts";
import { round, type Tally } from "../random/play.ts";
import { until } from "../until.ts";
import { Clock } from "./clock.ts";
import { type Control, control } from "./control.ts";
import { Listener, unheard } from "./listener.ts";
import { Load } from "./load.ts";
import { growth, type Sample, sampleOf } from "./meter.ts";
import { leftBehind } from "./processes.ts";

const DEVICES = 4;
const LISTENERS = 2;
/** The devices send less than in a short play: other programs run at the same time. */
const SLOWER = 2;
const SAMPLE_MS = 5_000;
/** Listeners come back and programs end; a busy machine is slow. */
const PATIENCE_MS = 120_000;
/** Crashes and restarts come in the first and the last part; between them one process lives, which is measured. */
const MEASURED = { from: 0.2, to: 0.9 };
/** Of what comes instead of a jump of the clock. */
const LONG_OUTAGES = { part: 0.15, shortestMs: 3_000, longestMs: 15_000 };

export interface Report extends Tally {
  minutes: number;
  fault: string | null;
  begin: Control | null;
  end: Control | null;
  /** Kinds of packets that were seen where they may not be. */
  leaked: number;
  /** Of the judges: marked packets, and frames at the home router. */
  judged: { packets: number; frames: number };
  requests: { sent: number; skipped: number; medianMs: number; slowestMs: number };
  /** Of the journal's events, how many were compared with what each socket heard. */
  events: { heard: number; compared: number; closed: number };
  lives: number;
  /** Of the process that lived in the middle part. */
  samples: readonly Sample[];
}

/** A gateway that everything happens to for so long, and all that must hold. */
export class Soak {
  readonly story: string[] = [];
  private readonly tally: Tally = { rounds: 0, made: 0, asked: 0, disturbances: 0, kinds: {} };
  private readonly random: () => number;
  private readonly begunAt = performance.now();
  private readonly load: Load;
  private readonly listeners: readonly Listener[];
  private readonly sampler: Timer;
  private readonly controls: Pick<Report, "begin" | "end"> = { begin: null, end: null };
  private samples: Sample[] = [];
  /** Where the comparisons of the last quiet moment ended. */
  private last = { life: 0, sampledLife: 0, event: 0, closed: 0, compared: 0 };
  private fault: string | null = null;

  private constructor(
    private readonly home: Home,
    private readonly clock: Clock,
    seed: number,
    private readonly ms: number,
  ) {
    this.random = randomFrom(seed);
    // How many requests there are depends on the machine, so they have random numbers of their own.
    this.load = new Load(home.gateway.port, randomFrom(seed + 1));
    this.listeners = Array.from({ length: LISTENERS }, () => new Listener(home.gateway.port));
    this.sampler = setInterval(() => this.sample(), SAMPLE_MS);
  }

  static async open(seed: number, ms: number): Promise<Soak> {
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
    return new Soak(home, await clock.promise, seed, ms);
  }

  /** Returns what was wrong, or null. */
  async play(): Promise<string | null> {
    this.fault = await this.rounds().catch((error: Error) => error.message);
    return this.fault;
  }

  async close(): Promise<void> {
    clearInterval(this.sampler);
    this.load.stop();
    for (const listener of this.listeners) listener.stop();
    await this.home.close();
  }

  /** All that the service has printed. */
  log(): string {
    return this.home.gateway.log();
  }

  get report(): Report {
    const { sent, skipped, medianMs, slowestMs } = this.load;
    return {
      ...this.tally,
      ...this.controls,
      minutes: (performance.now() - this.begunAt) / 60_000,
      fault: this.fault,
      leaked: this.home.wrong().length,
      judged: this.home.judged,
      requests: { sent, skipped, medianMs, slowestMs },
      events: {
        heard: this.listeners.reduce((sum, { count }) => sum + count, 0),
        compared: this.last.compared,
        closed: this.closings(),
      },
      lives: this.home.gateway.lives,
      samples: this.samples,
    };
  }

  private async rounds(): Promise<string | null> {
    const { home, tally } = this;
    const note = (line: string) => this.story.push(`${new Date().toISOString()} ${line}`);
    this.controls.begin = await control(home);
    this.load.start();
    for (let wrong = await this.quiet(); ; wrong = await this.quiet()) {
      if (wrong !== null) return wrong;
      if (this.part >= 1) break;
      const found = await round(home, this.random, tally, this.kinds(), note);
      if (found !== null) return found;
    }
    this.load.stop();
    const grown = growth(this.samples);
    if (grown.length > 0) return grown.join("; ");
    this.controls.end = await control(home);
    const { wrong, missed } = await home.finish();
    if (missed > 0) wrong.push(`the sniffer missed ${missed} frames`);
    return wrong.length > 0 ? wrong.join("; ") : null;
  }

  private get part(): number {
    return (performance.now() - this.begunAt) / this.ms;
  }

  private get isMeasured(): boolean {
    return this.part >= MEASURED.from && this.part < MEASURED.to;
  }

  private kinds(): Kind[] {
    const { part, shortestMs, longestMs } = LONG_OUTAGES;
    const clockOrOutage: Kind = (pick, random) =>
      random() < part
        ? outage(shortestMs + (longestMs - shortestMs) * random())
        : this.clock.jump(pick, random);
    return [...TAMPERING, clockOrOutage, ...(this.isMeasured ? [] : [crash])];
  }

  private sample(): void {
    if (!this.isMeasured) return;
    const { pid, lives } = this.home.gateway;
    // The last crash may have come after the measured part had begun.
    if (lives !== this.last.sampledLife) this.samples = [];
    this.last.sampledLife = lives;
    const sample = sampleOf(pid, performance.now() - this.begunAt);
    if (sample !== null) this.samples.push(sample);
  }

  /** What must hold at a quiet moment besides a round's own invariants. */
  private async quiet(): Promise<string | null> {
    const { lives } = this.home.gateway;
    const hasLived = this.last.life === lives;
    this.last.life = lives;
    this.load.settle(hasLived);
    const wrong = [...this.load.faults];
    if (hasLived && this.closings() > this.last.closed) wrong.push("a WebSocket was closed");
    let left: string[] = [];
    await until(async () => {
      left = await leftBehind(this.home.lab, this.home.gateway);
      return left.length === 0;
    }, PATIENCE_MS).catch(() => wrong.push(`left behind: ${left.join("; ")}`));
    wrong.push(...(await this.compare(hasLived)));
    return wrong.length === 0 ? null : wrong.join("; ");
  }

  private closings(): number {
    return this.listeners.reduce((sum, { closed }) => sum + closed, 0);
  }

  /** The journal's events since the last quiet moment with what each socket heard, if the service lived all the time. */
  private async compare(hasLived: boolean): Promise<string[]> {
    await until(() => this.listeners.every(({ isOpen }) => isOpen), PATIENCE_MS);
    const counts = this.listeners.map(({ heard }) => heard.length);
    const entries = await this.eventsSince(this.last.event);
    const wrong = hasLived ? await this.deafTo(entries) : [];
    if (hasLived) this.last.compared += entries.length;
    this.last.event = entries.at(-1)?.id ?? this.last.event;
    this.last.closed = this.closings();
    for (const [index, listener] of this.listeners.entries()) listener.forget(counts[index] ?? 0);
    return wrong;
  }

  private async deafTo(entries: readonly JournalEntry[]): Promise<string[]> {
    const deaf = await Promise.all(
      this.listeners.map(async ({ heard }, index) => {
        const isComplete = () => unheard(entries, heard) === null;
        return until(isComplete, PATIENCE_MS).then(
          () => [],
          () => [`WebSocket ${index + 1} did not hear of: ${unheard(entries, heard)}`],
        );
      }),
    );
    return deaf.flat();
  }

  private async eventsSince(id: number): Promise<JournalEntry[]> {
    const answer = await call(this.home.gateway.port, "GET", `/api/events?limit=500&since=${id}`);
    if (answer?.status !== 200) throw new Error(`the journal cannot be read: ${JSON.stringify(answer)}`);
    return answer.body.events;
  }
}
