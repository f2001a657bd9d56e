import type { Host } from "../system/host.ts";
import type { Quality as Shown } from "./quality-facts.ts";
import type { QualityLimits, QualitySettings } from "./quality-settings.ts";

/** Five minutes of questions, a question each 10 s. */
const MAX_KEPT = 30;
/** Older questions say nothing about now, */
const KEPT_MS = 900_000;
/** but this many questions are kept however seldom they are asked: with fewer, there is no state. */
const KEPT_QUESTIONS = 12;
/** Fewer than these mean nothing, whatever share of all they are. */
const FEWEST = { asked: 10, lost: 3, answered: 5 };
/** A state ends only when its figure is below this part of the limit, so that it does not come and go. */
const ENDS_AT = { slow: 0.8, lossy: 0.5 };

interface Asked {
  /** On the monotonic clock. */
  at: number;
  /** Until the answer; null if there was none. */
  ms: number | null;
}

type State = Shown["state"];
type Fault = Exclude<State, "good">;

/** How good a way is. */
export interface Measured {
  quality: Shown;
  /** Whether enough questions were asked to tell its state. */
  isJudged: boolean;
}

interface Deps {
  host: Pick<Host, "monotonic">;
  settings: Pick<QualitySettings, "choice">;
}

/** How good a way is, by the last questions on it. */
export class Quality {
  private asked: readonly Asked[] = [];
  /** Both may hold at once. */
  private readonly faults: Record<Fault, boolean> = { lossy: false, slow: false };
  private hasAnswered = false;
  private readonly listeners: (() => void)[] = [];
  private readonly askedListeners: ((ms: number | null) => void)[] = [];

  constructor(private readonly deps: Deps) {}

  /** Calls back when the state has changed. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Calls back with how long each question took until its answer; null if it got none. */
  onAsked(listener: (ms: number | null) => void): void {
    this.askedListeners.push(listener);
  }

  /** Whether nothing seems to answer there: some resolvers do not. */
  get isMute(): boolean {
    return !this.hasAnswered && this.asked.length >= FEWEST.answered;
  }

  /** The state that is shown: lost packets explain more than late ones. */
  private get state(): State {
    return this.faults.lossy ? "lossy" : this.faults.slow ? "slow" : "good";
  }

  /** Whether it is known to be so, whatever else it is. */
  is(fault: Fault): boolean {
    return this.faults[fault] && tells(this.recent(), fault);
  }

  /** Null as long as nothing has been answered. */
  get shown(): Shown | null {
    const asked = this.recent();
    if (!this.hasAnswered || asked.length === 0) return null;
    const answered = answeredIn(asked);
    return {
      state: this.state,
      round_trip_ms: answered.length === 0 ? null : tenths(medianOf(answered)),
      variation_ms: answered.length < 2 ? null : tenths(variationOf(answered)),
      loss_percent: tenths(lossOf(asked)),
    };
  }

  /** What is shown, and whether it is more than a guess; null as long as nothing has been answered. */
  get measured(): Measured | null {
    const { shown } = this;
    return shown === null ? null : { quality: shown, isJudged: tells(this.recent(), this.state) };
  }

  /** Forgets everything: the way is another one. */
  begin(): void {
    this.asked = [];
    this.hasAnswered = false;
    this.become(false, false);
  }

  /** Adds how long a question took until its answer; null if it got none. */
  add(ms: number | null): void {
    this.asked = [...this.recent(), { at: this.deps.host.monotonic(), ms }].slice(-MAX_KEPT);
    this.hasAnswered ||= ms !== null;
    if (this.hasAnswered) for (const listener of this.askedListeners) listener(ms);
    this.judge();
  }

  /** To be called when the limits have changed, too. */
  judge(): void {
    const { faults, hasAnswered } = this;
    const { choice } = this.deps.settings;
    const asked = this.recent();
    this.become(
      hasAnswered && isLossy(asked, faults.lossy, choice),
      hasAnswered && isSlow(asked, faults.slow, choice),
    );
  }

  private recent(): readonly Asked[] {
    const now = this.deps.host.monotonic();
    const keptMs = Math.max(KEPT_MS, KEPT_QUESTIONS * 1_000 * this.deps.settings.choice.everySeconds);
    return this.asked.filter(({ at }) => now - at <= keptMs);
  }

  private become(lossy: boolean, slow: boolean): void {
    const before = this.state;
    Object.assign(this.faults, { lossy, slow });
    if (this.state === before) return;
    for (const listener of this.listeners) listener();
  }
}

/** Old measurements alone are not an improvement. */
function isLossy(asked: readonly Asked[], before: boolean, { lossyPercent }: QualityLimits): boolean {
  if (!tells(asked, "lossy")) return before;
  const hasLost = before || asked.length - answeredIn(asked).length >= FEWEST.lost;
  return hasLost && lossOf(asked) >= (before ? ENDS_AT.lossy * lossyPercent : lossyPercent);
}

function isSlow(asked: readonly Asked[], before: boolean, { slowMs }: QualityLimits): boolean {
  if (!tells(asked, "slow")) return before;
  return medianOf(answeredIn(asked)) >= (before ? ENDS_AT.slow * slowMs : slowMs);
}

/** Whether there are enough questions to tell this state, or that it has ended. */
function tells(asked: readonly Asked[], state: State): boolean {
  const isEnough = { lossy: asked.length >= FEWEST.asked, slow: answeredIn(asked).length >= FEWEST.answered };
  return state === "good" ? isEnough.lossy && isEnough.slow : isEnough[state];
}

function answeredIn(asked: readonly Asked[]): number[] {
  return asked.flatMap(({ ms }) => ms ?? []);
}

/** In percent. */
function lossOf(asked: readonly Asked[]): number {
  return asked.length === 0 ? 0 : (100 * (asked.length - answeredIn(asked).length)) / asked.length;
}

/** A resolver that had to ask others once does not change it. */
function medianOf(all: readonly number[]): number {
  const sorted = all.toSorted((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half)] ?? 0)) / 2;
}

/** How far an answer's time differs from the one before it, on average. */
function variationOf(all: readonly number[]): number {
  const steps = all.slice(1).map((ms, index) => Math.abs(ms - (all[index] ?? ms)));
  return steps.reduce((sum, step) => sum + step, 0) / steps.length;
}

function tenths(figure: number): number {
  return Math.round(10 * figure) / 10;
}
