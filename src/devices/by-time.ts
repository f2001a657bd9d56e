import { linkIn } from "../shared/network-id.ts";
import { type Assignments, exitsEffect } from "./assignments.ts";
import { parseDefaultExit } from "./exit.ts";
import { asOrder, type ExitOrder } from "./exit-order.ts";
import type { LimitId } from "./id.ts";
import { type Decisions, type DeviceRecord, effectOn, type FieldKey, withScheduled } from "./record.ts";
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
  loosens(id: LimitId, from: Value | undefined, to: Value | undefined): boolean;
}

export type AllByTime = { readonly [What in keyof Values]: ByTime<Values[What]> };

interface Deps {
  assignments: Assignments;
  /** Throws if it cannot have this exit now. */
  assertExit: (id: LimitId, exit: string) => void;
  /** The decisions with all networks that are there: a new one is known by that it is not among them. */
  withSeen: (decisions: Decisions) => Decisions;
  /** To be called after each change, and after each that failed. */
  onChange: (id: LimitId) => void;
}

/** What schedules give devices, networks and all others, who have no exit by a schedule. */
export function allByTime(deps: Deps): AllByTime {
  return {
    exit: new Scheduled<string>(deps, "exit", exitIn),
    rate: new Scheduled<Rate | null>(deps, "rate", (rate) => rate),
    quota: new Scheduled<Quota | null>(deps, "quota", (quota) => quota),
  };
}

class Scheduled<Value> implements ByTime<Value> {
  constructor(
    private readonly deps: Deps,
    private readonly key: FieldKey,
    private readonly given: (value: Value) => DeviceRecord[FieldKey],
  ) {}

  get scheduled(): LimitId[] {
    return [...this.deps.assignments.current[this.key].scheduled.keys()];
  }

  get isSaved(): boolean {
    return this.deps.assignments.decision.isSaved;
  }

  schedule(id: LimitId, value: Value | undefined): Promise<void> {
    const { assignments, assertExit, withSeen, onChange } = this.deps;
    const change = (decisions: Decisions) => {
      if (this.key !== "exit" || value === undefined) return this.with(decisions, id, value);
      assertExit(id, String(value));
      return this.with(linkIn(id) === null ? decisions : withSeen(decisions), id, value);
    };
    return assignments.change(change).finally(() => onChange(id));
  }

  loosens(id: LimitId, from: Value | undefined, to: Value | undefined): boolean {
    const { current } = this.deps.assignments;
    const [before, after] = [this.with(current, id, from), this.with(current, id, to)];
    // A network's exit may lie under a device's.
    const effect = this.key === "exit" ? exitsEffect(before, after) : effectOn([this.key], before, after);
    return effect === "loosens";
  }

  private with(decisions: Decisions, id: LimitId, value: Value | undefined): Decisions {
    return withScheduled(decisions, this.key, id, value === undefined ? undefined : this.given(value));
  }
}

/** One that cannot be read blocks. */
function exitIn(text: string): ExitOrder {
  return asOrder([parseDefaultExit(text) ?? { to: "blocked" }]);
}
