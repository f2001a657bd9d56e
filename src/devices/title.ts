import type { Decisions } from "./assignments.ts";
import type { DeviceId } from "./id.ts";

/** This many are enough to find them in a list. */
const MAX_TITLES = 5;

/** Some of these devices by name and id, and the number of others. */
export function titlesOf(ids: readonly DeviceId[], { assigned }: Pick<Decisions, "assigned">): string {
  const titles = ids.slice(0, MAX_TITLES).map((id) => {
    const name = assigned.get(id)?.name ?? null;
    return name === null ? id : `${name} (${id})`;
  });
  const rest = ids.length > MAX_TITLES ? ` and ${ids.length - MAX_TITLES} more` : "";
  return `${titles.join(", ")}${rest}`;
}
