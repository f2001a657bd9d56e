import { type Static, Type } from "typebox";
import type { Alarm } from "../base/alert.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import { untilBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { Decision, type Effect } from "../base/decision.ts";
import { messageOf } from "../base/errors.ts";
import { Fault } from "../base/fault.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { type Reason, reasonOf } from "../base/reason.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import { Unsaved } from "../base/unsaved.ts";
import type { AllByTime, ByTime, Values } from "../devices/by-time.ts";
import { EVERYBODY_ELSE, type LimitId } from "../devices/id.ts";
import { Quota, Rate } from "../devices/values.ts";
import { linkIn } from "../shared/network-id.ts";
import { EXIT_KEYS } from "../store/exits.ts";
import type { Host } from "../system/host.ts";
import { Ends } from "./ends.ts";
import { refused } from "./refusals.ts";
import {
  type ActionKind,
  bodyOf,
  inOrder,
  type Move,
  onceIn,
  SCHEDULES,
  type Schedule,
  scheduleIn,
  type TimedAction,
} from "./schedule.ts";
import type { ScheduleBody, ScheduleList } from "./schema.ts";
import { lastOf, nextOf, type Once, spanAt } from "./times.ts";
import { TIME_ZONE, zoneIn, zoneText } from "./zone.ts";

interface Deps {
  clock: Pick<Host, "now" | "monotonic" | "sleep" | "read">;
  /** The machine's time zone, which counts unless a person has chosen another one. */
  machineZone: () => string;
  store: Texts & { atomically(work: () => void): void };
  byTime: AllByTime;
  /** Throws if there is no such tunnel or exit, or if the device can have neither rate nor quota. */
  assertPossible: (schedule: Schedule) => void;
  /** Moves a tunnel; false if it cannot be moved yet, because it is being connected. */
  move: (tunnel: string) => Promise<boolean>;
  alarm: Alarm;
  events: Pick<Bus<{ schedules_update: { count: number } }>, "publish">;
  log: Pick<Log, "warn">;
}

/** The clock may be set at any time. */
const LOOK_EVERY_MS = 18_000;
const HOUR_MS = 3_600_000;

/** What a device or all others have, or had until a person gave something else. */
const Overlay = Type.Object({
  schedule: Type.String(),
  exit: Type.Optional(Type.String()),
  rate: Type.Optional(Type.Union([Rate, Type.Null()])),
  quota: Type.Optional(Type.Union([Quota, Type.Null()])),
  /** When it began, in milliseconds since 1970. */
  from: Type.Number(),
});
type Overlay = Static<typeof Overlay>;
/** By who has it. */
type Due = Map<LimitId, Overlay>;
type Value = Values[ActionKind] | undefined;

/** What was carried out. It is not done again after a restart, nor after a person has decided otherwise. */
const Done = Type.Object({
  /** When each move was made last, in milliseconds since 1970. */
  moves: Type.Record(Type.String(), Type.Number()),
  /** The exits by schedule, by device. */
  exits: Type.Record(Type.String(), Overlay),
});
type Done = Static<typeof Done>;

const DONE = savedJson(EXIT_KEYS.schedulesDone, Done, null);
/** Beside the limits themselves, so that both are lost together: the second copy of the exits has neither. */
const LIMITS_DONE = {
  rate: savedJson("scheduled_rates_done", Type.Record(Type.String(), Overlay), {}),
  quota: savedJson("scheduled_quotas_done", Type.Record(Type.String(), Overlay), {}),
};

const LIMITS = ["rate", "quota"] as const;
const WHAT: readonly ActionKind[] = ["exit", ...LIMITS];

/**
 * Carries out schedules by the machine's present clock. However the clock changes, a move is made once for all the
 * times that have passed, and a device has the exit and the limits of the present time.
 */
export class Schedules {
  private readonly decision: Decision<ByName>;
  /** Those that have begun. */
  private begun: ByName = new Map();
  private readonly ends: Ends;
  private done: Done;
  private limits: Record<(typeof LIMITS)[number], Record<string, Overlay>>;
  /** Whether the database lacks something that was done. */
  private isDoneUnsaved = false;
  /** Why the last look failed, or null. */
  private trouble: string | null = null;
  private readonly fault = new Fault("what schedules have done could not be saved");
  private readonly moving = new Set<string>();
  private readonly faults = new Map<string, Reason>();
  private readonly queue = new Queue();
  /** Limits have one of their own: a kernel that does not answer them delays nothing that closes. */
  private readonly limitsQueue = new Queue();
  /** A look at them that has not begun. */
  private nextLimits: Promise<void> | null = null;

