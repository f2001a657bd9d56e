import type { DeviceId } from "./id.ts";
import type { Decisions } from "./record.ts";

/** This many are enough to find them in a list. */
const MAX_TITLES = 5;

/** Some of these devices by name and id, and the number of others. */
export function titlesOf(ids: readonly DeviceId[], { name: names }: Pick<Decisions, "name">): string {
  const titles = ids.slice(0, MAX_TITLES).map((id) => {
    const name = names.own.get(id) ?? null;
    return name === null ? id : `${name} (${id})`;
  });
  const rest = ids.length > MAX_TITLES ? ` and ${ids.length - MAX_TITLES} more` : "";
  return `${titles.join(", ")}${rest}`;
}
