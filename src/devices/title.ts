import type { DeviceId } from "./id.ts";
import type { Decisions } from "./record.ts";

/** This many are enough to find them in a list. */
const MAX_TITLES = 5;

/** Some of these devices by name and id, and the number of others. */
export function titlesOf(
  ids: readonly DeviceId[],
  names: Pick<Decisions, "name">,
): { devices: string; more: number } {
  const devices = ids.slice(0, MAX_TITLES).map((id) => titleOf(id, names));
  return { devices: devices.join(", "), more: Math.max(0, ids.length - MAX_TITLES) };
}

/** One by name and id. */
export function titleOf(id: DeviceId, { name: names }: Pick<Decisions, "name">): string {
  const name = names.own.get(id) ?? null;
  return name === null ? id : `${name} (${id})`;
}
