import { afterEach, beforeEach, expect } from "bun:test";
import type { EventOf } from "../../src/base/bus.ts";
import { EVENTS, type GatewayEvent, type PublishedEvents } from "../../src/http/event.ts";
import { messageOf } from "../../src/http/messages.ts";
import { slow } from "../fast.ts";
import { BODY, PRIVATE } from "../servers/example.ts";
import { Home, LISTING } from "./home.ts";
import { HANDSHAKE, knock, listenTo } from "./socket.ts";

const { test } = slow;

let home: Home;
beforeEach(async () => {
  home = await Home.start();
});
afterEach(() => home.stop());

const join = (address?: string) => listenTo(home.port, address);
const publish = (event: EventOf<PublishedEvents>) => home.parts.events.publish(event);
const statusEvent = async () => ({ type: "status_change", payload: await home.parts.overview.status() });
const ALERT = {
  type: "security_alert",
  payload: { code: "firewall_altered", message: "rules are gone", at: "2026-01-02T03:04:05.678Z" },
} as const;
const UPDATE = { type: "server_update", payload: { provider: "custom", count: 3 } } as const;

test("whoever opens the socket is told the status, once", async () => {
  const listener = await join();
  publish(UPDATE);
  expect(await listener.received(2)).toEqual([await statusEvent(), UPDATE]);
});

test("changes of the status, of a tunnel, of a list and of the protection arrive in order", async () => {
  const listener = await join();
  await listener.received(1);
  await home.connect();
  await listener.received(5);
  expect((await home.send("POST", "/api/custom/add", BODY)).status).toBe(200);
  home.host.removeTable();
  await home.parts.killSwitch.mend();
  await home.send("POST", "/api/disconnect");
  const [, dialled, dialling, moved, arrived, update, altered, restored, back, ended] =
    await listener.received(10);
  const row = { name: "main", provider: "managed", wanted: "se-1", devices: 0 };
  expect(dialled).toMatchObject({ type: "status_change", payload: { state: "connecting" } });
  expect(dialling).toMatchObject({ type: "tunnel_update", payload: { ...row, state: "connecting" } });
  expect(moved).toMatchObject({ type: "status_change", payload: { connected: true, server: "se-1" } });
  expect(arrived).toMatchObject({ type: "tunnel_update", payload: { ...row, state: "connected" } });
  expect(update).toEqual({ type: "server_update", payload: { provider: "custom", count: 1 } });
  expect(altered).toMatchObject({ type: "security_alert", payload: { code: "firewall_altered" } });
  expect(restored).toMatchObject({ type: "security_alert", payload: { code: "firewall_restored" } });
  expect(back).toEqual(await statusEvent());
  const [main] = await home.parts.overview.rows();
  expect(ended).toEqual({ type: "tunnel_update", payload: main });
});

test("an event names the answers that it makes stale, and more of them where more has changed", async () => {
  const listener = await join();
  const status = ["/api/servers/counts", "/api/killswitch", "/api/network", "/api/remote"];
  expect(await listener.stale(1)).toEqual(status);
  await home.send("POST", "/api/provider/managed");
  expect(await listener.stale(2)).toEqual(status);
  await home.send("POST", "/api/provider/imported");
  expect(await listener.stale(3)).toEqual([...status, "/api/servers", "/api/providers"]);
  const tunnel = [
    ...["/api/events", "/api/checks", "/api/killswitch"],
    ...["/api/favourites", "/api/round-trips", "/api/destinations", "/api/remote"],
  ];
  await home.send("PUT", "/api/tunnels/tv", { server: "se-1", provider: "managed" });
  expect(await listener.stale(4)).toEqual([...tunnel, "/api/devices"]);
  expect(await listener.stale(5)).toEqual(tunnel);
});

test("whatever an event makes stale can be asked again", async () => {
  const { paths } = (await home.send("GET", "/swagger/json")).json;
  for (const type of Object.keys(EVENTS) as GatewayEvent["type"][]) {
    const { stale } = messageOf({ type, payload: {} } as GatewayEvent);
    expect(stale.filter((path) => paths[path]?.get === undefined)).toEqual([]);
  }
});

