import { expect, test } from "bun:test";
import { placeIn } from "../../src/shared/place-guess.ts";

test("a server's place is told by a code, a city or a country in the name of its file, as providers write them", () => {
  for (const [name, place] of [
    ["se-got-wg-001", "Gothenburg, Sweden"],
    ["us-nyc-wg-301", "New York, USA"],
    ["wg-SE-12", "Sweden"],
    ["nl-free-01", null],
    ["NL-FREE-01", "Netherlands"],
    ["us12", "USA"],
    ["uk-2", "UK"],
    ["gothenburg", "Gothenburg, Sweden"],
    ["azirevpn-newyork-1", "New York, USA"],
    ["Zürich", "Zurich, Switzerland"],
    ["my provider New-Zealand", "New Zealand"],
    ["papua-new-guinea", "Papua New Guinea"],
  ] as const)
    expect([name, placeIn(name)]).toEqual([name, place]);
});

test("a word that only looks like a country's code is none", () => {
  for (const name of [
    "wg0",
    "my-home",
    "is-this",
    "in",
    "no-ads",
    "to work",
    "home",
    "tv",
    "work-de",
    "xx-1",
  ])
    expect([name, placeIn(name)]).toEqual([name, null]);
});
