import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { download } from "../../src/system/download.ts";
import type { PinnedRequest } from "../../src/system/host.ts";
import { newDirectory } from "../tunnel/directory.ts";

const BEGINS_WITHIN_MS = 300;

/** What comes of a file that a server answers with so. */
async function fetched(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const path = join(newDirectory(), "file");
  const request: PinnedRequest = {
    ...{ url: `http://files.test:${port}/`, headers: {}, withinMs: BEGINS_WITHIN_MS },
    method: "GET",
    addresses: ["127.0.0.1"],
  };
  try {
    await download(request, { path, mostBytes: 100 });
    return readFileSync(path, "utf8");
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("a file whose answer never begins, as after the end of its tunnel, is given up soon", async () => {
  await expect(fetched(() => {})).rejects.toThrow("the request to files.test");
});

test("one that has begun may take longer", async () => {
  const slow = fetched((response) => {
    response.write("slo");
    setTimeout(() => response.end("w"), 2 * BEGINS_WITHIN_MS);
  });
  expect(await slow).toBe("slow");
});
