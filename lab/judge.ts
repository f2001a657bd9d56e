import type { Sighting } from "./sightings.ts";

/** Where each device's packets may leave, by the numbers that they carry. */
export class Judge {
  /** Of each device, in order: from this number on, its packets may be seen at these places only. */
  private readonly rulings = new Map<number, { from: number; places: readonly string[] }[]>();

  /** The device's packets after that number may be seen at these places, or nowhere. */
  rule(device: number, after: number, places: Iterable<string>): void {
    const rulings = this.rulings.get(device) ?? [];
    rulings.push({ from: after + 1, places: [...new Set(places)].sort() });
    this.rulings.set(device, rulings);
  }

  /** What was seen where it may not be, a line for each kind. */
  wrong(sightings: readonly Sighting[]): string[] {
    const wrong = sightings.flatMap((sighting) => {
      const may = this.placesOf(sighting);
      return may.includes(sighting.place) ? [] : [{ ...sighting, may: may.join(" or ") || "no place" }];
    });
    const kinds = Map.groupBy(
      wrong,
      ({ device, kind, place, may }) => `leak: device ${device}, ${kind}, at ${place} instead of ${may}`,
    );
    return [...kinds].map(
      ([title, { length, 0: first }]) => `${title}: ${length}, the first is ${first?.number}`,
    );
  }

  private placesOf({ device, number }: Sighting): readonly string[] {
    return this.rulings.get(device)?.findLast(({ from }) => from <= number)?.places ?? [];
  }
}
