import { expect, test } from "bun:test";
import { detailOf, pathTo, routeOf } from "../../src/dashboard/hash.ts";

test.each([
  ["", "", ""],
  ["#/", "", ""],
  ["#/devices", "devices", ""],
  ["#/devices?x", "devices", ""],
  ["#devices/02:00:00:00:00:10", "devices", "02:00:00:00:00:10"],
  ["#/devices/02%3A00%3A00%3A00%3A00%3A10?x", "devices", "02:00:00:00:00:10"],
  ["#/devices/%", "devices", "%"],
])("the address %p leads to the view %p, and there to %p", (hash, route, detail) => {
  expect([routeOf(hash), detailOf(hash)]).toEqual([route, detail]);
});

test("a link to a detail leads there", () => {
  const hash = `#/${pathTo("tunnels", "a/b?c")}`;
  expect([routeOf(hash), detailOf(hash)]).toEqual(["tunnels", "a/b?c"]);
});
