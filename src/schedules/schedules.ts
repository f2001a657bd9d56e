import { type Static, Type } from "typebox";
import type { AlertCode } from "../base/alert.ts";
import { GatewayError, messageOf, Unsaved } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import type { DeviceId } from "../devices/id.ts";
import { Rate } from "../devices/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import { bodyOf, inOrder, type Move, SCHEDULES, type Schedule, scheduleIn, type Timed } from "./schedule.ts";
import type { ScheduleBody, ScheduleList } from "./schema.ts";
import { lastOf, nextOf, spanAt } from "./times.ts";
import { TIME_ZONE, zoneIn, zoneText } from "./zone.ts";

interface Deps {
  clock: Pick<Host, "now" | "sleep">;
  /** The machine's time zone, which counts unless a person has chosen another one. */
  machineZone: () => string;
  store: Texts;
  devices: {
    /** The devices that have an exit by schedule. */
    readonly scheduled: readonly DeviceId[];
    /** Whether the database has the exits in force. */
    readonly areExitsSaved: boolean;
    /** Null ends it. */
    schedule(id: DeviceId, exit: string | null): Promise<void>;
    /** The devices that have a rate by schedule. */
    readonly scheduledRates: readonly DeviceId[];
    readonly areRatesSaved: boolean;
    /** Null is no rate, undefined ends it. */
    scheduleRate(id: DeviceId, rate: Rate | null | undefined): Promise<void>;
    /** Whether more passes if a schedule gives the second instead of the first. */
    isRateRaised(id: DeviceId, from: Rate | null | undefined, to: Rate | null | undefined): boolean;
  };
  /** Throws if there is no such tunnel or exit, or if the device can have no rate. */
  assertPossible: (schedule: Schedule) => void;
  /** Moves a tunnel; false if it cannot be moved yet, because it is being connected. */
  move: (tunnel: string) => Promise<boolean>;
  alarm: (code: AlertCode, message: string) => void;
  onChange: (count: number) => void;
  log: Pick<Log, "warn">;
}

/** The clock may be set at any time. */
const LOOK_EVERY_MS = 20_000;
const HOUR_MS = 3_600_000;

/** What a device has, or had until a person gave it another exit or rate. */
const Given = Type.Object({
  schedule: Type.String(),
  exit: Type.Optional(Type.String()),
  rate: Type.Optional(Type.Union([Rate, Type.Null()])),
  /** When it began, in milliseconds since 1970. */
  from: Type.Number(),
});
type Given = Static<typeof Given>;

/** What was carried out. It is not done again after a restart, nor after a person has decided otherwise. */
const Done = Type.Object({
  /** When each move was made last, in milliseconds since 1970. */
  moves: Type.Record(Type.String(), Type.Number()),
  /** The exits by schedule, by device. */
  exits: Type.Record(Type.String(), Given),
});
type Done = Static<typeof Done>;

const DONE = savedJson("schedules_done", Done, null);
/** Beside the rates themselves, so that both are lost together: the second copy of the exits has neither. */
const RATES_DONE = savedJson("scheduled_rates_done", Type.Record(Type.String(), Given), {});

type What = Timed["do"];
const WORDS: Readonly<Record<What, string>> = { exit: "exit", rate: "limit" };

/**
 * Carries out schedules by the machine's present clock. However the clock changes, a move is made once for all the
 * times that have passed, and a device has the exit and the rate of the present time.
 */
export class Schedules {
  private all: ReadonlyMap<string, Schedule>;
  private done: Done;
  private rates: Record<string, Given>;
  /** Whether the database lacks a change that only blocks. */
  private isUnsaved = false;
  /** Whether it lacks something that was done. */
  private isDoneUnsaved = false;
  private isFaulty = false;
  private readonly moving = new Set<string>();
  private readonly faults = new Map<string, string>();
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {
    this.all = byName(SCHEDULES.read(deps.store));
    this.done = DONE.read(deps.store) ?? { moves: {}, exits: {} };
    this.rates = { ...RATES_DONE.read(deps.store) };
  }

  list(): ScheduleList {
    const [now, zone] = this.clock;
    const due = { exit: this.dueAt("exit", now, zone), rate: this.dueAt("rate", now, zone) };
    const schedules = [...this.all.values()].map((schedule) => ({
      name: schedule.name,
      ...bodyOf(schedule),
      active: schedule.do !== "move" && this.isActive(schedule, due[schedule.do]),
      next_at: new Date(this.nextOf(schedule, now, zone)).toISOString(),
      error: this.faults.get(schedule.name) ?? null,
    }));
    return { time_zone: zone, schedules };
  }

