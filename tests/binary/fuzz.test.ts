import { afterAll, beforeAll, expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { SEED } from "../chance.ts";
import { runs, sampled } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { BINARY, Client } from "./client.ts";
import { beginnings, bytes, nameOf, type Shot, shots } from "./shots.ts";

const CLIENTS = runs(200);
const SHOTS_EACH = 6;
const HALF_OPEN = runs(300);
const RAW = runs(300);
/** Measured: 26 MiB; a leak of a few KiB a request would be ten times that. */
const MORE_MIB = 100;
const TIMEOUT_MS = 240_000;

/** `nft monitor` and two of `ip monitor`, which run as long as the service. */
const MONITORS = 3;

let lab: Lab;
let gateway: Gateway;
let before: Usage;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway({ program: [BINARY] });
  // On a quick machine it answers before it has begun to listen to the kernel.
  await until(() => children().length >= MONITORS);
  before = usage();
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

interface Usage {
  /** Memory, in MiB. */
  rss: number;
  /** Open files and sockets. */
  descriptors: number;
}

function children(): string[] {
  return readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, "utf8").split(" ").filter(Boolean);
}

function usage(): Usage {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  const rss = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  return { rss, descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length };
}

sampled.test(
  `whatever hundreds of clients send, the gateway lives, answers as documented and keeps its state (PORTCULLIS_TEST_SEED=${SEED})`,
  async () => {
    const watch = watchHealth();
    const open = fc.sample(beginnings, { numRuns: HALF_OPEN, seed: SEED }).map(half);
    const kept = await Promise.all(Array.from({ length: CLIENTS }, (_, index) => fire(index)));
    await inBatches(fc.sample(bytes, { numRuns: RAW, seed: SEED }), 50, throwBytes);
    for (const [index, socket] of open.entries())
      index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
    const { most, answers } = await watch.stop();

    expect(answers).toBeGreaterThan(5);
    expect(most.descriptors).toBeLessThan(before.descriptors + HALF_OPEN + CLIENTS + 100);
    expect(most.rss).toBeLessThan(before.rss + MORE_MIB);
    await until(() => usage().descriptors <= before.descriptors + 10);
    await expectState(kept);
  },
  TIMEOUT_MS,
);

/** The state is the result of the accepted requests, and the kill switch is in place. */
async function expectState(kept: readonly Names[]): Promise<void> {
  const client = new Client(gateway.port);
  await client.ask("POST", "/api/disconnect");
  expect(await listed(client, "custom")).toEqual(kept.flatMap(({ custom }) => [...custom]).sort());
  expect(await listed(client, "imported")).toEqual(kept.flatMap(({ imported }) => [...imported]).sort());
  const { body } = await client.ask("GET", "/api/status");
  expect(body).toMatchObject({ connected: false, provider: "imported", killswitch_active: true });
  // No internal error: the log would show its stack.
  expect(gateway.log()).not.toContain("    at ");
}

interface Names {
  custom: Set<string>;
  imported: Set<string>;
}

/** Sends one client's requests in order; returns the names that the accepted ones leave behind. */
async function fire(index: number): Promise<Names> {
  const client = new Client(gateway.port);
  const names: Names = { custom: new Set(), imported: new Set() };
  for (const shot of fc.sample(shots(`${index}-`), { numRuns: SHOTS_EACH, seed: SEED + index })) {
    const { status, json, text } = await client.send(shot.method, shot.path, shot.body, shot.headers);
    const told = { seed: SEED, shot, status, text };
    if (status === 200) accept(shot, names, told);
    else if (shot.method !== "HEAD") {
      expect({ ...told, json }).toEqual({ ...told, json: { success: false, error: expect.any(String) } });
      expect(json.error).not.toBe("internal error");
      expect([400, 403, 404, 429, ...(/connect$/.test(shot.path) ? [500] : [])]).toContain(status);
    }
  }
  return names;
}

/** What an accepted request changes. A name that exists cannot be added, and one that does not cannot be removed. */
function accept(shot: Shot, { custom, imported }: Names, told: object): void {
  const name = nameOf(shot);
  if (name === null) return;
  const list = shot.path.startsWith("/api/import") ? imported : custom;
  const add = shot.method === "POST";
  expect({ ...told, known: list.has(name) }).toEqual({ ...told, known: !add });
  if (add) list.add(name);
  else list.delete(name);
}

/** A connection with an unfinished request. */
function half(beginning: Uint8Array) {
  const socket = new Client(gateway.port).open();
  socket.on("error", () => {});
  socket.write(beginning);
  return socket;
}

async function throwBytes(shot: Uint8Array): Promise<void> {
  const socket = new Client(gateway.port).open();
  const closed = Promise.withResolvers<void>();
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", () => {});
  socket.on("close", () => closed.resolve());
  socket.end(shot);
  await Promise.race([closed.promise, Bun.sleep(200)]);
  socket.destroy();
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
  const known = [100, 200, 400, 403, 404, 429, 431, 505];
  const told = { seed: SEED, shot: Buffer.from(shot).toString("latin1"), text };
  expect({ ...told, odd: statuses.filter((status) => !known.includes(status)) }).toEqual({
    ...told,
    odd: [],
  });
}

async function inBatches<T>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += size) await Promise.all(items.slice(at, at + size).map(work));
}

/** Polls health until it is stopped, and records what the process uses. */
function watchHealth() {
  let stopped = false;
  let answers = 0;
  const most = { ...before };
  const done = (async () => {
    while (!stopped) {
      expect(await new Client(gateway.port).ask("GET", "/health")).toEqual({ status: 200, body: "healthy" });
      answers += 1;
      const { rss, descriptors } = usage();
      most.rss = Math.max(most.rss, rss);
      most.descriptors = Math.max(most.descriptors, descriptors);
      await Bun.sleep(50);
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await done;
      return { most, answers };
    },
  };
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`never: ${holds}`);
    await Bun.sleep(50);
  }
}

async function listed(client: Client, provider: string): Promise<string[]> {
  await client.ask("POST", `/api/provider/${provider}`);
  const { servers } = (await client.ask("GET", "/api/servers")).body;
  const records = Object.values<object>(servers).flatMap((cities) => Object.values(cities).flat());
  return records.map(({ hostname }) => hostname).sort();
}
