import { afterEach, expect, setDefaultTimeout } from "bun:test";
import fc from "fast-check";
import { generate } from "mqtt-packet";
import { Connection } from "../../src/mqtt/connection.ts";
import { slow } from "../fast.ts";
import { FloodingBroker } from "./flooding-broker.ts";
import { Shown } from "./shown.ts";

const { test } = slow;

setDefaultTimeout(240_000);

const MAIN = "portcullis/pi/tunnel/main/state";
const COMMANDS = { mqttCommands: "on" };

let shown: Shown;
afterEach(() => shown.stop());

const isShown = () => shown.broker.retained.has(MAIN);

test("garbage ends the connection, and the next one works", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(isShown);
  const garbage = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 40 }), { numRuns: 8, seed: 7 });
  for (const bytes of [
    Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0xff),
    Buffer.from("HTTP/1.1 400\r\n\r\n"),
    ...garbage,
  ]) {
    shown.broker.raw(bytes);
    await shown.pass(200);
    // Some of it is the beginning of a packet, or a packet that means nothing.
    shown.broker.drop();
    shown.broker.retained.clear();
    await shown.until(isShown);
  }
  expect(shown.lines).toEqual([
    "MQTT: connected to 127.0.0.1, which is on the LAN",
    "MQTT: it does not speak MQTT",
    "MQTT: the broker closed the connection",
  ]);
});

test("huge messages, foreign topics and packets that no client expects change nothing", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(isShown);
  shown.broker.publish("homeassistant/status", Buffer.alloc(5_000_000, "x"));
  shown.broker.publish("portcullis/pi/tunnel/main/server/set", Buffer.alloc(5_000_000, "x"));
  for (const topic of [
    "",
    "/",
    "portcullis/pi/set",
    "portcullis/other/tunnel/main/server/set",
    "$SYS/x",
    "a/b/set",
  ])
    shown.broker.raw(
      generate({ cmd: "publish", topic: topic || "x", payload: "se-1", qos: 0, retain: false, dup: false }),
    );
  shown.broker.raw(
    generate({
      cmd: "publish",
      topic: "portcullis/pi/x",
      payload: "1",
      qos: 2,
      messageId: 7,
      retain: false,
      dup: true,
    }),
  );
  shown.broker.raw(generate({ cmd: "connack", returnCode: 0, sessionPresent: true }));
  shown.broker.raw(generate({ cmd: "suback", messageId: 999, granted: [128] }));
  shown.broker.raw(generate({ cmd: "pingresp" }));
  shown.broker.raw(generate({ cmd: "connect", clientId: "you", protocolId: "MQTT", protocolVersion: 4 }));
  await shown.pass(3_000);
  expect(shown.lines).toEqual(["MQTT: connected to 127.0.0.1, which is on the LAN"]);
  expect(shown.broker.json(MAIN).state).toBe("disconnected");
  // Still the same session.
  shown.broker.publish("portcullis/pi/tunnel/main/server/set", "se-1");
  await shown.until(() => shown.broker.json(MAIN).state === "connected");
});

test("of a flood, a hundred packets a second are read", async () => {
  shown = await Shown.start();
  await shown.until(isShown);
  await shown.pass(3_000);
  const start = {
    topic: "homeassistant/status",
    payload: "online",
    qos: 0,
    retain: false,
    dup: false,
  } as const;
  const flood = Array.from({ length: 32_768 }, () => generate({ cmd: "pingresp" }));
  const before = shown.broker.messages.length;
  shown.broker.raw(Buffer.concat([...flood, generate({ cmd: "publish", ...start })]));
  await shown.pass(3_000);
  expect(shown.broker.messages.length).toBe(before);
  shown.broker.publish(start.topic, start.payload);
  await shown.until(() => shown.broker.messages.length > before);
});

test("a broker that sends two-byte packets as fast as it can has to wait for the next turn, 20 ms later", async () => {
  shown = await Shown.start();
  const flood = await FloodingBroker.start();
  const slept: number[] = [];
  const waiting = new AbortController();
  // A clock that stands still.
  const clock = {
    monotonic: () => 0,
    sleep: (ms: number, signal?: AbortSignal) => {
      slept.push(ms);
      const ends = AbortSignal.any([waiting.signal, ...(signal ? [signal] : [])]);
      return new Promise<void>((resolve) => ends.addEventListener("abort", () => resolve()));
    },
  };
  const own = { address: "127.0.0.1", from: null, certified: null, authority: null, clientId: "pi" };
  const dialled = { ...own, port: flood.port, user: null, password: null, will: { topic: "t", payload: "" } };
  const connection = await Connection.open(dialled, clock, waiting.signal);
  // What the kernel buffers on both sides, and nothing more.
  expect(await flood.sentInTheEnd()).toBeLessThan(FloodingBroker.FOREVER_BYTES);
  expect(slept).toContain(20);
  connection.close("the test is over");
  waiting.abort();
  await flood.stop();
});

test("names that nobody should give a server are names that there are not", async () => {
  shown = await Shown.start(COMMANDS);
  await shown.until(isShown);
  for (const name of ["__proto__", "constructor", "../../etc/passwd", "\u0000", "$(reboot)", "\ud800"]) {
    shown.lines.length = 0;
    shown.broker.publish("portcullis/pi/tunnel/main/server/set", name);
    await shown.until(() => shown.lines.length > 0);
    expect(shown.lines).toEqual([expect.stringMatching(/^MQTT: a command was not carried out: server: /)]);
    await shown.pass(500);
  }
  expect(shown.broker.json(MAIN).state).toBe("disconnected");
});

test("a broker that stops reading is left after a minute", async () => {
  shown = await Shown.start();
  await shown.until(isShown);
  shown.broker.pause();
  shown.broker.retained.clear();
  await shown.until(isShown);
  expect(shown.lines).toEqual([
    "MQTT: connected to 127.0.0.1, which is on the LAN",
    "MQTT: the broker no longer answers",
    "MQTT: connected to 127.0.0.1, which is on the LAN",
  ]);
});
