import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../src/base/errors.ts";
import { answersRoot } from "../../src/cli/update.ts";
import { answerOn, askOn } from "../../src/operator/socket.ts";

type Known = { echo: [given: string, answer: string] };

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "portcullis-socket-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** What the question fails with if the service throws this. */
async function failureAfter(thrown: unknown): Promise<unknown> {
  const path = join(directory, "service.sock");
  const stopping = new AbortController();
  answerOn<Known>(path, { echo: () => Promise.reject(thrown) }, stopping.signal);
  try {
    return await askOn<Known, "echo">(path, "echo", "a").catch((error: unknown) => error);
  } finally {
    stopping.abort();
  }
}

test("an error keeps its code and its message over the socket", async () => {
  const error = await failureAfter(new GatewayError("storage_full", "the disk is full"));
  expect(error).toBeInstanceOf(GatewayError);
  expect(error).toMatchObject({ code: "storage_full", message: "the disk is full" });
});

test("an unexpected error has the code `unable`, and never shows a key", async () => {
  const key = new Uint8Array(32).fill(7).toBase64();
  const error = await failureAfter(new TypeError(`unexpected ${key}`));
  expect(error).toMatchObject({ code: "unable", message: "unexpected (a key)" });
});

test("a code that only another version knows becomes `unable`", async () => {
  const unix = join(directory, "newer.sock");
  const newer = Bun.serve({
    unix,
    fetch: () => Response.json({ code: "from_the_future", message: "it failed in a new way" }),
  });
  const error: unknown = await askOn<Known, "echo">(unix, "echo", "a").catch((thrown: unknown) => thrown);
  await newer.stop(true);
  expect(error).toBeInstanceOf(GatewayError);
  expect(error).toMatchObject({ code: "unable", message: "it failed in a new way" });
});

test("a request that the service of another version does not know says so", async () => {
  const unix = join(directory, "older.sock");
  const stopping = new AbortController();
  answerOn<Known>(unix, { echo: async (given) => given }, stopping.signal);
  const unknown = askOn<{ shout: [given: string, answer: string] }, "shout">(unix, "shout", "a");
  await expect(unknown).rejects.toThrow(
    new GatewayError(
      "unable",
      "the running service is of another version, which does not know this request; complete the upgrade: sudo portcullis install",
    ),
  );
  stopping.abort();
});

test("a new version that accepts questions and never answers does not serve", async () => {
  const unix = join(directory, "operator.sock");
  const mute = Bun.serve({
    unix,
    routes: { "/": () => new Response("portcullis"), "/direct": () => new Promise<Response>(() => {}) },
  });
  expect(await answersRoot(directory, 0, 50)).toBe(false);
  await mute.stop(true);
  // Positive control.
  const stopping = new AbortController();
  const direct = { direct: async () => ({ allowed: false, devices: [] }) };
  answerOn<{ direct: [given: null, answer: object] }>(unix, direct, stopping.signal);
  expect(await answersRoot(directory, 0)).toBe(true);
  stopping.abort();
});
