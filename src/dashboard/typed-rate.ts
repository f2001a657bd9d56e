import type { Rate } from "../devices/values.ts";

/** What a person has typed for each way. Empty is no limit. */
export interface RateTyped {
  down: string;
  up: string;
}

export function typedOf(rate: Rate | undefined): RateTyped {
  return { down: `${rate?.down ?? ""}`, up: `${rate?.up ?? ""}` };
}

export function rateIn({ down, up }: RateTyped): Rate {
  return { down: megabitsIn(down), up: megabitsIn(up) };
}

/** The same; null if both ways are free. */
export function limitIn(typed: RateTyped): Rate | null {
  const rate = rateIn(typed);
  return rate.down === null && rate.up === null ? null : rate;
}

function megabitsIn(text: string): number | null {
  return text === "" ? null : Number(text);
}
