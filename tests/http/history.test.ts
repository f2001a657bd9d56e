import { afterEach, beforeEach, expect } from "bun:test";
import type { HistoryPage } from "../../src/history/schema.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const MINUTE_MS = 60_000;
const TV = "02:00:00:00:00:20";

let home: Home;
let stopping: AbortController;
beforeEach(async () => {
  home = await Home.start();
  stopping = new AbortController();
  const { history, tunnels, devices } = home.parts;
  void history.watch({ tunnels: () => tunnels.all(), devices }, stopping.signal);
  await home.pass(0);
});
afterEach(async () => {
  stopping.abort();
  await home.stop();
});

const read = async (query = ""): Promise<HistoryPage> => {
  const { status, json, text } = await home.send("GET", `/api/history${query}`);
  if (status !== 200) throw new Error(text);
  return json;
};
const timeOf = (ms: number) => new Date(ms).toISOString();

/** The tunnel is connected, and in the minute after it the TV has carried something. */
async function carry(): Promise<number> {
  await home.connect();
  const { host, parts } = home;
  await host.pass(MINUTE_MS - (host.now() % MINUTE_MS));
  const minute = host.now();
  parts.history.note("tunnel", "main", { rx: 2_000_000, tx: 100_000 });
  parts.history.note("device", TV, { rx: 1_900_000, tx: 90_000 });
  await host.pass(MINUTE_MS);
  return minute;
}

test("what was carried, by whom, the states and the alerts of the last hour", async () => {
  const minute = await carry();
  home.parts.alerts.raise("firewall_altered", { what: "altered" });
  const page = await read();
  const [{ name: _, ...bytes } = { name: "", rx_bytes: 0, tx_bytes: 0 }] = page.tunnels;
  // With the handshake.
  expect([bytes.rx_bytes, bytes.tx_bytes]).toEqual([
    expect.closeTo(2_000_000, -3),
    expect.closeTo(100_000, -3),
  ]);
  const tv = { rx_bytes: 1_900_000, tx_bytes: 90_000 };
  const now = home.host.now();
  expect(page).toEqual({
    kept: true,
    resolution: "minute",
    from: timeOf(Math.floor((now - 3_600_000) / MINUTE_MS) * MINUTE_MS),
    to: timeOf(Math.ceil(now / MINUTE_MS) * MINUTE_MS),
    points: [{ at: timeOf(minute), ...bytes }],
    quality: [],
    off: [{ from: timeOf(Math.floor((now - 3_600_000) / MINUTE_MS) * MINUTE_MS), until: expect.any(String) }],
    tunnels: [{ name: "main", ...bytes }],
    devices: [{ id: TV, ...tv }],
    states: [
      {
        ...{ tunnel: "main", state: "connected", server: "se-1", location: "Stockholm, Sweden" },
        ...{ error: null, from: expect.any(String), until: null },
      },
    ],
    alerts: [
      {
        at: expect.any(String),
        code: "firewall_altered",
        args: { what: "altered" },
        message: "Another program has altered the firewall's table.",
      },
    ],
    more: false,
  });
  expect((await read(`?device=${TV.toUpperCase()}`)).points).toEqual([{ at: timeOf(minute), ...tv }]);
  expect((await read("?tunnel=main&resolution=hour")).points).toEqual([
    { at: timeOf(Math.floor(minute / 3_600_000) * 3_600_000), ...bytes },
  ]);
  expect(await read("?tunnel=other")).toMatchObject({ points: [], states: [] });
});