  constructor(private readonly deps: Deps) {
    const { clock, store } = deps;
    this.ends = new Ends(clock, store);
    this.decision = new Decision({
      store,
      read: () => byName(SCHEDULES.read(store)),
      write: (_, all) => SCHEDULES.write(store, [...all.values()]),
      parts: [
        { apply: (all) => this.begin(all), effect: (before, after) => this.effectOf(before, after) },
        { of: limiting, apply: () => this.lookAtLimits(), effect: () => "neither", isSlow: true },
      ],
      changed: () => this.tellChange(),
    });
    this.note(this.all);
    this.done = DONE.read(store) ?? { moves: {}, exits: {} };
    this.limits = limitsDoneIn(store);
  }

  list(): ScheduleList {
    const [now, zone] = this.clock;
    const due = this.dueAt(now, zone);
    const schedules = [...this.all.values()].map((schedule) => ({
      name: schedule.name,
      ...bodyOf(schedule),
      active: schedule.do !== "move" && this.isActive(schedule, due[schedule.do]),
      next_at: new Date(this.nextOf(schedule, now, zone)).toISOString(),
      ...(this.faults.get(schedule.name) ?? { error: null }),
    }));
    return { time_zone: zone, schedules };
  }

  /** Resolves once it has its effect, if its time is now. A new one that only closes takes effect even if it cannot be saved. */
  async put(name: string, { once, ...body }: ScheduleBody): Promise<void> {
    const schedule = scheduleIn(name, body, once && onceIn(once, ...this.clock));
    this.deps.assertPossible(schedule);
    await this.decision.change((before) => {
      const all = new Map(before).set(name, schedule);
      if (all.size <= SCHEDULES.max) return byName(inOrder(all.values()));
      throw refused("limit_reached", { field: "name", of: "schedules", max: SCHEDULES.max });
    });
  }

  /**
   * Ends what a device has because of it. Unless that opens something, it ends even if that cannot be saved.
   */
  async remove(name: string): Promise<void> {
    await this.decision.remove((before) => {
      const all = new Map(before);
      return all.delete(name) ? all : null;
    }, refused("schedule_unknown"));
  }

  /**
   * Reads the schedules again, after another writer has changed the database. What is in force without being saved is
   * lost then, and given again.
   */
  async reload(): Promise<void> {
    const { store } = this.deps;
    const done = Promise.all([
      this.queue.add(() => {
        this.done = { ...this.done, exits: DONE.read(store)?.exits ?? {} };
      }),
      this.limitsQueue.add(() => {
        this.limits = limitsDoneIn(store);
      }),
    ]);
    // Asked for in this turn: the change that a client makes next must not undo what was read.
    await this.decision.reload(done);
  }

  /** Carries them out until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    await this.ends.recall();
    while (!signal.aborted) await this.deps.clock.sleep(await this.turn(), signal);
  }

  /** What fails is tried again: a time that has passed still counts. The pause until then, in milliseconds. */
  private async turn(): Promise<number> {
    const { clock, log } = this.deps;
    try {
      // What it cannot read, the other cannot read either.
      this.lookAtLimits().catch(() => {});
      await this.look();
      await this.decision.retry();
      await this.removeOver();
      this.trouble = null;
      return this.pauseMs;
    } catch (error) {
      const trouble = messageOf(error);
      if (trouble !== this.trouble) log.warn(`schedules: ${trouble}`);
      this.trouble = trouble;
      return untilBeat(LOOK_EVERY_MS, clock.monotonic());
    }
  }

  private get all(): ByName {
    return this.decision.value;
  }

  /** One that is new, or another than before, has neither failed nor been done. */
  private async begin(all: ByName): Promise<void> {
    for (const name of this.note(all)) {
      this.faults.delete(name);
      delete this.done.moves[name];
    }
    await this.look();
  }

  /** Returns the names of those that are others than before. */
  private note(all: ByName): string[] {
    const changed = changedIn(this.begun, all);
    this.ends.change(changed, (name) => {
      const when = all.get(name)?.when;
      return when !== undefined && "to" in when ? when : null;
    });
    this.begun = all;
    return changed;
  }

  /** What comes once holds until its removal is saved, because that may open something. */
  private async removeOver(): Promise<void> {
    const isOver = (name: string) => this.ends.msLeft(name) === 0;
    const over = [...this.all.values()].filter(({ name }) => isOver(name));
    if (over.length === 0) return;
    const without = (all: ByName) => byName([...all.values()].filter(({ name }) => !isOver(name)));
    await this.decision.change(without).catch((error: unknown) => {
      for (const each of over) if (each.do !== "move") this.tellRefused(each.do, each.who, each.name, error);
    });
  }

