import { afterEach, expect, test } from "bun:test";
import { checkedContents } from "../../src/backup/contents.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { type EventMessage, messageOf } from "../../src/http/event.ts";
import { routesOf } from "../../src/http/routes.ts";
import { Home } from "../http/home.ts";
import { everything } from "./everything.ts";

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

test("a restore announces every answer that it changes", async () => {
  home = await Home.start();
  const given = await checkedContents(await everything());
  const { parts } = home;
  await parts.forwards.load();
  const before = await answers();
  const heard: EventMessage[] = [];
  parts.events.subscribe((event) => heard.push(messageOf(event)));
  await parts.liveBackup.restore(given, MAY);
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  const after = await answers();
  const changed = PATHS.filter((path) => before.get(path) !== after.get(path));
  const told = new Set<string>(heard.flatMap(({ stale }) => stale));
  // Its payload is the answer itself.
  expect(heard.findLast(({ type }) => type === "status_change")?.payload).toEqual(
    JSON.parse(after.get("/api/status") ?? ""),
  );
  told.add("/api/status");
  expect(changed).toContain("/api/settings");
  expect(changed.length).toBeGreaterThan(8);
  expect(changed.filter((path) => !told.has(path))).toEqual([]);
});
