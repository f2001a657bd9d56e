import { type Decisions, idsOn } from "./assignments.ts";
import type { DeviceId } from "./id.ts";
import { titlesOf } from "./title.ts";

/** The operator's view of the exit `direct`. */
export interface Direct {
  allowed: boolean;
  /** The devices that have it. */
  devices: { id: string; name: string | null }[];
}

/** The decisions with `direct` allowed, or without it and with the default exit for all devices that had it. */
export function withDirect(decisions: Decisions, allowed: boolean): Decisions {
  if (allowed) return { ...decisions, directAllowed: true };
  const assigned = new Map(decisions.assigned);
  for (const id of directIds(decisions)) {
    const name = assigned.get(id)?.name ?? null;
    if (name === null) assigned.delete(id);
    else assigned.set(id, { name, exit: null });
  }
  return { ...decisions, assigned, directAllowed: false };
}

export function directIn(decisions: Decisions): Direct {
  const devices = directIds(decisions).map((id) => ({ id, name: decisions.assigned.get(id)?.name ?? null }));
  return { allowed: decisions.directAllowed, devices };
}

/** The changes of the exit, in sentences for people; null if there are none. */
export function directChange(before: Decisions, after: Decisions): string | null {
  const [had, have] = [directIds(before), directIds(after)];
  const joined = have.filter((id) => !had.includes(id));
  const left = had.filter((id) => !have.includes(id));
  const sentences = [
    ...(after.directAllowed === before.directAllowed ? [] : [ALLOWED[after.directAllowed ? "on" : "off"]]),
    ...(joined.length === 0 ? [] : [`Now direct, outside the tunnel: ${titlesOf(joined, after)}.`]),
    ...(left.length === 0 ? [] : [`No longer direct: ${titlesOf(left, before)}.`]),
  ];
  return sentences.length === 0 ? null : sentences.join(" ");
}

const ALLOWED = {
  on: "The exit direct is allowed now: devices that are given it leave outside the tunnel.",
  off: "The exit direct is no longer allowed.",
};

function directIds(decisions: Decisions): DeviceId[] {
  return idsOn("direct", decisions);
}
