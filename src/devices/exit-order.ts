import type { GatewayError } from "../base/errors.ts";
import type { Exit } from "../killswitch/policy.ts";
import { MAX_TUNNELS } from "../network/slot.ts";
import { isOutsideExit } from "../shared/exits.ts";
import { formatExit, parseExit } from "./exit.ts";
import { refused } from "./refusals.ts";

/** Where a device leaves: by the first of these that is up. Most devices have only one. */
export type ExitOrder = readonly [Exit, ...Exit[]];

/** Each tunnel once, and `blocked`. */
export const MAX_EXITS = MAX_TUNNELS + 1;

/** What is known of the tunnels. */
export interface Ways {
  isUp: (tunnel: string) => boolean;
  /** Whether it has been up long enough for a device to leave another tunnel for it. */
  isSteady: (tunnel: string) => boolean;
}

/**
 * The exit in force: the first that is up. A device stays at a tunnel that is up until a better one is steady. If none
 * is up, it stays where it is: that exit is down, so the device is refused.
 */
export function exitInForce(order: ExitOrder, { isUp, isSteady }: Ways, present: Exit | null): Exit {
  const at = present === null ? -1 : order.findIndex((each) => isSame(each, present));
  const isServed = present?.to === "tunnel" && isUp(present.name);
  const found = order.find((exit, place) =>
    exit.to !== "tunnel" ? true : isServed && place < at ? isSteady(exit.name) : isUp(exit.name),
  );
  return found ?? order[at] ?? order[0];
}

export function isSame(one: Exit, other: Exit): boolean {
  return formatExit(one) === formatExit(other);
}

/** Why these are not a valid order; null if they are. */
export function orderFault(exits: readonly string[]): GatewayError | null {
  // First of all: the rest looks at each exit for each other one.
  if (exits.length === 0 || exits.length > MAX_EXITS) return refused("exits_too_many", { max: MAX_EXITS });
  const twice = exits.find((exit, at) => exits.indexOf(exit) < at);
  if (twice !== undefined) return refused("exit_twice", { exit: JSON.stringify(twice) });
  if (exits.length > 1 && exits.includes("direct")) return refused("direct_among_several");
  return exits.slice(0, -1).includes("blocked") ? refused("blocked_not_last") : null;
}

/** Null if the text cannot be any order. */
export function parseOrder(text: string): ExitOrder | null {
  const texts = text.split(",", MAX_EXITS + 1);
  if (texts.length > MAX_EXITS) return null;
  const exits = texts.flatMap((each) => parseExit(each) ?? []);
  return exits.length === texts.length && orderFault(texts) === null ? asOrder(exits) : null;
}

/** The same without `direct`. */
export function parseDefaultOrder(text: string): ExitOrder | null {
  const order = parseOrder(text);
  return order?.some(isOutsideExit) ? null : order;
}

export function asOrder([first, ...others]: readonly Exit[]): ExitOrder {
  return [first ?? { to: "blocked" }, ...others];
}

export function formatOrder(order: ExitOrder): string {
  return order.map(formatExit).join(",");
}
