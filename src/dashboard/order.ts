import type { Order } from "../tunnel/order.ts";
import type { TunnelRow } from "../tunnel/schema.ts";
import { say } from "./language.ts";
import { viaText } from "./sentence.ts";

/** The targets of a tunnel, the best first, and when it goes back to a better one; nothing if it has only one. */
export function orderFacts({ order }: Pick<TunnelRow, "order">): (readonly [term: string, value: string])[] {
  if (order === undefined) return [];
  const names = order.targets.map(({ server, via }) => viaText(server, via));
  const shown = names.map((target, at) => (at === order.at ? say("{target} (taken)", { target }) : target));
  return [
    [say("Targets, the best first"), shown.join(" · ")],
    [say("Back to a better one"), backText(order)],
  ];
}

function backText({ back_after_minutes: minutes, back_when_quiet }: Order): string {
  if (minutes === undefined) return say("not by itself");
  return say(
    "{quiet, select, yes {after {minutes, plural, one {# minute} other {# minutes}}, once little is carried} other {after {minutes, plural, one {# minute} other {# minutes}}}}",
    { minutes, quiet: back_when_quiet ? "yes" : "no" },
  );
}

/** The names of the targets, for a question. */
export function targetsText({ targets }: Order): string {
  return targets.map(({ server, via }) => viaText(server, via)).join(" · ");
}

/** The part of a connect that asks for the same targets again. */
export function sameTargets({ targets, back_after_minutes = 0, back_when_quiet }: Order) {
  return { targets, back_after_minutes, back_when_quiet: back_when_quiet === true };
}
