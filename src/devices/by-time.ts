import type { Assignments } from "./assignments.ts";
import type { ExitOrder } from "./exit-order.ts";
import type { DeviceId, LimitId } from "./id.ts";
import { effectOn, type FieldKey, withScheduled } from "./record.ts";
import type { Quota, Rate } from "./values.ts";

/** What schedules can give for some time; null is none. */
export interface Values {
  exit: string;
  rate: Rate | null;
  quota: Quota | null;
}

/** One of these, as schedules give it and take it again. */
export interface ByTime<Value> {
  /** Who has something by a schedule now. */
  readonly scheduled: readonly LimitId[];
  /** Whether the database has what is in force. */
  readonly isSaved: boolean;
  /** Holds until undefined is given, or a person decides. */
  schedule(id: LimitId, value: Value | undefined): Promise<void>;
  /** Whether more can pass if a schedule gives the second instead of the first; undefined is nothing. */
  isRaised(id: LimitId, from: Value | undefined, to: Value | undefined): boolean;
}

export type AllByTime = { readonly [What in keyof Values]: ByTime<Values[What]> };

interface Deps {
  assignments: Assignments;
  /** Throws if the device cannot have this exit now. */
  exitFor: (id: DeviceId, exit: string) => ExitOrder;
  /** To be called after each change, and after each that failed. */
  onChange: (id: LimitId) => void;
}

/** What schedules give devices and everybody else, who has no exit by a schedule. */
export function allByTime(deps: Deps): AllByTime {
  return { exit: exitByTime(deps), rate: limitByTime("rate", deps), quota: limitByTime("quota", deps) };
}

class Scheduled<Value> implements ByTime<Value> {
  constructor(
    private readonly assignments: Assignments,
    private readonly key: FieldKey,
    readonly schedule: ByTime<Value>["schedule"],
    readonly isRaised: ByTime<Value>["isRaised"],
  ) {}

  get scheduled(): LimitId[] {
    return [...this.assignments.current[this.key].scheduled.keys()];
  }

  get isSaved(): boolean {
    return this.assignments.decision.isSaved;
  }
}

function exitByTime({ assignments, exitFor, onChange }: Deps): ByTime<string> {
  const schedule = (id: LimitId, exit: string | undefined) =>
    assignments
      .change((decisions) =>
        withScheduled(decisions, "exit", id, exit === undefined ? undefined : exitFor(id as DeviceId, exit)),
      )
      .finally(() => onChange(id));
  const isRaised = (_: LimitId, from?: string, to?: string) =>
    from === "blocked" || (to !== undefined && to !== "blocked");
  return new Scheduled(assignments, "exit", schedule, isRaised);
}

function limitByTime<Key extends "rate" | "quota">(
  key: Key,
  { assignments, onChange }: Deps,
): ByTime<Values[Key]> {
  const schedule: ByTime<Values[Key]>["schedule"] = (id, value) =>
    assignments.change((decisions) => withScheduled(decisions, key, id, value)).finally(() => onChange(id));
  return new Scheduled(assignments, key, schedule, (id, from, to) => {
    const { current } = assignments;
    const [before, after] = [withScheduled(current, key, id, from), withScheduled(current, key, id, to)];
    return effectOn([key], before, after) === "loosens";
  });
}
