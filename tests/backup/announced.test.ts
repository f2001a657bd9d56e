import { afterEach, expect, test } from "bun:test";
import { type Contents, checkedContents } from "../../src/backup/contents.ts";
import { opened } from "../../src/backup/envelope.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { type EventMessage, messageOf } from "../../src/http/event.ts";
import { routesOf } from "../../src/http/routes.ts";
import { Home } from "../http/home.ts";
import { PRIVATE, PUBLIC } from "../servers/example.ts";

const MAY = { replace: true, killswitchOff: true, direct: true };
const TV = "02:00:00:00:00:20";
let home: Home;
afterEach(() => home.stop());

/** What the golden backup does not have yet. */
const MORE: Record<string, string> = {
  failover: "on",
  autoconnect: "off",
  quality: "on, every 20 s, slow from 200 ms, lossy from 5 %",
  line: "100 Mbit/s down, 20 up",
  time_zone: "Pacific/Auckland",
  quantum: '{"main":"on"}',
  last_targets: '{"amsterdam":{"targets":[{"provider":"managed","server":"se-1"}]}}',
  destinations: JSON.stringify([
    { id: "3f9a1c", names: ["a.example"], prefixes: [], devices: [], exit: "blocked", note: "" },
  ]),
  dns_lists: JSON.stringify({ lists: [{ url: "https://a.example/" }], exceptions: ["b.example"] }),
  limits: JSON.stringify([
    { id: TV, rate: { down: 5, up: null } },
    { id: "others", rate: { down: 9, up: 9 } },
  ]),
  quotas: JSON.stringify([{ id: TV, quota: { megabytes: 100, every: "day" } }]),
  remote: JSON.stringify({
    ...{ on: false, port: 51_820, endpoint: null, through: null },
    ...{ ipv4: "10.128.0.0/24", ipv6: "fd00:1:2:3::/64" },
  }),
  remote_key: PRIVATE,
  remote_devices: JSON.stringify([
    { id: "10.128.0.2/32", public_key: PUBLIC, preshared_key: PRIVATE, lan: true },
  ]),
};

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
  const golden = await Bun.file(`${import.meta.dir}/golden/full.backup`).text();
  const full = (await opened(golden, async () => "")) as Contents;
  const given = await checkedContents({ ...full, settings: { ...full.settings, ...MORE } });
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
