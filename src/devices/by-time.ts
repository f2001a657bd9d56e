import type { Unsaved } from "../base/errors.ts";
import type { Assignments } from "./assignments.ts";
import type { DeviceId, LimitId } from "./id.ts";
import type { Limits } from "./limits.ts";
import type { Quotas } from "./quotas.ts";
import type { Quota, Rate } from "./schema.ts";

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
  limits: Limits;
  quotas: Quotas;
  /** Null ends it. */
  scheduleExit: (id: DeviceId, exit: string | null) => Promise<void>;
  onLimit: (id: LimitId) => void;
}

/** What schedules give devices and everybody else, who has no exit. */
export function allByTime({ assignments, limits, quotas, scheduleExit, onLimit }: Deps): AllByTime {
  const told = async (id: LimitId, change: Promise<Unsaved | null>) => {
    const unsaved = await change.finally(() => onLimit(id));
    if (unsaved !== null) throw unsaved;
  };
  const limit = <Value>(
    kept: Omit<ByTime<Value>, "schedule">,
    schedule: (id: LimitId, value: Value | undefined) => Promise<Unsaved | null>,
  ): ByTime<Value> => ({
    get scheduled() {
      return kept.scheduled;
    },
    get isSaved() {
      return kept.isSaved;
    },
    schedule: (id, value) => told(id, schedule(id, value)),
    isRaised: (id, from, to) => kept.isRaised(id, from, to),
  });
  return {
    exit: {
      get scheduled() {
        return [...assignments.current.scheduled.keys()];
      },
      get isSaved() {
        return assignments.decision.isSaved;
      },
      schedule: (id, exit) => scheduleExit(id as DeviceId, exit ?? null),
      isRaised: (_, from, to) => from === "blocked" || (to !== undefined && to !== "blocked"),
    },
    rate: limit(limits, (id, rate) => limits.schedule(id, rate)),
    quota: limit(quotas, (id, quota) => limits.scheduleQuota(id, quota)),
  };
}
