import type { DeviceId } from "./id.ts";
import { type Decisions, idsOn } from "./record.ts";
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
  const own = new Map(decisions.exit.own);
  for (const id of directIds(decisions)) own.delete(id);
  return { ...decisions, exit: { ...decisions.exit, own }, directAllowed: false };
}

export function directIn(decisions: Decisions): Direct {
  const devices = directIds(decisions).map((id) => ({ id, name: decisions.name.own.get(id) ?? null }));
  return { allowed: decisions.directAllowed, devices };
}

/** The changes of the exit, in sentences for people; null if there are none. */
export function directChange(before: Decisions, after: Decisions): string | null {
  // Most changes are of something else.
  if (after.exit === before.exit && after.directAllowed === before.directAllowed) return null;
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
