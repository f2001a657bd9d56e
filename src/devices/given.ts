import { type LimitId, parseLimitId } from "./id.ts";

/** What people have given, and what schedules give for a time, which takes precedence; null is nothing for that time. */
export interface Given<Limit> {
  own: ReadonlyMap<LimitId, Limit>;
  scheduled: ReadonlyMap<LimitId, Limit | null>;
}

/** The same of one of them; `scheduled` is undefined if no schedule gives it anything. */
export interface GivenOne<Limit> {
  own: Limit | null;
  scheduled: Limit | null | undefined;
}

export function inForce<Limit>({ own, scheduled }: Given<Limit>): ReadonlyMap<LimitId, Limit> {
  const all = new Map(own);
  for (const [id, limit] of scheduled)
    if (limit === null) all.delete(id);
    else all.set(id, limit);
  return all;
}

export function oneOf<Limit>({ own, scheduled }: Given<Limit>, id: LimitId): GivenOne<Limit> {
  return { own: own.get(id) ?? null, scheduled: scheduled.get(id) };
}

export function withOne<Limit>(given: Given<Limit>, id: LimitId, one: GivenOne<Limit>): Given<Limit> {
  const [own, scheduled] = [new Map(given.own), new Map(given.scheduled)];
  if (one.own === null) own.delete(id);
  else own.set(id, one.own);
  if (one.scheduled === undefined) scheduled.delete(id);
  else scheduled.set(id, one.scheduled);
  return { own, scheduled };
}

/** What is saved of schedules, without what this version cannot read. */
export function scheduledIn<Limit>(
  saved: Readonly<Record<string, Limit | null>>,
  isValid: (limit: Limit) => boolean,
): ReadonlyMap<LimitId, Limit | null> {
  return new Map(
    Object.entries(saved).flatMap(([text, limit]) => {
      const id = parseLimitId(text);
      return id !== null && (limit === null || isValid(limit)) ? [[id, limit] as const] : [];
    }),
  );
}
