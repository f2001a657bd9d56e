import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { enumOf } from "../base/enum.ts";
import { Shown } from "../base/name.ts";
import { objectOf } from "../base/object.ts";
import { Provider, VIA, Wish } from "../servers/schema.ts";
import { MAX_BACK_MINUTES, MAX_TARGETS } from "../shared/bounds.ts";

/** One target of a tunnel's order: names, as a person gave them. */
export const OrderTarget = objectOf({
  provider: Provider,
  server: Type.String({ description: "a server, country or city" }),
  via: Type.Optional(VIA),
  transport: Type.Optional(
    Type.Union(Wish.anyOf, { description: "how it should be reached; missing for `auto`" }),
  ),
});
export type OrderTarget = Static<typeof OrderTarget>;

/** Why a tunnel leaves a target whose server answers. */
export const MoveWhen = enumOf(["slow", "lossy"]);
export type MoveWhen = Static<typeof MoveWhen>;
/** In the order in which they are kept, so that the same wish has the same form. */
export const MOVES_WHEN: readonly MoveWhen[] = ["slow", "lossy"];

/** The targets of a tunnel, in a person's own order. The first that works is taken. */
export const Order = objectOf(
  {
    targets: Type.Array(OrderTarget, { minItems: 2, maxItems: MAX_TARGETS }),
    at: Type.Integer({
      minimum: 0,
      maximum: MAX_TARGETS - 1,
      description: "which of them the tunnel has taken, or tries first, counted from 0",
    }),
    back_after_minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_BACK_MINUTES,
        description: "after how long a better target is tried again, each time; missing if never",
      }),
    ),
    back_when_quiet: Type.Optional(
      Type.Literal(true, { description: "it is tried only once the tunnel has carried little for a minute" }),
    ),
    move_when: Type.Optional(
      Type.Array(MoveWhen, {
        minItems: 1,
        maxItems: 2,
        uniqueItems: true,
        description:
          "the states of `quality` in which a target is left for another one that answers; missing if it is left only when it is dead",
      }),
    ),
  },
  { description: "where the tunnel should lead, the best first; missing if there is only one target" },
);
export type Order = Static<typeof Order>;

/** The same as it is saved: what was changed by hand, and takes a target that is not there, is refused. */
export const SavedOrder = Type.Refine(Order, ({ targets, at }) => at < targets.length && areNamed(targets));

const shown = checkerOf(Shown);

/** Whether what targets are called can be the names of servers and places. */
export function areNamed(targets: readonly OrderTarget[]): boolean {
  return targets.every(({ server, via = server }) =>
    [server, via].every((each) => each !== "" && shown.Check(each)),
  );
}

/** When a tunnel goes back to a better target, and when it leaves one. */
export type Rules = Pick<Order, "back_after_minutes" | "back_when_quiet" | "move_when">;