test("what the operator does to the kill switch is an alert and a change of the status", async () => {
  const listener = await join();
  await listener.received(1);
  for (const wanted of [false, true]) {
    await home.parts.operatorSwitch.turn(wanted);
    const [alert, told] = (await listener.received(wanted ? 5 : 3)).slice(-2);
    const code = wanted ? "killswitch_on" : "killswitch_off";
    expect(alert).toMatchObject({ type: "security_alert", payload: { code } });
    expect(told).toMatchObject({ type: "status_change", payload: { killswitch_active: wanted } });
  }
});

test("a change while the status is read is not followed by the older one", async () => {
  await home.connect();
  const held = home.hold("wg show wg0 dump");
  const listener = await join();
  await held.begun;
  await home.send("POST", "/api/disconnect");
  const [first] = await listener.received(1);
  held.release();
  const late = await join();
  await late.received(1);
  publish(UPDATE);
  expect(first).toMatchObject({ payload: { connected: false, state: "disconnected" } });
  expect(await listener.received(3)).toEqual([
    first,
    expect.objectContaining({ type: "tunnel_update" }),
    UPDATE,
  ]);
  expect(await late.received(2)).toEqual([first, UPDATE]);
});

test("three hundred listeners all get each message, which is written out once; the status is read once", async () => {
  const held = home.hold(LISTING);
  const before = home.listings;
  const listeners = await Promise.all(Array.from({ length: 300 }, (_, i) => join(`127.0.0.${1 + (i % 5)}`)));
  held.release();
  for (const listener of listeners) await listener.received(1);
  expect(home.listings - before).toBe(1);

  let written = 0;
  const counting = {
    toJSON() {
      written++;
      return { ...ALERT.payload };
    },
  };
  const payload = Object.assign(Object.create(counting), ALERT.payload);
  for (let i = 0; i < 20; i++) publish({ type: "security_alert", payload });
  for (const listener of listeners)
    expect((await listener.received(21)).slice(1)).toEqual(Array(20).fill(ALERT));
  expect(written).toBe(20);
}, 180_000);

test("who does not read is closed, and the others miss nothing", async () => {
  const slow = await join();
  const fast = await join();
  await Promise.all([slow.received(1), fast.received(1)]);
  slow.pause();
  const long = { ...ALERT.payload, message: "x".repeat(4_000) };
  for (let round = 0; round < 1_600; round++) {
    // Few enough to stay below the backlog of a listener that reads.
    for (let i = 0; i < 5; i++) publish({ type: "security_alert", payload: long });
    await fast.received(6);
    expect(fast.messages.splice(1)).toHaveLength(5);
  }
  slow.resume();
  expect(await slow.end()).toBeNull();
  expect(slow.messages.length).toBeLessThan(4_000);
}, 120_000);

test("a page of another site is refused before the upgrade", async () => {
  const before = home.listings;
  const { status, text } = await knock(home.port, { Origin: "http://evil.example" });
  expect([status, text]).toEqual([403, expect.stringContaining("Origin is another site's")]);
  expect([home.listings, home.lines]).toEqual([before, ["GET /ws 403"]]);
});

test("a page of the gateway itself may listen, and the log has the upgrade as 101", async () => {
  const host = `localhost:${home.port}`;
  const { status } = await knock(home.port, { Host: host, Origin: `http://${host}` });
  expect(status).toBe(101);
  expect(home.lines).toEqual(["GET /ws 101"]);
});

test("what is no WebSocket handshake is told so, with 426", async () => {
  const spoiled: Record<string, string>[] = [
    { Upgrade: "h2c" },
    { "Sec-WebSocket-Version": "12" },
    { "Sec-WebSocket-Key": "short" },
    { "Sec-WebSocket-Key": "" },
  ];
  for (const headers of [{}, ...spoiled.map((each) => ({ ...HANDSHAKE, ...each, Connection: "close" }))]) {
    const answer = await home.send("GET", "/ws", undefined, headers);
    expect({ headers, status: answer.status }).toEqual({ headers, status: 426 });
    expect(answer.json).toEqual({ success: false, error: expect.stringContaining("/ws is a WebSocket") });
    expect(answer.headers.get("upgrade")).toBe("websocket");
    expect(answer.headers.get("sec-websocket-version")).toBe("13");
  }
  expect((await home.send("POST", "/ws")).status).toBe(404);
});

