import { amountText } from "../shared/quotas.ts";
import { rateText } from "../shared/rates.ts";
import { formatExit } from "./exit.ts";
import { formatOrder } from "./exit-order.ts";
import type { Move } from "./exits-in-force.ts";
import { EVERYBODY_ELSE, type LimitId } from "./id.ts";
import { type Decisions, idsIn, orderOf } from "./record.ts";
import { titlesOf } from "./title.ts";
import type { Quota } from "./values.ts";

/** Whose quota is used up, what that means, and until when. */
export function usedUpText(id: LimitId, quota: Quota, decisions: Decisions): string {
  const { every, at_end } = quota;
  const isShared = id === EVERYBODY_ELSE;
  const title = isShared
    ? "The devices without a quota of their own have used their"
    : `${titlesOf([id], decisions)} has used its`;
  const renewed = every === "day" ? "midnight" : "the end of the month";
  const end = decisions.quota.scheduled.has(id) ? `${renewed} or the end of the schedule` : renewed;
  const used = `${title} quota of ${amountText(quota)}`;
  const state = at_end === "blocked" ? "blocked" : at_end !== "told" && `limited to ${rateText(at_end)}`;
  const now = isShared ? `are ${state}${at_end === "blocked" ? "" : " together"}` : `is ${state}`;
  return state ? `${used}, and ${now} until ${end}.` : `${used}.`;
}

/** One sentence for all devices that have moved from the same exit to the same. */
export function movesText(moves: readonly Move[], decisions: Decisions): string[] {
  const headed = new Map(moves.map((move) => [formatOrder(move.order), headOf(move)]));
  const byHead = Map.groupBy(idsIn(decisions), (id) => headed.get(formatOrder(orderOf(decisions, id))));
  return [...byHead].flatMap(([head, ids]) =>
    head === undefined ? [] : [`${head}: ${titlesOf(ids, decisions)}.`],
  );
}

/** Why devices with this order have moved. */
function headOf({ order, from, to }: Move): string {
  const names = order.map(formatExit);
  const [former, present] = [formatExit(from), formatExit(to)];
  const why = names.indexOf(present) < names.indexOf(former) ? `${present} is up` : `${former} is down`;
  return `Moved from ${former} to ${present}, because ${why}`;
}
