import { expect, test } from "bun:test";
import { placesTextOf } from "../../src/cli/servers.ts";

test("places are spelled as connect takes them: an ambiguous city with its country, and no unknown places", () => {
  const servers = {
    "Costa Rica": { "San Jose": [] },
    Luxembourg: { Luxembourg: [] },
    USA: { Miami: [], "San Jose": [] },
    Unknown: { Unknown: [] },
  };
  expect(placesTextOf({ servers, provider: "managed" }).split("\n")).toEqual([
    "Costa Rica",
    "Luxembourg",
    "USA",
    "San Jose, Costa Rica",
    "Miami",
    "San Jose, USA",
    "",
  ]);
});
