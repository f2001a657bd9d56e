import { afterEach, beforeEach, expect } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { type Listener, listenTo } from "./socket.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20" as Mac;
const COUNTERS = "nft -j list table inet portcullis_traffic";

let home: Home;
beforeEach(async () => {
  home = await Home.start();
  // Makes the counters.
  await home.parts.devices.list();
  await home.pass(1_000);
});
afterEach(() => home.stop());

const follow = async (address?: string): Promise<Listener> => {
  const listener = await listenTo(home.port, address, "/ws?traffic");
  await listener.received(1);
  return listener;
};
const traffic = (listener: Listener) =>
  listener.messages.map((text) => JSON.parse(text)).filter(({ type }) => type === "traffic");
/** A second later. */
async function next(listener: Listener) {
  const before = listener.messages.length;
  await home.pass(1_000);
  await listener.received(before + 1);
  return traffic(listener).at(-1).payload;
}
function hear(mac: Mac, address: string): void {
  home.hear(mac, address);
}

test("a socket at /ws?traffic gets what tunnels and devices have carried, at once and then each second", async () => {
  await home.connect();
  hear(TV, "192.168.7.20");
  home.host.carry("received", TV, 7_000);
  const listener = await follow();
  await listener.received(2);
  const [first] = traffic(listener);
  const [main] = await home.parts.overview.rows();
  const { rx_bytes, tx_bytes } = main ?? {};
  expect(rx_bytes).toBeGreaterThan(0);
  expect(first).toEqual({
    type: "traffic",
    payload: {
      at: new Date(home.host.now()).toISOString(),
      tunnels: [{ name: "main", rx_bytes, tx_bytes }],
      devices: expect.any(Array),
    },
    stale: [],
  });
  await next(listener);
  const devices = traffic(listener).flatMap(({ payload }) => payload.devices);
  expect(devices).toEqual([{ id: TV, rx_bytes: 7_000, tx_bytes: 0 }]);
});

test("each device is in a message only when its figures have changed, and they are read every five seconds", async () => {
  hear(TV, "192.168.7.20");
  const listener = await follow();
  await home.pass(500);
  home.host.carry("sent", TV, 100);
  const devices: unknown[] = [];
  for (let second = 0; second < 11; second++) devices.push((await next(listener)).devices);
  const told = { id: TV, rx_bytes: 0, tx_bytes: 100 };
  expect(devices.flat()).toEqual([told]);
  expect(devices.findIndex((each) => Bun.deepEquals(each, [told]))).toBeLessThan(6);
  home.host.commands.length = 0;
  await home.pass(10_000);
  expect(home.host.commands).toEqual([COUNTERS, COUNTERS]);
});

test("with the kernel's own WireGuard, tunnels are read without a program; without it, on the program's socket", async () => {
  for (const native of [true, false]) {
    const other = await Home.start();
    other.host.native = native;
    await other.connect();
    const events: string[] = [];
    const listener = await listenTo(other.port, undefined, "/ws?traffic");
    await listener.received(2);
    other.host.onEvent = (event) => void (event === "sleep" || events.push(event));
    await other.pass(3_000);
    await listener.received(5);
    expect(events.filter((event) => event !== COUNTERS)).toEqual(native ? [] : Array(3).fill("uapi get"));
    await other.stop();
  }
});

test("a socket that did not ask for it gets nothing new, and while no other is open nothing is read", async () => {
  await home.connect();
  const plain = await listenTo(home.port);
  await plain.received(1);
  home.host.commands.length = 0;
  const following = [await follow(), await follow("127.0.0.2")];
  await home.pass(1_000);
  for (const listener of following) await listener.received(2);
  expect(plain.messages).toHaveLength(1);
  for (const listener of following) listener.destroy();
  // The server hears of an end in a turn of its own.
  const read = async () => {
    home.host.commands.length = 0;
    await home.pass(6_000);
    return home.host.commands.length;
  };
  while ((await read()) > 0) await Bun.sleep(5);
  const events: string[] = [];
  home.host.onEvent = (event) => void events.push(event);
  await home.pass(60_000);
  expect(events).toEqual([]);
  expect(plain.messages).toHaveLength(1);
});

test("two sockets share one reading, and the second gets it with the next message", async () => {
  const first = await follow();
  const second = await follow("127.0.0.2");
  home.host.commands.length = 0;
  expect(await next(second)).toEqual(await next(first).then(() => traffic(first).at(-2).payload));
  await home.pass(5_000);
  expect(home.host.commands.filter((command) => command === COUNTERS)).toHaveLength(1);
});

test("a counter that cannot be read in time holds up no message, and a tunnel that cannot be read is left out", async () => {
  home.host.native = false;
  await home.connect();
  const listener = await follow();
  await home.pass(3_500);
  const held = home.hold(COUNTERS);
  await home.pass(1_500);
  await held.begun;
  expect((await next(listener)).tunnels).toHaveLength(1);
  held.release();
  home.host.onEvent = (event) => {
    if (event === "uapi get") throw new Error("no answer");
  };
  expect((await next(listener)).tunnels).toEqual([]);
  home.host.onEvent = () => {};
  expect((await next(listener)).tunnels).toHaveLength(1);
});

test("512 devices are told of within five seconds, in messages that fit a socket's backlog", async () => {
  const ids = Array.from(
    { length: 512 },
    (_, i) =>
      `02:00:00:00:${(i >> 8).toString(16).padStart(2, "0")}:${(i & 255).toString(16).padStart(2, "0")}`,
  ) as Mac[];
  ids.forEach((id, i) => {
    hear(id, `192.168.7.${i % 250}`);
    home.host.carry("received", id, 1_000_000_000_000 + i);
  });
  const listener = await follow();
  for (let second = 0; second < 4; second++) await next(listener);
  const sizes = listener.messages.map((text) => text.length);
  expect(Math.max(...sizes)).toBeLessThan(32_768);
  const told = traffic(listener).flatMap(({ payload }) =>
    payload.devices.map(({ id }: { id: string }) => id),
  );
  expect(told.toSorted()).toEqual(ids.toSorted());
});

test.each(["?traffic", "?traffic=", "?a=1&traffic=1", "?traffic&traffic=0", "?traffic&%ff=%zz&__proto__=1"])(
  "/ws%s is opted in",
  async (query) => {
    const listener = await listenTo(home.port, undefined, `/ws${query}`);
    await listener.received(2);
    expect(traffic(listener)).toHaveLength(1);
  },
);

test.each(["?", "?Traffic", "?a=traffic", "?%ff=%zz&__proto__=1&constructor"])(
  "/ws%s is not",
  async (query) => {
    const listener = await listenTo(home.port, undefined, `/ws${query}`);
    await listener.received(1);
    await home.pass(2_000);
    home.parts.events.publish({ type: "tunnel_removed", payload: { name: "tv" } });
    expect((await listener.received(2))[1]).toMatchObject({ type: "tunnel_removed" });
  },
);

test("a gateway that stops closes these sockets like the others, and stops reading", async () => {
  const other = await Home.start();
  const listener = await listenTo(other.port, undefined, "/ws?traffic&other=1");
  await listener.received(2);
  await other.stop();
  expect(await listener.end()).toEqual({ code: 1001, reason: "the gateway stops" });
  other.host.commands.length = 0;
  await other.pass(10_000);
  expect(other.host.commands).toEqual([]);
});
