import { type LimitId, parseLimitId } from "./id.ts";

/**
 * One field of all devices, and of all others: what people have given, and over it what schedules give for a time;
 * null is nothing for that time.
 */
export interface Column<Value> {
  own: ReadonlyMap<LimitId, Value>;
  scheduled: ReadonlyMap<LimitId, Value | null>;
}

/** The same of one of them; `scheduled` is undefined if no schedule gives it anything. */
export interface Overridable<Value> {
  own: Value | null;
  scheduled: Value | null | undefined;
}

export function inForce<Value>({ own, scheduled }: Column<Value>): ReadonlyMap<LimitId, Value> {
  const all = new Map(own);
  for (const [id, value] of scheduled)
    if (value === null) all.delete(id);
    else all.set(id, value);
  return all;
}

export function oneOf<Value>({ own, scheduled }: Column<Value>, id: LimitId): Overridable<Value> {
  return { own: own.get(id) ?? null, scheduled: scheduled.get(id) };
}

/** The same object if it has that already. */
export function withOne<Value>(given: Column<Value>, id: LimitId, one: Overridable<Value>): Column<Value> {
  if (Bun.deepEquals(oneOf(given, id), one)) return given;
  const [own, scheduled] = [new Map(given.own), new Map(given.scheduled)];
  if (one.own === null) own.delete(id);
  else own.set(id, one.own);
  if (one.scheduled === undefined) scheduled.delete(id);
  else scheduled.set(id, one.scheduled);
  return { own, scheduled };
}

/** Who has something else in the second. */
export function changedIn(before: Column<unknown>, after: Column<unknown>): LimitId[] {
  if (before === after) return [];
  const ids = [before, after].flatMap(({ own, scheduled }) => [...own.keys(), ...scheduled.keys()]);
  return [...new Set(ids)].filter((id) => !Bun.deepEquals(oneOf(before, id), oneOf(after, id)));
}

/** What is saved of schedules, without what this version cannot read. */
export function scheduledIn<Value>(
  saved: Readonly<Record<string, Value | null>>,
  isValid: (value: Value) => boolean,
): ReadonlyMap<LimitId, Value | null> {
  return new Map(
    Object.entries(saved).flatMap(([text, value]) => {
      const id = parseLimitId(text);
      return id !== null && (value === null || isValid(value)) ? [[id, value] as const] : [];
    }),
  );
}
