import SPOTS from "./spots.json";

/** Latitude and longitude in whole degrees, which is enough for a map of this size. */
export type Spot = readonly [latitude: number, longitude: number];

/**
 * Where a place is: by its city, or else in the middle of its country; null if neither is known. Lists of servers write
 * "Gothenburg, Sweden" and "Ashburn, VA, USA".
 */
export function spotOf(location: string): Spot | null {
  const words = location.split(",").map((word) => plain(word.trim()));
  const [latitude, longitude] = spots.get(words[0] ?? "") ?? spots.get(words.at(-1) ?? "") ?? [];
  return latitude === undefined || longitude === undefined ? null : [latitude, longitude];
}

/** Umlauts are written or not: "Zürich". */
function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** By plain names of countries and cities. */
const spots: ReadonlyMap<string, readonly number[]> = new Map(Object.entries(SPOTS));