test("a message of a client ends its socket, whatever it says", async () => {
  for (const [opcode, text] of [
    [1, '{"type":"status_change"}'],
    [1, ""],
    [2, "bytes"],
  ] as const) {
    const listener = await join();
    listener.send(opcode, text);
    expect(await listener.end()).toEqual({ code: 1008, reason: "this socket only sends" });
  }
});

test("a message that is too large ends the socket before it has arrived", async () => {
  const large = await join();
  large.send(1, "x".repeat(1_025));
  expect(await large.end()).toMatchObject({ code: 1009 });
  const announced = await join();
  announced.raw(Buffer.from([0x81, 0xff, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
  expect(await announced.end()).toMatchObject({ code: 1009 });
});

test("a ping is answered and a frame that is not masked ends the socket", async () => {
  const listener = await join();
  await listener.received(1);
  listener.send(9, "still there?");
  expect(await listener.pong()).toBe("still there?");
  listener.raw(Buffer.from([0x81, 0x01, 0x78]));
  await listener.end();
});

test("a client has a hundred places; who leaves, even without a word, makes room", async () => {
  const listeners = await Promise.all(Array.from({ length: 100 }, () => join()));
  const { status, text } = await knock(home.port);
  expect(status).toBe(429);
  expect(text).toContain("this client has too many sockets");
  expect(text.toLowerCase()).toContain("retry-after: 60");
  await join("127.0.0.2");
  // Both have less than their share then.
  for (const listener of listeners.slice(0, 2)) listener.destroy();
  // The server hears of an end in a turn of its own.
  while ((await knock(home.port)).status !== 101) await Bun.sleep(5);
}, 180_000);

test("clients that take all that they can leave places to others, until a thousand are taken", async () => {
  const taken: number[] = [];
  for (let client = 1; taken.at(-1) !== 0; client++) {
    let places = 0;
    while ((await knock(home.port, {}, `127.0.0.${client}`)).status === 101) places += 1;
    taken.push(places);
  }
  expect([taken[0], (taken[11] ?? 0) > 20, taken.length > 40]).toEqual([100, true, true]);
  expect(taken.reduce((sum, each) => sum + each)).toBeGreaterThan(980);
  const { status, text } = await knock(home.port, {}, "127.0.0.99");
  expect(status).toBe(503);
  expect(text).toContain(
    '{"success":false,"error":"too many sockets are open at /ws: try again later","args":{"what":"too_many_sockets","of":"all"}}',
  );
  expect(text.toLowerCase()).toContain("retry-after: 60");
}, 120_000);

test("a status that cannot be read ends the socket; the log learns why, without a key", async () => {
  // Without WireGuard in the kernel it is asked through its socket, and that answer is needed.
  home.host.native = false;
  await home.connect();
  home.host.onEvent = (event) => {
    if (event === "uapi get") throw new Error(`no use for ${PRIVATE}`);
  };
  const listener = await join();
  expect(await listener.end()).toEqual({ code: 1011, reason: "the status cannot be read" });
  expect(home.faults).toHaveLength(1);
  expect(home.faults[0]).toContain("no use for (a key)");
  home.host.onEvent = () => {};
  await (await join()).received(1);
});

test("an event that is not as documented is not sent, and the operator hears of it", async () => {
  const listener = await join();
  await listener.received(1);
  publish({ type: "server_update", payload: { ...UPDATE.payload, secret: "x" } } as EventOf<PublishedEvents>);
  publish(UPDATE);
  expect((await listener.received(2))[1]).toEqual(UPDATE);
  expect(home.faults[0]).toContain("a server_update does not fit its schema");
});

test("a gateway that stops says so, and nothing listens to it any more", async () => {
  const other = await Home.start();
  const listeners = await Promise.all([listenTo(other.port), listenTo(other.port)]);
  for (const listener of listeners) await listener.received(1);
  expect(other.parts.events.hasListeners("status_change")).toBe(true);
  await other.stop();
  for (const listener of listeners) {
    expect(await listener.end()).toEqual({ code: 1001, reason: "the gateway stops" });
  }
  expect(other.parts.events.hasListeners("status_change")).toBe(false);
});
