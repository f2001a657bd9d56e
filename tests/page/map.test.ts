import { expect, test } from "bun:test";
import { spotOf } from "../../src/dashboard/map/coordinates.ts";
import { LAND } from "../../src/dashboard/map/land.ts";
import { placesMapOf } from "../../src/dashboard/map/places.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";

const row = (name: string, location: string) => ({ name, location }) as TunnelRow;
const WORLD = [
  "Gothenburg, Sweden",
  "Malmö, Sweden",
  "Tokyo, Japan",
  "Sydney, Australia",
  "Ashburn, VA, USA",
];

test("a place is known by its city, with or without umlauts, and else by its country", () => {
  expect(spotOf("Zürich, Switzerland")).toEqual(spotOf("Zurich"));
  expect(spotOf("Ashburn, VA, USA")).toEqual([39, -77]);
  expect(spotOf("Nowhere, New Zealand")).toEqual([-41, 173]);
  for (const unknown of ["", "box", "Atlantis, Atlantis"]) expect(spotOf(unknown)).toBeNull();
});

test("each place is within the map, and no label lies on another", () => {
  for (const width of [320, 608]) {
    const map = placesMapOf(
      WORLD.map((location, at) => row(`t${at}`, location)),
      width,
    );
    expect(map?.places).toHaveLength(WORLD.length);
    for (const { left, top } of map?.places ?? []) {
      expect(Math.min(left, top)).toBeGreaterThanOrEqual(0);
      expect(Math.max(left, top)).toBeLessThanOrEqual(1);
    }
    const lines = map?.places.flatMap(({ left, top, row }) => (row === null ? [] : `${left} ${top} ${row}`));
    expect(new Set(lines).size).toBe(lines?.length ?? 0);
    expect(lines?.length).toBeGreaterThanOrEqual(width === 608 ? WORLD.length : 3);
  }
});

test("tunnels to one place share its point, and without a known place there is no map", () => {
  const both = [row("main", "Oslo, Norway"), row("tv", "Oslo, Norway"), row("work", "")];
  expect(placesMapOf(both, 320)?.places.map(({ city, tunnels }) => [city, tunnels.length])).toEqual([
    ["Oslo", 2],
  ]);
  expect(placesMapOf([row("work", "")], 320)).toBeNull();
});

test("the outlines are small", () => {
  expect(LAND.length).toBeLessThan(6_000);
});
