/** Megabits a second to and from a device; null if that way is free. */
export interface Rate {
  readonly down: number | null;
  readonly up: number | null;
}

/** For people: "20 Mbit/s down, 5 Mbit/s up". */
export function rateText({ down, up }: Rate): string {
  if (down !== null && down === up) return `${down} Mbit/s each way`;
  return [
    ...(down === null ? [] : [`${down} Mbit/s down`]),
    ...(up === null ? [] : [`${up} Mbit/s up`]),
  ].join(", ");
}

/** The same for a message, where `ways` says which of the two are given. */
export function rateArgs({ down, up }: Rate): { ways: string; down: number; up: number } {
  const ways = down === up ? "both" : up === null ? "down" : down === null ? "up" : "each";
  return { ways, down: down ?? 0, up: up ?? 0 };
}

/** What a person types: 20 for each way, 20/5 for down and up, `off` for a way without a limit. */
export function parseRate(text: string): Rate | undefined {
  const [down, up, ...rest] = text.split("/").map(megabitsIn);
  const each = { down, up: text.includes("/") ? up : down };
  return each.down === undefined || each.up === undefined || rest.length > 0
    ? undefined
    : { down: each.down, up: each.up };
}

function megabitsIn(text: string): number | null | undefined {
  if (text === "off") return null;
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
}
