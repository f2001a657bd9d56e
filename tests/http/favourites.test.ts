import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { BODY, PUBLIC } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** As many servers as nobody remembers, in two cities. */
const MANY = Array.from({ length: 120 }, (_, index) => ({
  hostname: `se-${index + 1}`,
  country: "Sweden",
  city: index % 2 === 0 ? "Stockholm" : "Gothenburg",
  ipv4: `192.0.2.${index + 1}`,
  port: 51820,
  public_key: index === 0 ? PUBLIC : Buffer.alloc(32, index + 1).toString("base64"),
}));

let home: Home;
beforeEach(async () => {
  home = await Home.listing(MANY);
});
afterEach(() => home.stop());

const SUCCESS = { status: 200, text: '{"success":true}' };
const refused = (status: number, error: string) => ({
  status,
  text: JSON.stringify({ success: false, error }),
});
const put = async (path: string) => outcome(await home.send("PUT", `/api/favourites/${path}`));
const remove = async (path: string) => outcome(await home.send("DELETE", `/api/favourites/${path}`));
const outcome = ({ status, text }: { status: number; text: string }) => ({ status, text });
const list = async () => (await home.send("GET", "/api/favourites")).json;
const names = async () => (await list()).favourites.map(({ server }: { server: string }) => server);

test("favourites are those of all providers, each once, in the order in which they were added", async () => {
  expect(await list()).toEqual({ favourites: [], recent: [] });
  home.parts.catalogue.addCustom({ ...BODY, name: "Zuhause & Büro?" });
  const own = `custom/${encodeURIComponent("Zuhause & Büro?")}`;
  for (const path of ["managed/se-2", own, "managed/se-1", "managed/se-2", own])
    expect(await put(path)).toEqual(SUCCESS);
  expect((await list()).favourites).toEqual([
    { provider: "managed", server: "se-2" },
    { provider: "custom", server: "Zuhause & Büro?" },
    { provider: "managed", server: "se-1" },
  ]);
  for (const path of ["managed/se-2", "managed/se-2", own]) expect(await remove(path)).toEqual(SUCCESS);
  expect(await names()).toEqual(["se-1"]);
});

const UNKNOWN = "server: there is no server of this name among the VPN account's servers";
const PROVIDER = "provider must be managed, custom or imported";

test.each([
  ["managed/se-999", 404, UNKNOWN],
  ["managed/__proto__", 404, UNKNOWN],
  ["custom/se-1", 404, "server: there is no server of this name among your own servers"],
  ["other/se-1", 400, PROVIDER],
  ["__proto__/se-1", 400, PROVIDER],
  ["managed/%20se-1", 400, "server: begins or ends with white space"],
])("PUT and DELETE /api/favourites/%s are refused with %i", async (path, status, error) => {
  expect(await put(path)).toEqual(refused(status, error));
  expect(await remove(path)).toEqual(refused(status, error));
  expect(await names()).toEqual([]);
});

test("a removed server is no favourite any more, also if another one gets its name", async () => {
  home.parts.catalogue.addCustom(BODY);
  await put("custom/home");
  await put("managed/se-1");
  await home.send("DELETE", "/api/custom/remove/home");
  expect(await names()).toEqual(["se-1"]);
  home.parts.catalogue.addCustom(BODY);
  expect(await names()).toEqual(["se-1"]);
});

test("a managed server that its list lacks for a while is not shown, and stays a favourite", async () => {
  await put("managed/se-1");
  const { managed } = home.parts.catalogue;
  const { host, store } = home.parts;
  await home.parts.catalogue.reloadManaged(host, "/etc/missing.json", store);
  expect([managed.listed(), await list()]).toEqual([[], { favourites: [], recent: [] }]);
  expect(await put("managed/se-2")).toEqual(refused(404, UNKNOWN));
  await home.parts.catalogue.reloadManaged(host, "/etc/servers.json", store);
  expect(await names()).toEqual(["se-1"]);
});

test("there are a hundred favourites at most; one that no longer exists makes room", async () => {
  for (let number = 1; number <= 100; number++) expect(await put(`managed/se-${number}`)).toEqual(SUCCESS);
  const full = "server: there are 100 favourites, the maximum; remove one first";
  expect(await put("managed/se-101")).toEqual(refused(400, full));
  expect(await put("managed/se-100")).toEqual(SUCCESS);
  const others = MANY.filter(({ hostname }) => hostname !== "se-7");
  await home.relist(others);
  expect(await put("managed/se-101")).toEqual(SUCCESS);
  expect(await names()).toHaveLength(100);
}, 180_000);

test("a database that has something else in their place has none", async () => {
  for (const value of ["", "{}", "null", '[{"provider":"managed"}]', '[{"provider":"x","server":"se-1"}]']) {
    home.parts.store.write("favourites", value);
    expect(await names()).toEqual([]);
  }
  expect(await put("managed/se-1")).toEqual(SUCCESS);
  expect(await names()).toEqual(["se-1"]);
});

test("recent servers are the last ten that main was connected to, the latest first, each once", async () => {
  for (let number = 1; number <= 12; number++) await home.connect(`se-${number}`);
  await home.connect("se-5");
  await home.send("PUT", "/api/tunnels/tv", '{"server":"se-20"}');
  const { recent } = await list();
  const at = expect.stringMatching(/^2023-11-14T22:\d\d:\d\d\.\d{3}Z$/);
  expect(recent).toEqual(
    [5, 12, 11, 10, 9, 8, 7, 6, 4, 3].map((number) => ({ provider: "managed", server: `se-${number}`, at })),
  );
  const dates = recent.map((each: { at: string }) => each.at);
  expect(dates).toEqual(dates.toSorted().reverse());
  await home.send("POST", "/api/disconnect");
  expect((await list()).recent).toEqual(recent);
}, 180_000);

test("measured round trips are listed, the shortest first, for ten minutes", async () => {
  const trips = async () => (await home.send("GET", "/api/round-trips")).json.round_trips;
  expect(await trips()).toEqual([]);
  for (const [index, { ipv4 }] of MANY.entries()) home.host.roundTrips.set(ipv4, 20 + index);
  await home.connect("Stockholm");
  const found = await trips();
  expect(found).toHaveLength(5);
  expect(found[0]).toEqual({
    provider: "managed",
    server: (await home.status()).server,
    ms: expect.any(Number),
    measured_at: expect.stringMatching(/^2023-11-14T22:13:\d\d\.\d{3}Z$/),
  });
  const ms = found.map((each: { ms: number }) => each.ms);
  expect(ms).toEqual(ms.toSorted((one: number, other: number) => one - other));
  for (const each of ms) expect(each).toBe(Math.round(each * 10) / 10);
  await home.pass(600_000);
  expect(await trips()).toEqual([]);
});

test("a round trip to a server that has moved is not listed", async () => {
  home.parts.tunnels.roundTrips.save(home.parts.catalogue.find("se-1") as never, 12.34);
  const trips = async () => (await home.send("GET", "/api/round-trips")).json.round_trips;
  expect(await trips()).toMatchObject([{ provider: "managed", server: "se-1", ms: 12.3 }]);
  const moved = MANY.map((each) => (each.hostname === "se-1" ? { ...each, ipv4: "198.51.100.1" } : each));
  await home.relist(moved);
  expect(await trips()).toEqual([]);
});
