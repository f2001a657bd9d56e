import { afterEach, beforeEach, expect, test } from "bun:test";
import { Home } from "./home.ts";
import { listenTo } from "./socket.ts";

const TV = "02:00:00:00:00:20";
const PHONE = "02:00:00:00:00:21";

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const send = async (method: string, path: string, body?: object) => {
  const { status, json } = await home.send(method, path, body && JSON.stringify(body));
  return { status, ...json };
};
const add = (body: object) => send("POST", "/api/destinations", body);
const list = async () => (await send("GET", "/api/destinations")).destinations;
const why = (name: string, device = TV) =>
  send("GET", `/api/destinations/explain?device=${device}&name=${name}`);
const table = () => home.host.table ?? "";
/** What the kernel was given for destinations. */
const loaded = () =>
  [...table().matchAll(/^ {4}.*daddr .*goto \S+ comment "a destination.*$/gm)].map(([line]) =>
    line.trim().replace(/ comment .*/, ""),
  );

test("a rule leads its destinations to its exit until it is changed or removed", async () => {
  await home.connect();
  const { status, id, ...row } = await add({ prefixes: ["203.0.113.0/24", "192.0.2.7"], exit: "main" });
  expect(status).toBe(200);
  expect(row).toEqual({
    ...{ prefixes: ["203.0.113.0/24", "192.0.2.7/32"], devices: [], exit: "main" },
    ...{ note: "", open: true, warning: null },
  });
  expect(loaded()).toEqual([
    "ip daddr 192.0.2.7 goto leave_by_main",
    "ip daddr 203.0.113.0/24 goto leave_by_main",
  ]);
  expect(await send("PATCH", `/api/destinations/${id}`, { exit: "blocked", note: "ads" })).toMatchObject({
    ...{ status: 200, id, exit: "blocked", note: "ads", open: false },
    prefixes: row.prefixes,
  });
  expect(loaded()).toEqual([
    "ip daddr 192.0.2.7 goto exit_blocked",
    "ip daddr 203.0.113.0/24 goto exit_blocked",
  ]);
  expect(await send("DELETE", `/api/destinations/${id}`)).toEqual({ status: 200, success: true });
  expect(await list()).toEqual([]);
  expect(loaded()).toEqual([]);
});

test("without rules the firewall has nothing of them", async () => {
  await home.connect();
  const before = table();
  const { id } = await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  expect(table()).not.toBe(before);
  await send("DELETE", `/api/destinations/${id}`);
  expect(table()).toBe(before);
  expect(before).not.toMatch(/_to_ipv|leave_by|blocked_devices/);
});

test("listeners are told of each change", async () => {
  const listener = await listenTo(home.port);
  await listener.received(1);
  const { id } = await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  await send("DELETE", `/api/destinations/${id}`);
  const events = (await listener.received(3)).slice(1);
  expect(events).toEqual([
    { type: "destinations_update", payload: { count: 1 } },
    { type: "destinations_update", payload: { count: 0 } },
  ]);
});

test.each<[object, number, string]>([
  [{ exit: "main" }, 400, "prefixes is required"],
  [{ prefixes: ["example.com"], exit: "main" }, 400, 'prefixes: "example.com" is not an address'],
  [{ prefixes: ["203.0.113.1/24"], exit: "main" }, 400, "has host bits; the network is 203.0.113.0/24"],
  [{ prefixes: ["192.168.7.64/26"], exit: "main" }, 400, "addresses of the LAN's own 192.168.7.0/24 on lan0"],
  [{ prefixes: ["192.168.0.0/16"], exit: "main" }, 400, "addresses of the LAN's own 192.168.7.0/24 on lan0"],
  [{ prefixes: ["0.0.0.0/0"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["224.0.0.0/4"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["fe80::/10"], exit: "main" }, 400, "addresses that never leave the LAN"],
  [{ prefixes: ["203.0.113.0/24"], exit: "tv" }, 404, "exit: there is no such tunnel"],
  [{ prefixes: ["203.0.113.0/24"], exit: "direct" }, 403, "sudo portcullis direct on"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", devices: ["tv"] }, 400, "devices: must be a MAC address"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", names: ["a.example"] }, 400, "unknown field names"],
  [{ prefixes: ["203.0.113.0/24"], exit: "main", note: "a\nb" }, 400, "note: contains a control character"],
])("POST %j is refused with %i, and nothing changes", async (body, status, error) => {
  const before = table();
  const answer = await add(body);
  expect([answer.status, answer.success]).toEqual([status, false]);
  expect(answer.error).toContain(error);
  expect(await list()).toEqual([]);
  expect(table()).toBe(before);
});

test("a rule that contradicts another is refused, and both are named", async () => {
  const { id } = await add({ prefixes: ["203.0.113.0/24", "192.0.2.0/24"], exit: "main", devices: [TV] });
  const { status, error } = await add({ prefixes: ["192.0.2.0/24"], exit: "blocked", devices: [PHONE, TV] });
  expect([status, error]).toEqual([
    400,
    `prefixes: 192.0.2.0/24 would be in two rules for the same devices: in this one, by blocked, and in ${id} (203.0.113.0/24 and 1 more for ${TV}, by main); change or remove that one`,
  ]);
  expect((await add({ prefixes: ["192.0.2.0/24"], exit: "blocked", devices: [PHONE] })).status).toBe(200);
  expect((await add({ prefixes: ["192.0.2.0/25"], exit: "blocked" })).status).toBe(200);
});

test("a rule whose tunnel is down refuses, and says so", async () => {
  const row = await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  expect(row).toMatchObject({ status: 200, open: false });
  expect(row.warning).toContain("not connected");
  await home.connect();
  expect(await list()).toMatchObject([{ open: true, warning: null }]);
});

test("direct needs the operator's permission, is told, and ends with it", async () => {
  await home.parts.devices.setDirect(true);
  const row = await add({ prefixes: ["203.0.113.0/24"], exit: "direct" });
  expect(row).toMatchObject({ status: 200, exit: "direct", open: true });
  expect(row.warning).toContain("outside the tunnel");
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto leave_by_direct"]);
  const { events } = (await home.send("GET", "/api/events")).json;
  expect(JSON.stringify(events)).toContain("Now direct, outside the tunnel: traffic to 203.0.113.0/24.");
  const inspection = await home.parts.controller.inspection();
  expect(inspection).toMatchObject({ stands: true, direct: 0, destinations: true });
  expect(inspection.parts.map(({ found }) => found)).toContain(
    "traffic to some destinations leaves outside the tunnel, as allowed on the gateway",
  );
  await home.parts.destinations.closeDirect();
  await home.parts.devices.setDirect(false);
  expect(await list()).toMatchObject([{ exit: "blocked", open: false }]);
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto exit_blocked"]);
  // What is allowed later does not open it again.
  await home.parts.devices.setDirect(true);
  await home.parts.destinations.load();
  expect(await list()).toMatchObject([{ exit: "blocked" }]);
});

test("what opens must be saved, and what only blocks is in force even if it cannot be", async () => {
  await home.connect();
  const { store, destinations } = home.parts;
  const write = store.write.bind(store);
  store.write = (key: string, text: string) => {
    if (key === "destinations") throw new Error("the disk is full");
    write(key, text);
  };
  expect((await add({ prefixes: ["203.0.113.0/24"], exit: "main" })).status).toBe(500);
  expect(loaded()).toEqual([]);
  const { status, error } = await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  expect([status, error]).toEqual([500, expect.stringContaining("The change is in force, but a restart")]);
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto exit_blocked"]);
  const [{ id }] = await list();
  expect((await send("DELETE", `/api/destinations/${id}`)).status).toBe(500);
  expect(loaded()).toEqual(["ip daddr 203.0.113.0/24 goto exit_blocked"]);
  store.write = write;
  const stopping = new AbortController();
  void destinations.watch(stopping.signal);
  await home.pass(15_000);
  await home.pass(15_000);
  stopping.abort();
  expect(store.read("destinations")).toContain("203.0.113.0/24");
});

test("a tunnel that rules lead to is not removed", async () => {
  await send("PUT", "/api/tunnels/amsterdam", { provider: "managed", server: "se-1" });
  const { status, id } = await add({ prefixes: ["203.0.113.0/24"], exit: "amsterdam" });
  expect(status).toBe(200);
  expect(await send("DELETE", "/api/tunnels/amsterdam")).toMatchObject({
    status: 400,
    error: `name: the rule ${id} leads 203.0.113.0/24 to amsterdam; change or remove it first`,
  });
  await send("DELETE", `/api/destinations/${id}`);
  expect((await send("DELETE", "/api/tunnels/amsterdam")).status).toBe(200);
});

test("why says which rule holds, and what to do", async () => {
  await home.connect();
  expect(await why("203.0.113.7")).toMatchObject({
    ...{ rule: null, by: null, exit: "main", open: true, in_kernel: true, advice: null },
    why: `No rule is for this address, so it takes the exit of ${TV}: main.`,
  });
  const all = await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  const own = await add({ prefixes: ["203.0.0.0/16"], exit: "main", devices: [TV] });
  expect(await why("203.0.113.7")).toMatchObject({ rule: { id: own.id }, by: "203.0.0.0/16", exit: "main" });
  expect(await why("203.0.113.7", PHONE)).toMatchObject({
    ...{ rule: { id: all.id }, by: "203.0.113.0/24", exit: "blocked", open: false },
    advice: `It is refused, as the rule says; to remove that: portcullis destination remove ${all.id}`,
  });
  expect((await why("192.168.7.9")).why).toBe(
    "It is in the LAN's own 192.168.7.0/24 on lan0, which no exit leads to.",
  );
  expect(await why("example.com")).toMatchObject({
    status: 400,
    error: expect.stringContaining("name: must be"),
  });
});

test("a blocked device reaches only what rules of its own permit", async () => {
  await home.connect();
  await send("PUT", `/api/devices/${TV}`, { exit: "blocked" });
  await add({ prefixes: ["203.0.113.0/24"], exit: "main" });
  expect(await why("203.0.113.7")).toMatchObject({ rule: null, exit: "blocked", open: false });
  expect((await why("203.0.113.7")).why).toContain(
    "is blocked, and reaches only what rules of its own permit",
  );
  expect(table()).toContain(`elements = { 00:00:00:00:00:00, ${TV} }`);
  await add({ prefixes: ["192.0.2.0/24"], exit: "main", devices: [TV] });
  expect(await why("192.0.2.7")).toMatchObject({ exit: "main", open: true });
});

test("the metrics count the rules by exit", async () => {
  await add({ prefixes: ["203.0.113.0/24"], exit: "blocked" });
  expect((await home.send("GET", "/metrics")).text).toContain(
    'portcullis_destination_rules{exit="blocked"} 1\n',
  );
});
