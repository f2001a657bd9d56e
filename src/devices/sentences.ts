import type { AlertArgs } from "../base/alert-rows.ts";
import { linkIn } from "../shared/network-id.ts";
import { rateArgs } from "../shared/rates.ts";
import { formatExit } from "./exit.ts";
import { formatOrder } from "./exit-order.ts";
import type { Move } from "./exits-in-force.ts";
import { isDeviceId, type LimitId } from "./id.ts";
import { type Decisions, idsIn, orderOf } from "./record.ts";
import { networkTitle, someOf, titlesOf } from "./title.ts";
import type { Quota } from "./values.ts";

/** Whose quota is used up, what that means, and until when. */
export function usedUp(
  id: LimitId,
  { megabytes, every, at_end }: Quota,
  decisions: Decisions,
): AlertArgs<"quota_used"> {
  const amount = { megabytes, every };
  const until = { ...amount, scheduled: decisions.quota.scheduled.has(id) ? "yes" : "no" };
  const device = titleIn(id, decisions);
  if (at_end === "told")
    return device === null ? { what: "shared_told", ...amount } : { what: "told", device, ...amount };
  if (at_end === "blocked")
    return device === null ? { what: "shared_blocked", ...until } : { what: "blocked", device, ...until };
  const limit = { ...until, ...rateArgs(at_end) };
  return device === null ? { what: "shared_limited", ...limit } : { what: "limited", device, ...limit };
}

/** Null for all others, who have none. */
function titleIn(id: LimitId, decisions: Decisions): string | null {
  const link = linkIn(id);
  if (link !== null) return networkTitle(link, decisions);
  return isDeviceId(id) ? titlesOf([id], decisions) : null;
}

/** One alert for all devices that have moved from the same exit to the same. */
export function movesOf(moves: readonly Move[], decisions: Decisions): AlertArgs<"exit_moved">[] {
  const moved = moves.map((move) => [formatOrder(move.order), moveOf(move)] as const);
  const byOrder = new Map(moved.map(([order, move]) => [order, JSON.stringify(move)]));
  const byMove = Map.groupBy(idsIn(decisions), (id) => byOrder.get(formatOrder(orderOf(decisions, id))));
  return [...byMove].flatMap(([move, ids]) =>
    move === undefined ? [] : [{ ...JSON.parse(move), ...someOf(ids, decisions) }],
  );
}

/** Why devices with this order have moved. */
function moveOf({ order, from, to }: Move): Pick<AlertArgs<"exit_moved">, "what" | "from" | "to"> {
  const names = order.map(formatExit);
  const [former, present] = [formatExit(from), formatExit(to)];
  const what = names.indexOf(present) < names.indexOf(former) ? "up" : "down";
  return { what, from: former, to: present };
}
