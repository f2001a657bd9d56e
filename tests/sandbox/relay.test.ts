import { afterAll, beforeAll, expect } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { machineIn } from "../../src/sandbox/namespace.ts";
import { Relay } from "../../src/sandbox/relay.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";

const { test } = slow;

const NAME = `pcrelay${process.pid}`;
const PORT = 30_000 + (process.pid % 2_000);
const BYTES = 20_000_000;
/** Answers with the address that asks, or with all that it got once that has ended. */
const SERVER = `
require("node:net").createServer({ allowHalfOpen: true }, (socket) => {
  const parts = [];
  socket.on("data", (chunk) => {
    if (chunk.toString() === "who") return socket.end(socket.remoteAddress);
    if (chunk.toString() === "much") return socket.end(Buffer.alloc(${BYTES}, 7));
    parts.push(chunk);
  });
  socket.on("end", () => socket.end(Buffer.concat(parts)));
  socket.on("error", () => {});
}).listen(${PORT}, "127.0.0.1", () => console.log("ready"));`;
const machine = new LinuxHost();
let server: Bun.Subprocess<"ignore", "pipe", "inherit">;
let relay: Relay;

beforeAll(async () => {
  await machine.run(["ip", "netns", "add", NAME]);
  await machine.run(["ip", "-n", NAME, "link", "set", "lo", "up"]);
  server = Bun.spawn(machineIn(NAME, [process.execPath, "-e", SERVER]), { stdout: "pipe" });
  await server.stdout.getReader().read();
  relay = Relay.start(NAME, PORT);
});
afterAll(async () => {
  relay?.stop();
  server?.kill("SIGKILL");
  await machine.run(["ip", "netns", "del", NAME]);
});

const sockets = () => readdirSync("/proc/self/fd").length;
const open = (localAddress = "127.0.0.1") =>
  connect({ host: "127.0.0.1", port: PORT, localAddress, allowHalfOpen: true });

/** All that comes until the other side has ended. */
async function read(socket: Socket): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const parts: Buffer[] = [];
  socket.on("data", (part) => parts.push(part as Buffer));
  socket.on("end", () => resolve());
  socket.on("error", reject);
  await promise;
  socket.end();
  return Buffer.concat(parts);
}

test("a client is seen inside with its own address", async () => {
  const socket = open("127.0.7.9");
  socket.write("who");
  expect((await read(socket)).toString()).toBe("127.0.7.9");
});

test("much comes whole in either direction, also to a reader that pauses, and an end after it", async () => {
  const sent = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)));
  const all = Buffer.concat(Array(100).fill(sent));
  const socket = open();
  const answer = read(socket);
  socket.end(all);
  expect((await answer).equals(all)).toBe(true);
  const slow = open();
  slow.write("much");
  slow.once("data", () => {
    slow.pause();
    setTimeout(() => slow.resume(), 300);
  });
  expect((await read(slow)).length).toBe(BYTES);
});

test("nothing stays open, neither after an end nor after a client that leaves in the middle", async () => {
  const before = sockets();
  for (let count = 0; count < 20; count++) {
    const socket = open();
    socket.write("who");
    await read(socket);
    const leaver = open();
    leaver.on("error", () => {});
    leaver.write("much");
    leaver.once("data", () => leaver.resetAndDestroy());
  }
  await until(() => sockets() <= before);
});

test("where nothing listens, the client learns it at once", async () => {
  server.kill("SIGKILL");
  await server.exited;
  const socket = open();
  socket.write("who");
  expect(await read(socket).catch((error) => error.code)).toBe("ECONNRESET");
});