test("an outage is a state with its time and its cause, also one that began before the range", async () => {
  await home.connect();
  const journal = home.parts.journal;
  const change = (state: "connected" | "reconnecting" | "disconnected", error: string | null = null) =>
    journal.add({ type: "tunnel_state", tunnel: "main", state, server: "se-1", location: "", error });
  const begin = home.host.now();
  change("reconnecting", "the server does not answer");
  await home.pass(2 * 3_600_000);
  change("connected");
  // After a restart of the service.
  change("connected");
  await home.pass(10 * MINUTE_MS);
  change("disconnected");
  const { states } = await read();
  expect(states.map(({ state, error, from, until }) => [state, error, from, until])).toEqual([
    ["reconnecting", "the server does not answer", timeOf(begin), timeOf(begin + 2 * 3_600_000)],
    ["connected", null, timeOf(begin + 2 * 3_600_000), expect.any(String)],
    ["disconnected", null, expect.any(String), null],
  ]);
  const wide = await read(`?from=${timeOf(begin - 86_400_000)}`);
  expect(wide.resolution).toBe("hour");
  expect(wide.states.map(({ state }) => state)).toEqual([
    "connected",
    "reconnecting",
    "connected",
    "disconnected",
  ]);
});

test("the answer is not sent again to a client that has it", async () => {
  await carry();
  const range = "/api/history?from=2023-11-14T00:00Z&to=2023-11-15T00:00Z";
  const first = await home.send("GET", range);
  const etag = first.headers.get("etag") ?? "";
  const again = await home.send("GET", range, "", { "If-None-Match": etag });
  expect([first.status, again.status, again.text]).toEqual([200, 304, ""]);
});

test("a device that is forgotten has no history, even one that is no longer known", async () => {
  await carry();
  const forget = () => home.send("DELETE", `/api/devices/${TV}`);
  expect((await forget()).status).toBe(200);
  expect((await read()).devices).toEqual([]);
  expect((await forget()).status).toBe(404);
});

test.each([
  ["?from=yesterday", "from must be like 2026-03-01T18:00Z (ISO 8601 in UTC; an hour before"],
  ["?from=2024-02-30T00:00Z", "from: there is no such time"],
  ["?to=2023-02-29T24:00Z", "to: there is no such time"],
  ["?from=2026-13-01T00:00Z", "from"],
  ["?from=2023-11-15T00:00Z&to=2023-11-14T00:00Z", "from"],
  ["?resolution=second", "resolution"],
  ["?tunnel=main&device=02:00:00:00:00:20", "device"],
  ["?hours=3", "hours"],
])("a wrong question is refused with the field's name: %s", async (query, field) => {
  const { status, json } = await home.send("GET", `/api/history${query}`);
  expect(status).toBe(400);
  expect(json.error).toContain(field);
});

test("quality is that of the tunnel, of main without one, or of the uplink, and never of a device", async () => {
  const { tunnels } = home.parts;
  await home.connect();
  await home.host.pass(MINUTE_MS - (home.host.now() % MINUTE_MS));
  for (const ms of [20, 30, null, 25]) tunnels.main.quality.quality.add(ms);
  for (const ms of [1, 3]) tunnels.uplink.quality.add(ms);
  const minute = home.host.now();
  home.parts.history.note("tunnel", "main", { rx: 2_000_000, tx: 100_000 });
  await home.host.pass(MINUTE_MS);
  const main = [{ at: timeOf(minute), round_trip_ms: 25, variation_ms: 5, loss_percent: 25 }];
  const uplink = [{ at: timeOf(minute), round_trip_ms: 2, variation_ms: 1, loss_percent: 0 }];
  expect((await read()).quality).toEqual(main);
  expect((await read("?tunnel=main")).quality).toEqual(main);
  expect((await read("?uplink=true")).quality).toEqual(uplink);
  expect((await read("?tunnel=other")).quality).toEqual([]);
  expect((await read(`?device=${TV}`)).quality).toEqual([]);
  const hour = (await read("?resolution=hour&uplink=true")).quality;
  expect(hour.map(({ at: _, ...figures }) => figures)).toEqual(
    uplink.map(({ at: _, ...figures }) => figures),
  );
  for (const other of ["tunnel=main", `device=${TV}`])
    expect((await home.send("GET", `/api/history?uplink=true&${other}`)).status).toBe(400);
});
