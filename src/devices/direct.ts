import type { AlertArgs } from "../base/alert-rows.ts";
import type { DeviceId } from "./id.ts";
import { type Decisions, idsOn } from "./record.ts";
import { someOf } from "./title.ts";

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

/** The changes of the exit. */
export function directChanges(before: Decisions, after: Decisions): AlertArgs<"direct_changed">[] {
  // Most changes are of something else.
  if (after.exit === before.exit && after.directAllowed === before.directAllowed) return [];
  const [had, have] = [directIds(before), directIds(after)];
  const joined = have.filter((id) => !had.includes(id));
  const left = had.filter((id) => !have.includes(id));
  const changes: AlertArgs<"direct_changed">[] = [];
  if (after.directAllowed !== before.directAllowed)
    changes.push({ what: after.directAllowed ? "allowed" : "withdrawn" });
  if (joined.length > 0) changes.push({ what: "devices", ...someOf(joined, after) });
  if (left.length > 0) changes.push({ what: "no_devices", ...someOf(left, before) });
  return changes;
}

function directIds(decisions: Decisions): DeviceId[] {
  return idsOn("direct", decisions);
}
