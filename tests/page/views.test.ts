import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { VIEWS } from "../rig/dashboard/views.ts";

const LIST = join(import.meta.dir, "../../src/dashboard/views/list.ts");

test("the browser tests look at each view of the page", () => {
  const views = readFileSync(LIST, "utf8").matchAll(/\{ route: "(.*?)", title: say\("(.*?)"\), Content/g);
  const titles = Object.fromEntries([...views].map(([, route = "", title]) => [route, title]));
  expect(titles).toEqual(VIEWS);
});

test("each address that a page had once leads to the same view", () => {
  // Of the twelve entries that the navigation had, and of the first run. In bookmarks, in the manifest, and in the docs.
  const former = [
    "",
    "account",
    "checks",
    "destinations",
    "devices",
    "history",
    "log",
    "remote",
    "schedules",
  ];
  expect(Object.keys(VIEWS)).toEqual(
    expect.arrayContaining([...former, "servers", "settings", "setup", "tunnels"]),
  );
});
