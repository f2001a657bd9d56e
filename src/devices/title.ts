import type { DeviceId } from "./id.ts";
import type { Decisions } from "./record.ts";

/** This many are enough to find them in a list. */
const MAX_TITLES = 5;

/** What a network of the LAN is called, and its interface. */
export function networkTitle(link: string, { networks }: Pick<Decisions, "networks">): string {
  const name = networks?.get(link)?.name ?? null;
  return name === null ? link : `${name} (${link})`;
}

/** Some of these devices by name and id, and the number of others. */
export function titlesOf(ids: readonly DeviceId[], names: Pick<Decisions, "name">): string {
  const { devices, more } = someOf(ids, names);
  return more === 0 ? devices : `${devices} and ${more} more`;
}

/** The same, for a sentence in any language. */
export function someOf(
  ids: readonly DeviceId[],
  { name: names }: Pick<Decisions, "name">,
): { devices: string; more: number } {
  const titles = ids.slice(0, MAX_TITLES).map((id) => {
    const name = names.own.get(id) ?? null;
    return name === null ? id : `${name} (${id})`;
  });
  return { devices: titles.join(", "), more: ids.length - titles.length };
}