  /** One that takes the place of another may open something. */
  private effectOf(before: ByName, after: ByName): Effect {
    const effects = changedIn(before, after).map((name): Effect => {
      const [from, to] = [before.get(name), after.get(name)];
      const timed = from ?? to;
      if (timed === undefined || timed.do === "move") return "neither";
      if (from !== undefined && to !== undefined && !isLonger(from, to)) return "loosens";
      const valueIn = (each: Schedule | undefined) => (each === undefined ? undefined : timed.value);
      const byTime = this.deps.byTime[timed.do] as ByTime<Value>;
      const given = to === undefined ? valueIn(from) : undefined;
      return byTime.loosens(timed.who, given, valueIn(to)) ? "loosens" : "tightens";
    });
    return (["loosens", "tightens"] as const).find((each) => effects.includes(each)) ?? "neither";
  }

  /** Moves what is due, and gives the exits. */
  private look(): Promise<void> {
    return this.queue.add(async () => {
      const [now, zone] = this.clock;
      const before = structuredClone(this.done);
      for (const name of Object.keys(this.done.moves)) if (!this.all.has(name)) delete this.done.moves[name];
      for (const schedule of this.all.values())
        if (schedule.do === "move" && this.isDue(schedule, now, zone)) void this.move(schedule);
      await this.give("exit", this.dueAt(now, zone).exit);
      this.looked(!Bun.deepEquals(this.done, before));
    });
  }

  private lookAtLimits(): Promise<void> {
    this.nextLimits ??= this.limitsQueue.add(async () => {
      this.nextLimits = null;
      const due = this.dueAt(...this.clock);
      const before = structuredClone(this.limits);
      for (const what of LIMITS) await this.give(what, due[what]);
      this.looked(!Bun.deepEquals(this.limits, before));
    });
    return this.nextLimits;
  }

  private looked(isChanged: boolean): void {
    if (isChanged || this.isDoneUnsaved) this.saveDone();
    if (isChanged) this.tellChange();
  }

  /** A new move waits for its next time. So does one after the clock has been set back. */
  private isDue({ name, when }: Move, now: number, zone: string): boolean {
    const done = this.done.moves[name];
    if (done === undefined || done > now) this.done.moves[name] = now;
    if (done === undefined || done > now || this.moving.has(name)) return false;
    return "everyHours" in when ? now - done >= when.everyHours * HOUR_MS : lastOf(when, now, zone) > done;
  }

  private async move({ name, tunnel }: Move): Promise<void> {
    this.moving.add(name);
    try {
      this.faults.delete(name);
      if (!(await this.deps.move(tunnel))) return;
    } catch (error) {
      this.tellFault({ what: "tunnel", name, tunnel, reason: messageOf(error) }, error);
    } finally {
      this.moving.delete(name);
    }
    // Whatever the result is, its next time is the next one.
    if (this.all.has(name)) this.done.moves[name] = this.deps.clock.now();
    this.saveDone();
    this.tellChange();
  }

  private async give(what: ActionKind, due: Due): Promise<void> {
    const byTime = this.deps.byTime[what] as ByTime<Value>;
    const all = this.givenAs(what);
    const ids = new Set([...due.keys(), ...byTime.scheduled, ...Object.keys(all)]);
    for (const id of ids as Set<LimitId>) {
      const [given, next] = [all[id], due.get(id)];
      const isLeft = next === undefined && byTime.scheduled.includes(id);
      if (!isLeft && Bun.deepEquals(given, next)) continue;
      try {
        await byTime.schedule(id, next?.[what]).catch((error: unknown) => {
          if (!(error instanceof Unsaved)) throw error;
          this.deps.alarm("state_not_saved", { reason: error.message });
        });
        if (next === undefined) delete all[id];
        else all[id] = next;
        this.faults.delete(next?.schedule ?? "");
      } catch (error) {
        this.tellRefused(what, id, (next ?? given)?.schedule ?? id, error);
      }
    }
  }

  private givenAs(what: ActionKind): Record<string, Overlay> {
    return what === "exit" ? this.done.exits : this.limits[what];
  }

  /** What each of them should have. What comes once counts before what comes again, which must not end a pause. */
  private dueAt(now: number, zone: string): Record<ActionKind, Due> {
    const timed = [...this.all.values()].filter((each) => each.do !== "move");
    const again = latestOf(timed, (when) => ("to" in when ? null : spanAt(when, now, zone)));
    const once = latestOf(timed, (when) => ("to" in when ? when : null));
    for (const what of WHAT) for (const [who, overlay] of once[what]) again[what].set(who, overlay);
    return again;
  }

  /** Whether it is in effect. It is not if a person has given something else since. */
  private isActive({ do: what, name, who }: TimedAction, due: Due): boolean {
    const given = this.givenAs(what)[who];
    const isGiven = given !== undefined && Bun.deepEquals(given, due.get(who));
    return isGiven && given.schedule === name && this.deps.byTime[what].scheduled.includes(who);
  }

