import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exchange } from "../../src/system/uapi.ts";
import { until } from "../rig/tools/until.ts";

const GET = "get=1\n\n";
/** More than the longest time for which a connection is kept. */
const PAUSE_MS = 2_100;
const PROGRAM = join(import.meta.dir, "../../src/system/uapi.ts");

let folder = "";
let socket = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uapi-"));
  socket = join(folder, "wg0.sock");
});

afterEach(() => rmSync(folder, { recursive: true }));

/** A program that answers, as `how` says, each request with its number. */
function program(how: "and waits" | "and closes" | "late" | "never" = "and waits") {
  const seen = { connections: 0, closed: 0, requests: 0 };
  const server = Bun.listen({
    unix: socket,
    socket: {
      open: () => void seen.connections++,
      close: () => void seen.closed++,
      data: async (client) => {
        const answer = `fwmark=${++seen.requests}\nerrno=0\n\n`;
        if (how === "never" && seen.requests === 1) return;
        if (how === "late" && seen.requests === 1) await Bun.sleep(1_500);
        client.write(answer);
        if (how === "and closes") client.end();
      },
    },
  });
  return { seen, stop: () => server.stop(true) };
}

test("requests that follow each other have one connection", async () => {
  const { seen, stop } = program();
  for (const number of [1, 2, 3]) expect(await exchange(socket, GET)).toBe(`fwmark=${number}\nerrno=0\n\n`);
  expect(seen.connections).toBe(1);
  stop();
});

test("a connection that is not used is not kept: the runtime would wake up each second", async () => {
  const { seen, stop } = program();
  await exchange(socket, GET);
  await exchange(socket, GET);
  expect([seen.connections, seen.closed]).toEqual([1, 0]);
  await until(() => seen.closed === 1);
  stop();
});

test("after a pause, a connection is for one request", async () => {
  const { seen, stop } = program();
  await exchange(socket, GET);
  await Bun.sleep(PAUSE_MS);
  await exchange(socket, GET);
  await until(() => seen.closed === 2);
  await exchange(socket, GET);
  expect(seen.connections).toBe(3);
  stop();
});

test("requests at the same time have one each, and one of these is kept", async () => {
  const { seen, stop } = program();
  const answers = await Promise.all([1, 2, 3].map(() => exchange(socket, GET)));
  expect(answers.toSorted()).toEqual([1, 2, 3].map((number) => `fwmark=${number}\nerrno=0\n\n`));
  await until(() => seen.closed === 2);
  await exchange(socket, GET);
  expect(seen.connections).toBe(3);
  stop();
});

test("a program that closes each connection, or was started again, is asked on a new one", async () => {
  const closes = program("and closes");
  for (const number of [1, 2]) expect(await exchange(socket, GET)).toBe(`fwmark=${number}\nerrno=0\n\n`);
  closes.stop();
  const first = program();
  await exchange(socket, GET);
  first.stop();
  rmSync(socket, { force: true });
  const second = program();
  expect(await exchange(socket, GET)).toBe("fwmark=1\nerrno=0\n\n");
  second.stop();
});

test("a late answer is not taken for that to the next request", async () => {
  const { seen, stop } = program("late");
  expect(await exchange(socket, GET)).toBeNull();
  expect(await exchange(socket, GET)).toBe("fwmark=2\nerrno=0\n\n");
  await until(() => seen.closed === 1);
  expect(await exchange(socket, GET)).toBe("fwmark=3\nerrno=0\n\n");
  stop();
});

test("without an answer, a program or a socket there is none", async () => {
  expect(await exchange(socket, GET)).toBeNull();
  const { stop } = program("never");
  expect(await exchange(socket, GET)).toBeNull();
  stop();
  expect(await exchange(socket, GET)).toBeNull();
});

test("a kept connection does not keep a command from ending", async () => {
  const { stop } = program();
  const code = `import { exchange } from ${JSON.stringify(PROGRAM)};
    await exchange(${JSON.stringify(socket)}, ${JSON.stringify(GET)});`;
  const command = Bun.spawn([process.execPath, "-e", code]);
  expect(await command.exited).toBe(0);
  stop();
});
