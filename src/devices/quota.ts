import { type Static, Type } from "typebox";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { listIn, SavedList, savedJson } from "../base/saved.ts";
import { linkIn } from "../shared/network-id.ts";
import { quotaText } from "../shared/quotas.ts";
import { type Column, inForce, scheduledIn } from "./column.ts";
import { type Field, storedColumn } from "./field.ts";
import { EVERYBODY_ELSE, type LimitId, parseLimitId } from "./id.ts";
import { refused } from "./refusals.ts";
import { GivenQuota, Quota, type Rate } from "./values.ts";

/** Quotas of former versions have no `at_end`, and those of later ones may have another. */
const StoredQuota = objectOf({
  id: Type.String(),
  quota: objectOf({ ...GivenQuota.properties, at_end: Type.Optional(Type.Unknown()) }),
});
const known = checkerOf(GivenQuota);

/** The quotas that people have given devices. */
export const QUOTAS = new SavedList<{ id: string; quota: Quota }>({
  key: "quotas",
  what: "quota",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  maxCharacters: 200,
  entriesIn: (text) =>
    listIn(StoredQuota)(text).flatMap(({ id, quota }) =>
      parseLimitId(id) === null ? [] : [{ id, quota: wholeOf(readable(quota)) }],
    ),
  format: (all) =>
    JSON.stringify(
      all
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, quota: { at_end, ...amount } }) => ({
          id,
          // As former versions know it.
          quota: at_end === "blocked" ? amount : { ...amount, at_end },
        })),
    ),
  nameOf: ({ id }) => id,
  wordsOf: ({ quota }) => quotaText(quota),
});

/** By who has it; null is no quota. */
const SCHEDULED = savedJson(
  "scheduled_quotas",
  Type.Record(Type.String(), Type.Union([Quota, Type.Null()])),
  {},
);

/** How much a device may send and receive together. */
export const QUOTA: Field<Quota> = {
  parse: (given: GivenQuota | null, { isSingle }) => quotaIn(isSingle, given),
  effect: (before, after, id) =>
    opens(before, after, id) || opensOwn(before, after, id) ? "loosens" : "tightens",
  stored: storedColumn({
    list: QUOTAS,
    entryOf: (id, quota) => ({ id, quota }),
    pairOf: ({ id, quota }) => [id as LimitId, quota],
    scheduled: { saved: SCHEDULED, parse: (saved) => scheduledIn(saved, (quota) => !isEndless(quota)) },
  }),
};

/** The quota that a client has given; null is none. */
export function quotaIn(isSingle: boolean, quota: GivenQuota | null, field = "quota"): Quota | null {
  if (quota === null) return null;
  if (!isSingle) throw refused("only_single_devices", { field });
  if (isEndless(quota)) throw refused("quota_end_empty", { field });
  return wholeOf(quota);
}

/** What cannot be read of a quota's end blocks, as what cannot be read of an exit does. */
function readable(quota: Static<typeof StoredQuota>["quota"]): GivenQuota {
  const { megabytes, every } = quota;
  return known.Check(quota) && !isEndless(quota) ? quota : { megabytes, every };
}

/** Whether its end would be a rate that limits nothing. */
function isEndless({ at_end }: GivenQuota): boolean {
  return typeof at_end === "object" && at_end.down === null && at_end.up === null;
}

/** A copy that has what the client may leave out, and nothing else. */
function wholeOf({ megabytes, every, at_end = "blocked" }: GivenQuota): Quota {
  const end = typeof at_end === "object" ? { down: at_end.down, up: at_end.up } : at_end;
  return { megabytes, every, at_end: end };
}

/**
 * What counts for its quota in force. One by a schedule has a count of its own, and meanwhile the device's own one stays
 * where it is: so neither gives the other anything, however they begin and end.
 */
export function countOf({ scheduled }: Column<Quota>, id: LimitId): string {
  const quota = scheduled.get(id);
  return quota ? `${quota.every} ${id}` : id;
}

/** Whether more can pass than before. */
function opens(before: Column<Quota>, after: Column<Quota>, id: LimitId): boolean {
  const [former, quotas] = [inForce(before), inForce(after)];
  const isCountNew = countOf(before, id) !== countOf(after, id);
  return leavesShared(former, quotas, id) || allowsMore(former.get(id), quotas.get(id), isCountNew);
}

/** The same once what a schedule gives has ended. */
function opensOwn({ own: former }: Column<Quota>, { own }: Column<Quota>, id: LimitId): boolean {
  return leavesShared(former, own, id) || allowsMore(former.get(id), own.get(id), false);
}

/** Whether it gets a quota beside the one that it has shared, so that more can pass together. A network never shares. */
function leavesShared(before: Column<Quota>["own"], after: Column<Quota>["own"], id: LimitId): boolean {
  if (linkIn(id) !== null) return false;
  const shared = before.get(EVERYBODY_ELSE);
  return !before.has(id) && after.has(id) && shared !== undefined && shared.at_end !== "told";
}

/** Of another count nothing is known to be used. */
function allowsMore(before: Quota | undefined, after: Quota | undefined, isCountNew: boolean): boolean {
  if (before === undefined || before.at_end === "told") return false;
  if (after === undefined || isCountNew || after.megabytes > before.megabytes) return true;
  if (before.every === "month" && after.every === "day") return true;
  const [former, rate] = [rateAtEnd(before), rateAtEnd(after)];
  return (["down", "up"] as const).some(
    (way) => (rate[way] ?? Number.POSITIVE_INFINITY) > (former[way] ?? Number.POSITIVE_INFINITY),
  );
}

function rateAtEnd({ at_end }: Quota): Rate {
  if (at_end === "blocked") return { down: 0, up: 0 };
  return at_end === "told" ? { down: null, up: null } : at_end;
}