  /** Resolves once it has its effect, if its time is now. A new one that only closes takes effect even if it cannot be saved. */
  async put(name: string, body: ScheduleBody): Promise<void> {
    const schedule = scheduleIn(name, body);
    this.deps.assertPossible(schedule);
    const all = new Map(this.all).set(name, schedule);
    if (all.size > SCHEDULES.max)
      throw new GatewayError(
        "bad_request",
        `name: there are ${SCHEDULES.max} schedules, the maximum; remove one first`,
      );
    await this.save(all, name, !this.all.has(name) && this.closes(schedule));
  }

  /**
   * Ends what a device has because of it. If that opens something, it ends even if that cannot be saved.
   */
  async remove(name: string): Promise<void> {
    const former = this.all.get(name);
    if (former === undefined) throw new GatewayError("not_found", "name: there is no schedule of this name");
    const all = new Map(this.all);
    all.delete(name);
    await this.save(all, name, this.opens(former));
  }

  private closes(schedule: Schedule): boolean {
    if (schedule.do === "rate")
      return !this.deps.devices.isRateRaised(schedule.device, undefined, schedule.rate);
    return schedule.do === "exit" && schedule.exit === "blocked";
  }

  private opens(schedule: Schedule): boolean {
    if (schedule.do === "rate")
      return !this.deps.devices.isRateRaised(schedule.device, schedule.rate, undefined);
    return schedule.do === "exit" && schedule.exit !== "blocked";
  }

  /** Reads the schedules again, after another writer has changed the database. */
  async load(): Promise<void> {
    this.all = byName(SCHEDULES.read(this.deps.store));
    this.isUnsaved = false;
    await this.look();
    this.tellChange();
  }

  /** Carries them out until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.look();
      if (this.isUnsaved) this.write(this.all);
      await this.deps.clock.sleep(this.pauseMs, signal);
    }
  }

  private async save(
    all: ReadonlyMap<string, Schedule>,
    changed: string,
    onlyCloses: boolean,
  ): Promise<void> {
    const fault = this.write(all);
    if (fault !== null && !onlyCloses) throw fault;
    this.isUnsaved = fault !== null;
    this.all = byName(inOrder(all.values()));
    this.faults.delete(changed);
    delete this.done.moves[changed];
    await this.look();
    this.tellChange();
    if (fault !== null) throw new Unsaved(fault);
  }

  /** Null, or the reason why it cannot be saved. */
  private write(all: ReadonlyMap<string, Schedule>): unknown {
    try {
      SCHEDULES.write(this.deps.store, [...all.values()]);
      this.isUnsaved = false;
      return null;
    } catch (error) {
      return error;
    }
  }

