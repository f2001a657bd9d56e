import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { savedJson } from "../base/saved.ts";
import { MAIN } from "../killswitch/policy.ts";
import { MAX_TUNNELS } from "../network/slot.ts";
import { MAX_BACK_MINUTES, MAX_TARGETS } from "../shared/bounds.ts";
import type { Connection } from "./connection.ts";
import { isTunnelName } from "./name.ts";
import { areNamed, MoveWhen, OrderTarget } from "./order.ts";

/** Where a tunnel led last, as a connect takes it. */
export const Last = objectOf(
  {
    targets: Type.Array(OrderTarget, { minItems: 1, maxItems: MAX_TARGETS }),
    back_after_minutes: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_BACK_MINUTES, description: "missing with one target" }),
    ),
    back_when_quiet: Type.Optional(Type.Literal(true)),
    move_when: Type.Optional(Type.Array(MoveWhen, { minItems: 1, maxItems: 2, uniqueItems: true })),
  },
  {
    description:
      "while disconnected: the body of a connect to where the tunnel led last, without targets that are not available now; missing if there is none",
  },
);
export type Last = Static<typeof Last>;

const SavedLast = Type.Refine(Last, ({ targets }) => areNamed(targets));
const SavedLasts = Type.Refine(
  Type.Record(Type.String(), SavedLast, { maxProperties: MAX_TUNNELS }),
  (lasts) => Object.keys(lasts).every((name) => name === MAIN || isTunnelName(name)),
);

/** By tunnel, also while it leads there. */
export const LAST = savedJson("last_targets", SavedLasts, {});

/** What a connect takes to lead a tunnel to this again. */
export function lastOf({
  provider,
  name,
  via,
  wanted = name,
  wanted_via = via,
  transport,
  order,
}: Connection): Last {
  if (order === undefined) {
    const how = { ...(wanted_via !== undefined && { via: wanted_via }), ...(transport && { transport }) };
    return { targets: [{ provider, server: wanted, ...how }] };
  }
  const { at: _, targets, back_after_minutes = 0, ...rules } = order;
  return { targets, back_after_minutes, ...rules };
}

/** The same with some of its targets only; null if none is left. Rules mean nothing for one. */
export function lastWith(last: Last, isKept: (target: Last["targets"][number]) => boolean): Last | null {
  const targets = last.targets.filter(isKept);
  if (targets.length === 0) return null;
  return targets.length === 1 ? { targets } : { ...last, targets };
}

/** Whether the first is the second, or what is left of it without some of its targets. */
export function isLeftOf(last: Last, whole: Last): boolean {
  const isKept = (target: Last["targets"][number]) =>
    last.targets.some((each) => Bun.deepEquals(each, target, true));
  return Bun.deepEquals(lastWith(whole, isKept), last, true);
}
