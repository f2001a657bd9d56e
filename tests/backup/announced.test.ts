import { afterEach, expect } from "bun:test";
import { checkedContents } from "../../src/backup/contents.ts";
import { nextTurn } from "../../src/base/queue.ts";
import type { EventMessage } from "../../src/http/event.ts";
import { followMessages } from "../../src/http/messages.ts";
import { routesOf } from "../../src/http/routes.ts";
import { slow } from "../fast.ts";
import { Home } from "../http/home.ts";
import { everything } from "./everything.ts";

const { test } = slow;

const MAY = { replace: true, killswitchOff: true, direct: true };
let home: Home;
afterEach(() => home.stop());

/** Those of pages; of these, nothing depends on who asks, on when, or on what is read first. */
const PATHS = routesOf(false)
  .filter(({ method, path, params }) => method === "get" && path.startsWith("/api/") && params === undefined)
  .map(({ path }) => path)
  .filter(
    (path) =>
      !/self|access|events|history|checks|https|dns\/queries|keypair|page|backup|round-trips|tokens|notifications$/.test(
        path,
      ),
  );

async function answers(): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  for (const path of PATHS) all.set(path, (await home.send("GET", path)).text);
  return all;
}

/** Restores this; returns the paths whose answers it has changed, and those of them of which nobody was told. */
async function restored(contents: unknown) {
  const before = await answers();
  const heard: EventMessage[] = [];
  const ending = new AbortController();
  followMessages(home.parts.events, (message) => heard.push(message), ending.signal);
  await home.parts.liveBackup.restore(await checkedContents(contents), MAY);
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  ending.abort();
  const after = await answers();
  const changed = PATHS.filter((path) => before.get(path) !== after.get(path));
  const told = new Set<string>(heard.flatMap(({ stale }) => stale));
  // Its payload is the answer itself.
  const status = heard.findLast(({ type }) => type === "status_change")?.payload;
  if (Bun.deepEquals(status, JSON.parse(after.get("/api/status") ?? ""))) told.add("/api/status");
  return { changed, untold: changed.filter((path) => !told.has(path)) };
}

test("a restore announces every answer that it changes", async () => {
  home = await Home.start();
  await home.parts.forwards.reload();
  const { changed, untold } = await restored(await everything());
  expect(changed).toContain("/api/settings");
  expect(changed.length).toBeGreaterThan(8);
  expect(untold).toEqual([]);
});

test.each([
  ["limits", JSON.stringify([{ id: "others", rate: { down: 9, up: 9 } }])],
  ["quotas", JSON.stringify([{ id: "others", quota: { megabytes: 100, every: "day" } }])],
  ["default_exit", "blocked"],
  ["direct", "on"],
  ["quantum", '{"main":"on"}'],
  ["last_targets", '{"main":{"targets":[{"provider":"managed","server":"se-1"}]}}'],
])("so does one of %s alone, which nothing else happens to announce", async (key, value) => {
  home = await Home.start();
  const full = await everything();
  const none = { ...full, servers: [], devices: [], tunnels: [] };
  const { changed, untold } = await restored({ ...none, settings: { [key]: value } });
  expect(changed.length).toBeGreaterThan(0);
  expect(untold).toEqual([]);
});