  private nextOf(schedule: Schedule, now: number, zone: string): number {
    const { when } = schedule;
    if ("to" in when) return now + this.ends.msLeft(schedule.name);
    if ("everyHours" in when) return (this.done.moves[schedule.name] ?? now) + when.everyHours * HOUR_MS;
    const next = nextOf(when, now, zone);
    return "until" in when ? Math.min(next, spanAt(when, now, zone)?.to ?? next) : next;
  }

  private get pauseMs(): number {
    const [now, zone] = this.clock;
    const pauses = [...this.all.values()].map((schedule) => this.nextOf(schedule, now, zone) - now);
    return Math.min(untilBeat(LOOK_EVERY_MS, this.deps.clock.monotonic()), ...pauses.filter((ms) => ms > 0));
  }

  /** In which times of day are meant. */
  get zone(): string {
    return zoneIn(TIME_ZONE.read(this.deps.store)) ?? this.deps.machineZone();
  }

  /** Resolves once what is due in it has its effect; null is the machine's. */
  async setZone(zone: string | null): Promise<void> {
    TIME_ZONE.write(this.deps.store, zoneText(zone));
    await Promise.all([this.look(), this.lookAtLimits()]);
    this.tellChange();
  }

  private get clock(): [now: number, zone: string] {
    return [Math.floor(this.deps.clock.now()), this.zone];
  }

  private tellRefused(what: ActionKind, who: string, name: string, error: unknown): void {
    const reason = messageOf(error);
    if (who === EVERYBODY_ELSE) this.tellFault({ what: `shared_${what}`, name, reason }, error);
    else this.tellFault({ what, name, device: linkIn(who) ?? who, reason }, error);
  }

  /** Reports each fault once, as long as it lasts. */
  private tellFault(fault: AlertArgs<"schedule_failed">, error: unknown): void {
    const name = `${fault.name}`;
    const why = reasonOf(error);
    if (this.faults.get(name)?.error === why.error) return;
    this.faults.set(name, why);
    this.deps.alarm("schedule_failed", fault);
    this.tellChange();
  }

  /**
   * What was given is noted only once the database has the exit or the limit itself: otherwise a restart, which knows
   * nothing of it, would take it for a person's decision that the device has none.
   */
  private saveDone(): void {
    const { store, byTime, log } = this.deps;
    const isSaved = this.fault.attempt(log, () => {
      const exits = byTime.exit.isSaved ? this.done.exits : (DONE.read(store)?.exits ?? {});
      DONE.write(store, { ...this.done, exits });
      for (const what of LIMITS) if (byTime[what].isSaved) LIMITS_DONE[what].write(store, this.limits[what]);
    });
    this.isDoneUnsaved = !isSaved || !WHAT.every((what) => byTime[what].isSaved);
  }

  private tellChange(): void {
    this.deps.events.publish({ type: "schedules_update", payload: { count: this.all.size } });
  }
}

type ByName = ReadonlyMap<string, Schedule>;

/** What each has by its span now. If several apply, the one that began last counts. */
function latestOf(
  timed: readonly TimedAction[],
  spanOf: (when: TimedAction["when"]) => Once | null,
): Record<ActionKind, Due> {
  const due = { exit: new Map(), rate: new Map(), quota: new Map() } satisfies Record<ActionKind, Due>;
  for (const { name, do: what, who, value, when } of timed) {
    const [all, span]: [Due, Once | null] = [due[what], spanOf(when)];
    const other = all.get(who);
    if (span === null || (other !== undefined && span.from < other.from)) continue;
    all.set(who, { schedule: name, [what]: value, from: span.from });
  }
  return due;
}

/** Whether it is the same for longer: it opens or closes as if it was new. */
function isLonger({ when: former, ...from }: Schedule, { when, ...to }: Schedule): boolean {
  return "to" in former && "to" in when && former.to <= when.to && Bun.deepEquals(from, to);
}

function limiting(all: ByName): Schedule[] {
  return [...all.values()].filter((each) => each.do === "rate" || each.do === "quota");
}

function changedIn(before: ByName, after: ByName): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => !Bun.deepEquals(before.get(name), after.get(name)));
}

function byName(schedules: readonly Schedule[]): ByName {
  return new Map(schedules.map((each) => [each.name, each]));
}

function limitsDoneIn(store: Pick<Texts, "read">): Record<(typeof LIMITS)[number], Record<string, Overlay>> {
  const { rate, quota } = LIMITS_DONE;
  return { rate: { ...rate.read(store) }, quota: { ...quota.read(store) } };
}
