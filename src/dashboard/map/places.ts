import type { TunnelRow } from "../../tunnel/schema.ts";
import { spotOf } from "./coordinates.ts";

/** Where a tunnel leads, or several of them. */
export interface MapPlace {
  city: string;
  tunnels: readonly TunnelRow[];
  /** Parts of the map's width and height. */
  left: number;
  top: number;
  /** Whether its label is before its point, and not after it. */
  isBefore: boolean;
  /** How many lines its label is below its point, so that it lies on no other; null if there is no room. */
  row: number | null;
}

export interface PlacesMap {
  viewBox: string;
  places: readonly MapPlace[];
}

/** How wide the map is for its height. */
export const ASPECT = 2.1;
/** In the units of the outlines: some 24 degrees, so that one place is shown with the countries around it. */
const LEAST_HEIGHT = 340;
const STRETCH = 1 / Math.cos(Math.PI / 4);
const LINE_PX = 24;
const LETTER_PX = 7.5;
const POINT_PX = 12;
/** Nearest first. */
const ROWS = [0, 1, -1, 2, -2];

/** The part of the world that the tunnels lead to, on a map of this width; null while no place is known. */
export function placesMapOf(tunnels: readonly TunnelRow[], widthPx: number): PlacesMap | null {
  const located = [...Map.groupBy(tunnels, locationOf)].flatMap(([location, of]) => {
    const spot = spotOf(location);
    if (spot === null) return [];
    const [latitude, longitude] = spot;
    return [
      { city: location.split(",")[0] ?? "", tunnels: of, x: longitude * 10, y: latitude * -10 * STRETCH },
    ];
  });
  if (located.length === 0) return null;
  const [x, y] = [spanOf(located.map((each) => each.x)), spanOf(located.map((each) => each.y))];
  const height = Math.max(LEAST_HEIGHT, y.length * 2, (x.length * 1.8) / ASPECT);
  const width = height * ASPECT;
  const [x0, y0] = [x.middle - width / 2, y.middle - height / 2];
  const places = located
    .map(({ city, tunnels, x, y }) => ({ city, tunnels, left: (x - x0) / width, top: (y - y0) / height }))
    .sort((one, other) => one.top - other.top || one.left - other.left);
  return { viewBox: [x0, y0, width, height].map(Math.round).join(" "), places: labelled(places, widthPx) };
}

/** While it moves, the one that still carries its traffic. */
function locationOf({ location, carrying }: TunnelRow): string {
  return carrying?.location ?? location;
}

function spanOf(all: readonly number[]): { middle: number; length: number } {
  const [least, most] = [Math.min(...all), Math.max(...all)];
  return { middle: (least + most) / 2, length: most - least };
}

interface Box {
  from: number;
  to: number;
  y: number;
}

function labelled(places: readonly Omit<MapPlace, "isBefore" | "row">[], widthPx: number): MapPlace[] {
  const heightPx = widthPx / ASPECT;
  const taken: Box[] = places.map(({ left, top }) => ({
    from: left * widthPx - POINT_PX / 2,
    to: left * widthPx + POINT_PX / 2,
    y: top * heightPx,
  }));
  const isFree = ({ from, to, y }: Box) =>
    from >= 0 &&
    to <= widthPx &&
    y > LINE_PX / 2 &&
    y < heightPx - LINE_PX / 2 &&
    taken.every((other) => other.to < from || other.from > to || Math.abs(other.y - y) >= LINE_PX);
  return places.map((place) => {
    const [x, y] = [place.left * widthPx, place.top * heightPx];
    const length = [place.city, ...place.tunnels.map(({ name }) => name)].join(", ").length * LETTER_PX;
    const boxAt = ({ isBefore, row }: { isBefore: boolean; row: number }) => {
      const from = isBefore ? x - POINT_PX - length : x + POINT_PX;
      return { from, to: from + length, y: y + row * LINE_PX };
    };
    const spot = ROWS.flatMap((row) => [false, true].map((isBefore) => ({ isBefore, row }))).find((each) =>
      isFree(boxAt(each)),
    );
    if (spot === undefined) return { ...place, isBefore: x > widthPx / 2, row: null };
    taken.push(boxAt(spot));
    return { ...place, ...spot };
  });
}
