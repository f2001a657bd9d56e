import { expect, test } from "bun:test";
import { likeliest } from "../../src/servers/likeness.ts";

const PLACES = ["Sweden", "Switzerland", "Gothenburg", "Oslo", "Unknown", "São Paulo"];

test.each([
  ["swedn", "Sweden"],
  ["SWEDEN", "Sweden"],
  ["Swizerland", "Switzerland"],
  ["gotenburg", "Gothenburg"],
  ["sao paulo", "São Paulo"],
  ["olso", null],
  ["Osl", null],
  ["Oslo1", "Oslo"],
  ["unknwn", null],
  ["France", null],
  ["", null],
  ["x".repeat(64), null],
])("%p is probably %p", (typed, meant) => expect(likeliest(typed, PLACES)).toBe(meant));
