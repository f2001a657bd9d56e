import { afterEach, beforeEach, expect } from "bun:test";
import { slow } from "../fast.ts";
import { BODY } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

const recordOf = (number: number) => ({
  ...{ hostname: `se-${number}`, country: number === 3 ? "Norway" : "Sweden", city: `City ${number}` },
  ...{ ipv4: `192.0.2.1${number}`, port: 51820, public_key: new Uint8Array(32).fill(number).toBase64() },
  ...{ provider: "Box", multihop_port: 3001, ...(number === 1 && { udp2tcp: [443] }) },
});
const LIST = [1, 2, 3].map(recordOf);
/** With a key of its own. */
const OWN = { ...BODY, private_key: new Uint8Array(32).fill(8).toBase64() };
const ORDER = {
  targets: [
    { provider: "managed", server: "se-1", transport: "plain" },
    { provider: "managed", server: "Norway", via: "se-2" },
    { provider: "custom", server: OWN.name },
  ],
  ...{ back_after_minutes: 30, back_when_quiet: true, move_when: ["slow", "lossy"] },
};
const OK = { status: 200, success: true };

let home: Home;
beforeEach(async () => {
  home = await Home.listing(LIST);
  home.parts.catalogue.addCustom(OWN);
});
afterEach(() => home.stop());

const connect = (body: object, tunnel = "main") => home.ask("PUT", `/api/tunnels/${tunnel}`, body);
const disconnect = (tunnel = "main") => home.ask("POST", `/api/tunnels/${tunnel}/disconnect`);
const rowOf = async (tunnel = "main") =>
  (await home.send("GET", "/api/tunnels")).json.tunnels.find(({ name }: { name: string }) => name === tunnel);
const lastOf = async (tunnel = "main") => (await rowOf(tunnel))?.last;

test("after a disconnect, the gateway tells what leads the tunnel to its targets again, as a connect takes it", async () => {
  expect(await lastOf()).toBeUndefined();
  expect(await connect(ORDER)).toEqual(OK);
  const { order } = await rowOf();
  expect([await lastOf(), (await home.status()).last]).toEqual([undefined, undefined]);
  await home.ask("POST", "/api/disconnect");
  expect([await lastOf(), (await home.status()).last]).toEqual([ORDER, ORDER]);
  expect(await home.ask("POST", "/api/connect", await lastOf())).toEqual(OK);
  expect((await rowOf()).order).toEqual(order);
  expect(await lastOf()).toBeUndefined();
});

test("that a better target is never tried again is told, too", async () => {
  const { targets } = ORDER;
  await connect({ targets, back_after_minutes: 0 });
  await disconnect();
  expect(await lastOf()).toEqual({ targets, back_after_minutes: 0 });
});

test("one target is told with what was asked for, and replaces an order", async () => {
  await connect(ORDER);
  await connect({ server: "Norway", via: "Sweden" });
  await disconnect();
  expect(await lastOf()).toEqual({ targets: [{ provider: "managed", server: "Norway", via: "Sweden" }] });
  await connect({ server: "se-1", transport: "udp2tcp", provider: "managed" });
  await disconnect();
  const last = await lastOf();
  expect(last).toEqual({ targets: [{ provider: "managed", server: "se-1", transport: "udp2tcp" }] });
  await home.ask("POST", "/api/provider/custom");
  expect(await home.ask("POST", "/api/connect", last)).toEqual(OK);
  expect(await home.status()).toMatchObject({ server: "se-1", transport: "udp2tcp" });
});

test("each tunnel has its own; a connect that fails leaves it, and a removal does not", async () => {
  await connect(ORDER);
  await connect({ server: "se-2", provider: "managed" }, "tv");
  await disconnect("tv");
  const last = { targets: [{ provider: "managed", server: "se-2" }] };
  expect(await lastOf("tv")).toEqual(last);
  home.host.silent.add("192.0.2.13:51820");
  const failing = connect({ server: "se-3", provider: "managed" }, "tv");
  while ((await rowOf("tv")).state !== "connecting") await Bun.sleep(1);
  await home.pass(30_000);
  expect((await failing).status).toBe(500);
  expect(await rowOf("tv")).toMatchObject({ state: "failed", wanted: "se-3" });
  expect(await lastOf("tv")).toBeUndefined();
  await disconnect("tv");
  expect(await lastOf("tv")).toEqual(last);
  await home.ask("DELETE", "/api/tunnels/tv");
  expect(home.parts.store.read("last_targets")).not.toContain("tv");
  await disconnect();
  expect(await lastOf()).toEqual(ORDER);
});

test("a target that has left its list is not told while it is not there", async () => {
  await connect(ORDER);
  await disconnect();
  const [first, second, third] = ORDER.targets;
  await home.relist(LIST.slice(1));
  expect(await lastOf()).toEqual({ ...ORDER, targets: [second, third] });
  expect(await connect(await lastOf())).toEqual(OK);
  await disconnect();
  await home.relist([]);
  // Rules are of no meaning for one.
  expect(await lastOf()).toEqual({ targets: [third] });
  await home.relist(LIST);
  expect(await lastOf()).toEqual({ ...ORDER, targets: [second, third] });
  await connect({ ...ORDER, targets: [first, second] });
  await disconnect();
  await home.relist([]);
  expect([await lastOf(), (await home.status()).last]).toEqual([undefined, undefined]);
});

test("a server of one's own that is removed is forgotten, also if another one gets its name", async () => {
  const stored = () => [home.parts.store.read("last_targets"), home.parts.store.read("recent")].join();
  await connect({ provider: "custom", server: OWN.name }, "tv");
  await connect({ server: "se-2", provider: "managed" }, "tv");
  await connect({ server: OWN.name, provider: "custom" });
  await connect(ORDER);
  // It is one of the targets of a tunnel that is up.
  expect(await home.ask("DELETE", `/api/custom/remove/${OWN.name}`)).toEqual(OK);
  expect(stored()).not.toContain(OWN.name);
  // A move within the same order does not bring it back.
  const { savedState } = home.parts;
  const present = savedState.connection();
  if (present?.order === undefined) throw new Error("it has an order");
  savedState.saveConnection({ ...present, name: "se-3", order: { ...present.order, at: 1 } });
  expect(stored()).not.toContain(OWN.name);
  home.parts.catalogue.addCustom(OWN);
  await disconnect();
  expect(await lastOf()).toEqual({ ...ORDER, targets: ORDER.targets.slice(0, 2) });
  const { recent } = (await home.send("GET", "/api/favourites")).json;
  expect(recent.map(({ server }: { server: string }) => server)).not.toContain(OWN.name);
});

test("what was kept for a tunnel by another version is told of its connection", async () => {
  await connect(ORDER);
  const connection = home.parts.store.read("connection");
  await disconnect();
  home.parts.store.write("last_targets", "[]");
  home.parts.store.write("connection", connection ?? "");
  home.parts.savedState.reload();
  expect(await lastOf()).toEqual(ORDER);
  home.parts.savedState.saveConnection(null);
  expect(await lastOf()).toEqual(ORDER);
});
