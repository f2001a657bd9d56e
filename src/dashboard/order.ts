import type { Order } from "../tunnel/order.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { say } from "./language.ts";
import { viaText } from "./sentence.ts";

/** The targets of a tunnel, the best first, and when it goes back to a better one; nothing if it has only one. */
export function orderFacts({ order }: Pick<TunnelRow, "order">): (readonly [term: string, value: string])[] {
  if (order === undefined) return [];
  const names = order.targets.map(({ server, via }) => viaText(server, via));
  const shown = names.map((target, at) => (at === order.at ? say("{target} (in use)", { target }) : target));
  return [
    [say("Targets, the best first"), shown.join(" · ")],
    [say("Back to a better one"), backText(order)],
    [say("Leaves its target"), leftText(order)],
  ];
}

function backText({ back_after_minutes: minutes, back_when_quiet }: Order): string {
  if (minutes === undefined) return say("not by itself");
  return say(
    "{quiet, select, yes {after {minutes, plural, one {# minute} other {# minutes}}, once little is carried} other {after {minutes, plural, one {# minute} other {# minutes}}}}",
    { minutes, quiet: back_when_quiet ? "yes" : "no" },
  );
}

function leftText({ move_when = [] }: Order): string {
  return say(
    "{when, select, both {when it is dead, slow or lossy} slow {when it is dead or slow} lossy {when it is dead or lossy} other {when it is dead}}",
    { when: move_when.length > 1 ? "both" : (move_when[0] ?? "dead") },
  );
}

/** The names of the targets, for a question. */
export function targetsText({ targets }: Pick<Order, "targets">): string {
  return targets.map(({ server, via }) => viaText(server, via)).join(" · ");
}

/** The part of a connect that asks for the same targets again. */
export function sameTargets({ targets, back_after_minutes = 0, back_when_quiet, move_when = [] }: Order) {
  return { targets, back_after_minutes, back_when_quiet: back_when_quiet === true, move_when };
}
