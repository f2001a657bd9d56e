import { ptr } from "bun:ffi";
import { afterAll, expect } from "bun:test";
import { libc, SOL_SOCKET } from "../../src/system/libc.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { Home } from "./home.ts";
import { request } from "./wire.ts";

const { test } = slow;

const CLIENTS = 300;
const SO_RCVBUF = 8;
const RECEIVE_BUFFER_BYTES = 4_096;
/** What the kernel may keep of an answer that nobody reads. The loopback's packets have 64 KiB. */
const MAX_QUEUED_BYTES = 3 * 65_536;
/** Of the process, for all of these clients together. */
const MAX_GROWTH_BYTES = 40 << 20;

const home = await Home.withRealClock();
const patient = await Home.start();
afterAll(() => Promise.all([home.stop(), patient.stop()]));

/** Asks on so many connections, and never reads. */
async function ask(path: string, count = CLIENTS, { port } = home): Promise<Bun.Socket[]> {
  const asked = Array.from({ length: count }, () =>
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => {
          socket.pause();
          setReceiveBuffer(socket);
          socket.write(request("GET", path, undefined, { "Accept-Encoding": "identity" }));
        },
        data: () => {},
      },
    }),
  );
  return Promise.all(asked);
}

/** Else the client's side of the loopback takes the whole answer. */
function setReceiveBuffer(socket: Bun.Socket): void {
  const { fd } = socket as unknown as { fd: number };
  libc().setsockopt(fd, SOL_SOCKET, SO_RCVBUF, ptr(Int32Array.of(RECEIVE_BUFFER_BYTES)), 4);
}

/** The bytes that wait in the kernel for the reader of each connection. */
async function queued(): Promise<number[]> {
  const text = await Bun.$`ss -Htn sport = :${home.port}`.text();
  return text
    .trim()
    .split("\n")
    .map((line) => Number(line.split(/\s+/)[2]));
}

async function whole(path: string): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${home.port}${path}`, {
    headers: { "Accept-Encoding": "identity" },
  });
  expect(answer.status).toBe(200);
  return answer.text();
}

test("answers that nobody reads are kept once for all, however large a page is", async () => {
  const path = /src="([^"]*)"/.exec(await whole("/swagger"))?.[1] ?? "";
  const text = await whole(path);
  expect(text.length).toBeGreaterThan(2 * MAX_QUEUED_BYTES);
  Bun.gc(true);
  const before = process.memoryUsage().rss;
  const sockets = await ask(path);
  const asked = () => home.lines.filter((line) => line === `GET ${path} 200`).length;
  while (asked() <= CLIENTS) await Bun.sleep(20);
  expect(Math.max(...(await queued()))).toBeLessThan(MAX_QUEUED_BYTES);
  expect(process.memoryUsage().rss - before).toBeLessThan(MAX_GROWTH_BYTES);
  expect(await whole(path)).toBe(text);
  for (const socket of sockets) socket.terminate();
}, 180_000);

test("whoever reads gets as many long answers as it asks for, and whoever does not only some", async () => {
  const path = "/api/events?limit=500";
  for (let i = 0; i < 500; i++)
    patient.parts.alerts.raise("state_damaged", { what: "other", reason: "x".repeat(600) });
  for (let i = 0; i < 30; i++) {
    const { status, text } = await patient.send("GET", path);
    expect([status, text.length > 300_000]).toEqual([200, true]);
  }
  const sockets: Bun.Socket[] = [];
  const refused = () => patient.lines.filter((line) => line === "GET /api/events 429").length;
  while (refused() === 0 && sockets.length < 60) {
    await patient.pass(1_000);
    sockets.push(...(await ask(path, 1, patient)));
    await until(
      () => patient.lines.filter((line) => line.includes("/api/events")).length === 30 + sockets.length,
    );
  }
  expect([refused(), sockets.length > 10]).toEqual([1, true]);
  for (const socket of sockets) socket.terminate();
  await until(async () => (await patient.send("GET", path)).status === 200);
}, 180_000);
