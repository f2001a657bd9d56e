import type { Sighting } from "./sightings.ts";

interface Ruling {
  from: number;
  places: readonly string[];
  questions: readonly string[];
  lines: readonly string[];
}

/** Where each device's packets may leave, by the numbers that they carry. */
export class Judge {
  /** Of each device, in order: from this number on, its packets may be seen at these places only. */
  private readonly rulings = new Map<number, Ruling[]>();

  /**
   * The device's packets, its questions for names, and what it writes to its connection, after that number may be seen at
   * these places, or nowhere.
   */
  rule(
    device: number,
    after: number,
    places: Iterable<string>,
    questions: Iterable<string> = [...places],
    lines: Iterable<string> = [...places],
  ): void {
    const rulings = this.rulings.get(device) ?? [];
    const ordered = (all: Iterable<string>) => [...new Set(all)].sort();
    rulings.push({
      from: after + 1,
      places: ordered(places),
      questions: ordered(questions),
      lines: ordered(lines),
    });
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

  private placesOf({ device, number, kind }: Sighting): readonly string[] {
    const ruling = this.rulings.get(device)?.findLast(({ from }) => from <= number);
    return (kind === "d" ? ruling?.questions : kind === "t" ? ruling?.lines : ruling?.places) ?? [];
  }
}
