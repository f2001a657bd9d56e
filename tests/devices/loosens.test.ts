import { expect, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { changedIn } from "../../src/devices/column.ts";
import type { Field } from "../../src/devices/field.ts";
import { EVERYBODY_ELSE, type LimitId } from "../../src/devices/id.ts";
import { QUOTA } from "../../src/devices/quota.ts";
import { RATE } from "../../src/devices/rate.ts";
import type { Quota, Rate } from "../../src/devices/values.ts";

// What only tightens takes effect even if it cannot be saved, and what loosens does not: tests/base/decision.test.ts.

const TV = "02:00:00:00:00:20" as Mac;

/** Of the TV and of all others, what people have given them, and what schedules give, where null is nothing. */
interface Given<Value> {
  tv?: Value;
  others?: Value;
  tvByTime?: Value | null;
  othersByTime?: Value | null;
}

function column<Value>({ tv, others, tvByTime, othersByTime }: Given<Value>) {
  const of = <V>(...values: readonly [tv: V | undefined, others: V | undefined]) =>
    new Map<LimitId, V>(
      ([TV, EVERYBODY_ELSE] as const).flatMap((id, at) => {
        const value = values[at];
        return value === undefined ? [] : [[id, value] as const];
      }),
    );
  return { own: of(tv, others), scheduled: of(tvByTime, othersByTime) };
}

/** Of each that has something else afterwards. */
function effectsOf<Value>({ effect }: Field<Value>, ...given: readonly [Given<Value>, Given<Value>]) {
  const [before, after] = [column(given[0]), column(given[1])];
  return changedIn(before, after).map((id) => effect?.(before, after, id));
}

const LOOSENS = "loosens";
const TIGHTENS = "tightens";
type Row<Value> = [before: Given<Value>, after: Given<Value>, effect: typeof LOOSENS | typeof TIGHTENS];

const rate = (down: number | null, up: number | null): Rate => ({ down, up });
const [ten, five, slow] = [rate(10, null), rate(5, null), rate(5, 1)];

test.each<Row<Rate>>([
  [{}, { tv: ten }, TIGHTENS],
  [{ tv: ten }, { tv: slow }, TIGHTENS],
  [{ tv: slow }, { tv: rate(6, 1) }, LOOSENS],
  [{ tv: slow }, { tv: rate(5, 2) }, LOOSENS],
  [{ tv: slow }, { tv: five }, LOOSENS],
  [{ tv: slow }, {}, LOOSENS],
  // A device that leaves what all others share has its own beside it, so that more passes together.
  [{ others: ten }, { others: ten, tv: five }, LOOSENS],
  [{ others: ten, tv: ten }, { others: ten, tv: five }, TIGHTENS],
  [{ others: ten, tv: five }, { others: ten }, LOOSENS],
  [{ others: ten }, { others: five }, TIGHTENS],
  [{ others: ten }, {}, LOOSENS],
  // A schedule's holds in place of the own one.
  [{ tv: ten }, { tv: ten, tvByTime: slow }, TIGHTENS],
  [{ tv: ten }, { tv: ten, tvByTime: rate(11, 1) }, LOOSENS],
  [{ tv: ten }, { tv: ten, tvByTime: null }, LOOSENS],
  [{ tv: ten, tvByTime: slow }, { tv: ten }, LOOSENS],
  [{ tv: ten, tvByTime: rate(30, null) }, { tv: ten }, TIGHTENS],
  [{ others: ten, othersByTime: slow }, { others: ten }, LOOSENS],
  [{ others: ten }, { others: ten, othersByTime: rate(9, 1) }, TIGHTENS],
  [{ others: ten, othersByTime: slow }, { others: ten, othersByTime: null }, LOOSENS],
  [{ others: ten, othersByTime: slow }, { others: ten, othersByTime: rate(1, 1) }, TIGHTENS],
  [{ others: ten, othersByTime: slow }, { others: ten, othersByTime: slow, tvByTime: rate(1, 1) }, LOOSENS],
  // No more passes now, but when the schedule ends.
  [{ tv: ten, tvByTime: slow }, { tvByTime: slow }, LOOSENS],
])("of rates, %j to %j %s", (before, after, effect) => {
  expect(effectsOf(RATE, before, after)).toEqual([effect]);
});

const full: Quota = { megabytes: 500, every: "day", at_end: "blocked" };
const less: Quota = { ...full, megabytes: 400 };
const told: Quota = { ...full, at_end: "told" };
const ending = (down: number | null, up: number | null): Quota => ({ ...full, at_end: { down, up } });

test.each<Row<Quota>>([
  [{}, { tv: full }, TIGHTENS],
  [{ tv: full }, { tv: less }, TIGHTENS],
  [{ tv: less }, { tv: full }, LOOSENS],
  [{ tv: less }, { tv: { ...less, at_end: "told" } }, LOOSENS],
  [{ tv: less }, { tv: { ...less, at_end: rate(2, null) } }, LOOSENS],
  [{ tv: less }, { tv: { ...less, megabytes: 401, every: "month" } }, LOOSENS],
  [{ tv: { ...full, every: "month" } }, { tv: full }, LOOSENS],
  [{ tv: full }, {}, LOOSENS],
  // What only tells has closed nothing.
  [{ tv: told }, { tv: { ...told, megabytes: 900 } }, TIGHTENS],
  [{ tv: told }, { tv: ending(2, 2) }, TIGHTENS],
  [{ tv: ending(2, 2) }, { tv: ending(1, null) }, LOOSENS],
  [{ tv: ending(2, 2) }, { tv: ending(3, 2) }, LOOSENS],
  [{ tv: ending(2, 2) }, { tv: ending(1, 2) }, TIGHTENS],
  [{ tv: ending(1, 2) }, { tv: full }, TIGHTENS],
  // A device that leaves what all others share has its own beside it.
  [{ others: full }, { others: full, tv: less }, LOOSENS],
  [{ others: told }, { others: told, tv: full }, TIGHTENS],
  [{ others: full }, { others: less }, TIGHTENS],
  [{ others: full }, {}, LOOSENS],
  [{ others: full }, { others: full, tvByTime: less }, LOOSENS],
  // A schedule's takes the place of the own one, and begins with nothing used.
  [{}, { tvByTime: full }, TIGHTENS],
  [{}, { tvByTime: null }, TIGHTENS],
  [{ tvByTime: full }, { tvByTime: less }, TIGHTENS],
  [{ tvByTime: less }, { tvByTime: full }, LOOSENS],
  [{ tvByTime: full }, {}, LOOSENS],
  [{ tv: full }, { tv: full, tvByTime: less }, LOOSENS],
  [{ tv: full }, { tv: full, tvByTime: null }, LOOSENS],
  [{ tv: full, tvByTime: null }, { tv: full }, TIGHTENS],
  // No more passes now, but when the schedule ends.
  [{ tv: full, tvByTime: less }, { tvByTime: less }, LOOSENS],
  [{ others: full, tvByTime: full }, { others: full, tv: less, tvByTime: full }, LOOSENS],
])("of quotas, %j to %j %s", (before, after, effect) => {
  expect(effectsOf(QUOTA, before, after)).toEqual([effect]);
});
