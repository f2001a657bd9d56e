import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { BINARY, Client } from "./client.ts";

/** Network namespaces and thousands of requests on a busy machine. */
const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);
const FLOOD = 5_000;
const CONNECTIONS = 20;
/** The kernel counts a process's time in hundredths of a second, and its other work in it; the least is its own. */
const MEASUREMENTS = 3;

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway({ program: [BINARY] });
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

/** The process's CPU time in milliseconds; the kernel counts in hundredths of a second. */
function processorMs(): number {
  const fields = readFileSync(`/proc/${gateway.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Sends the same request repeatedly on several connections; returns how often each status was received. */
async function flood(client: Client, path: string, count: number): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  let left = count;
  const connections = Array.from({ length: CONNECTIONS }, async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = client.open().on("error", reject).on("close", resolve);
    const next = () => (left-- > 0 ? socket.write(bytes) : socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      // Answers are short, so each arrives in one piece.
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString("latin1"))?.[1]);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      next();
    });
    next();
    await promise;
  });
  await Promise.all(connections);
  return statuses;
}

test("a client that floods gets its allowance and no more, and other clients do not notice", async () => {
  const start = performance.now();
  let flooding = true;
  const flooded = flood(new Client(gateway.port), "/api/status", FLOOD).finally(() => {
    flooding = false;
  });
  const other = new Client(gateway.port);
  const answers: number[] = [];
  while (flooding) {
    answers.push((await other.send("GET", "/api/providers")).status);
    // Ten a second are allowed.
    await Bun.sleep(110);
  }
  const statuses = await flooded;
  const seconds = (performance.now() - start) / 1000;
  expect(statuses.get(200)).toBeGreaterThanOrEqual(10);
  expect(statuses.get(200)).toBeLessThanOrEqual(10 * (seconds + 1));
  expect((statuses.get(200) ?? 0) + (statuses.get(429) ?? 0)).toBe(FLOOD);
  expect(new Set(answers)).toEqual(new Set([200]));
});

test("a refusal costs a fraction of an answer", async () => {
  const client = new Client(gateway.port);
  await flood(client, "/api/nope", 50);
  const parts: number[] = [];
  for (let at = 0; at < MEASUREMENTS; at += 1) {
    const refusing = processorMs();
    await flood(client, "/api/nope", FLOOD);
    const refusal = (processorMs() - refusing) / FLOOD;
    const serving = processorMs();
    const clients = Array.from({ length: 20 }, () => new Client(gateway.port));
    for (const each of clients) for (let i = 0; i < 10; i++) await each.send("GET", "/api/status");
    parts.push(refusal / ((processorMs() - serving) / 200));
  }
  expect(Math.min(...parts)).toBeLessThan(1 / 2);
});