  /** Does what is due. */
  private look(): Promise<void> {
    return this.queue.add(async () => {
      const [now, zone] = this.clock;
      const before = structuredClone([this.done, this.rates]);
      for (const name of Object.keys(this.done.moves)) if (!this.all.has(name)) delete this.done.moves[name];
      for (const schedule of this.all.values())
        if (schedule.do === "move" && this.isDue(schedule, now, zone)) void this.move(schedule);
      await this.give("exit", now, zone);
      await this.give("rate", now, zone);
      const isChanged = !Bun.deepEquals([this.done, this.rates], before);
      if (isChanged || this.isDoneUnsaved) this.saveDone();
      if (isChanged) this.tellChange();
    });
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
      this.tellFault(name, `the ${tunnelTitle(tunnel)} does not move: ${messageOf(error)}`);
    } finally {
      this.moving.delete(name);
    }
    // Whatever the result is, its next time is the next one.
    if (this.all.has(name)) this.done.moves[name] = this.deps.clock.now();
    this.saveDone();
    this.tellChange();
  }

  private async give(what: What, now: number, zone: string): Promise<void> {
    const due = this.dueAt(what, now, zone);
    const all = this.givenAs(what);
    const ids = new Set([...due.keys(), ...this.scheduledAs(what), ...Object.keys(all)]);
    for (const id of ids as Set<DeviceId>) {
      const [given, next] = [all[id], due.get(id)];
      const isLeft = next === undefined && this.scheduledAs(what).includes(id);
      if (!isLeft && Bun.deepEquals(given, next)) continue;
      try {
        await this.hand(what, id, next).catch((error: unknown) => {
          if (!(error instanceof Unsaved)) throw error;
          this.deps.alarm("state_not_saved", error.message);
        });
        if (next === undefined) delete all[id];
        else all[id] = next;
        this.faults.delete(next?.schedule ?? "");
      } catch (error) {
        this.tellFault(
          (next ?? given)?.schedule ?? id,
          `${id} keeps its ${WORDS[what]}: ${messageOf(error)}`,
        );
      }
    }
  }

  private hand(what: What, id: DeviceId, next: Given | undefined): Promise<void> {
    const { devices } = this.deps;
    return what === "exit" ? devices.schedule(id, next?.exit ?? null) : devices.scheduleRate(id, next?.rate);
  }

  private givenAs(what: What): Record<string, Given> {
    return what === "exit" ? this.done.exits : this.rates;
  }

  private scheduledAs(what: What): readonly DeviceId[] {
    return what === "exit" ? this.deps.devices.scheduled : this.deps.devices.scheduledRates;
  }

  /** What each device should have. If several schedules apply, the one that began last counts. */
  private dueAt(what: What, now: number, zone: string): Map<DeviceId, Given> {
    const due = new Map<DeviceId, Given>();
    for (const each of this.all.values()) {
      if (each.do !== what) continue;
      const span = spanAt(each.when, now, zone);
      const other = due.get(each.device);
      if (span === null || (other !== undefined && span.from < other.from)) continue;
      const given = each.do === "exit" ? { exit: each.exit } : { rate: each.rate };
      due.set(each.device, { schedule: each.name, ...given, from: span.from });
    }
    return due;
  }

  /** Whether it is in effect. It is not if a person has given the device another exit or rate since. */
  private isActive({ do: what, name, device }: Timed, due: ReadonlyMap<DeviceId, Given>): boolean {
    const given = this.givenAs(what)[device];
    const isGiven = given !== undefined && Bun.deepEquals(given, due.get(device));
    return isGiven && given.schedule === name && this.scheduledAs(what).includes(device);
  }

  private nextOf(schedule: Schedule, now: number, zone: string): number {
    const { when } = schedule;
    if ("everyHours" in when) return (this.done.moves[schedule.name] ?? now) + when.everyHours * HOUR_MS;
    const next = nextOf(when, now, zone);
    return schedule.do === "move" ? next : Math.min(next, spanAt(schedule.when, now, zone)?.to ?? next);
  }

  private get pauseMs(): number {
    const [now, zone] = this.clock;
    const pauses = [...this.all.values()].map((schedule) => this.nextOf(schedule, now, zone) - now);
    return Math.min(LOOK_EVERY_MS, ...pauses.filter((ms) => ms > 0));
  }

  /** In which times of day are meant. */
  get zone(): string {
    return zoneIn(TIME_ZONE.read(this.deps.store)) ?? this.deps.machineZone();
  }

  /** Resolves once what is due in it has its effect; null is the machine's. */
  async setZone(zone: string | null): Promise<void> {
    TIME_ZONE.write(this.deps.store, zoneText(zone));
    await this.look();
    this.tellChange();
  }

  private get clock(): [now: number, zone: string] {
    return [Math.floor(this.deps.clock.now()), this.zone];
  }

  /** Reports each fault once, as long as it lasts. */
  private tellFault(name: string, why: string): void {
    if (this.faults.get(name) === why) return;
    this.faults.set(name, why);
    this.deps.alarm("schedule_failed", `The schedule ${JSON.stringify(name)} failed: ${why}.`);
    this.tellChange();
  }

  /**
   * What was given is noted only once the database has the exit or the rate itself: otherwise a restart, which knows
   * nothing of it, would take it for a person's decision that the device has none.
   */
  private saveDone(): void {
    const { store, devices, log } = this.deps;
    const { areExitsSaved, areRatesSaved } = devices;
    this.isDoneUnsaved = !(areExitsSaved && areRatesSaved);
    try {
      const exits = areExitsSaved ? this.done.exits : (DONE.read(store)?.exits ?? {});
      DONE.write(store, { ...this.done, exits });
      if (areRatesSaved) RATES_DONE.write(store, this.rates);
      this.isFaulty = false;
    } catch (error) {
      this.isDoneUnsaved = true;
      if (!this.isFaulty) log.warn(`what schedules have done could not be saved: ${messageOf(error)}`);
      this.isFaulty = true;
    }
  }

  private tellChange(): void {
    this.deps.onChange(this.all.size);
  }
}

function byName(schedules: readonly Schedule[]): Map<string, Schedule> {
  return new Map(schedules.map((each) => [each.name, each]));
}
