import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { listIn, SavedList, savedJson } from "../base/saved.ts";
import { linkIn } from "../shared/network-id.ts";
import { rateText } from "../shared/rates.ts";
import { type Column, inForce, scheduledIn } from "./column.ts";
import { type Field, storedColumn } from "./field.ts";
import { EVERYBODY_ELSE, type LimitId, parseLimitId } from "./id.ts";
import { refused } from "./refusals.ts";
import { Rate } from "./values.ts";

const StoredLimit = objectOf({ id: Type.String(), rate: Rate });
type StoredLimit = Static<typeof StoredLimit>;

/** The limits that people have given devices. */
export const LIMITS = new SavedList<StoredLimit>({
  key: "limits",
  what: "limit",
  /** Anyone on the LAN may give them. */
  max: 1_000,
  maxCharacters: 150,
  entriesIn: (text) =>
    listIn(StoredLimit)(text).flatMap(({ id, rate: { down, up } }) =>
      parseLimitId(id) !== null && !isFree({ down, up }) ? [{ id, rate: { down, up } }] : [],
    ),
  format: (all) => JSON.stringify(all.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  nameOf: ({ id }) => id,
  wordsOf: ({ rate }) => rateText(rate),
});

/** By who has it; null is no rate. */
const SCHEDULED = savedJson(
  "scheduled_rates",
  Type.Record(Type.String(), Type.Union([Rate, Type.Null()])),
  {},
);

/** How fast a device may send and receive. */
export const RATE: Field<Rate> = {
  parse: (given: Rate | null, { isSingle }) => rateIn(isSingle, given),
  effect: (before, after, id) =>
    isHigher(before.own, after.own, id) || isHigher(inForce(before), inForce(after), id)
      ? "loosens"
      : "tightens",
  stored: storedColumn({
    list: LIMITS,
    entryOf: (id, rate) => ({ id, rate }),
    pairOf: ({ id, rate }) => [id as LimitId, rate],
    scheduled: { saved: SCHEDULED, parse: (saved) => scheduledIn(saved, (rate) => !isFree(rate)) },
  }),
};

/** The rate that a client has given for a device or for all others; null is none. */
export function rateIn(isSingle: boolean, rate: Rate | null, field = "rate"): Rate | null {
  if (rate === null) return null;
  assertSingle(isSingle);
  if (isFree(rate)) throw refused("rate_empty", { field });
  return { down: rate.down, up: rate.up };
}

/** Throws if it is no single device, which can have neither rate nor quota. */
export function assertSingle(isSingle: boolean, field = "rate"): void {
  if (!isSingle) throw refused("only_single_devices", { field });
}

function isFree({ down, up }: Rate): boolean {
  return down === null && up === null;
}

/** Whether more can pass than before. A device that leaves the shared limit has a rate beside it; a network never shares. */
function isHigher(before: Column<Rate>["own"], after: Column<Rate>["own"], id: LimitId): boolean {
  const shared = linkIn(id) === null ? EVERYBODY_ELSE : id;
  if (shared !== id && before.has(shared) && !before.has(id) && after.has(id)) return true;
  const [former, rate] = [before, after].map((all) => all.get(id) ?? all.get(shared));
  return (["down", "up"] as const).some(
    (way) => (rate?.[way] ?? Number.POSITIVE_INFINITY) > (former?.[way] ?? Number.POSITIVE_INFINITY),
  );
}
