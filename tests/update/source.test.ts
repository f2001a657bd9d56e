import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { type Limits, type Pin, sourceAt } from "../../src/update/source.ts";
import { makeCertificate } from "../system/certificate.ts";

const MAX_BYTES = 1_000;

let folder: string;
let file: string;
let server: Server;
let port: number;
let pin: Pin;
/** What the server was asked for. */
let asked: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-source-"));
  file = join(folder, "file");
  const { certificate, key } = await makeCertificate(folder, "files.test");
  const authority = readFileSync(certificate, "utf8");
  server = createServer({ key: readFileSync(key), cert: authority }, converse);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as { port: number }).port;
  pin = async (request) => ({ ...request, addresses: ["127.0.0.1"], authority });
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked = [];
});
afterEach(() => rmSync(file, { force: true }));

const redirect = (to: string) => `HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`;

const ANSWERS: Record<string, () => string> = {
  "/1/notes.md": () => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nnotes",
  "/1/chunked": () => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnotes\r\n0\r\n\r\n",
  "/1/elsewhere": () => redirect("/1/once%20more"),
  "/1/once%20more": () => redirect(`https://files.test:${port}/1/notes.md`),
  "/1/plain": () => redirect(`http://files.test:${port}/1/notes.md`),
  "/1/round": () => redirect("round"),
  "/1/short": () => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnotes",
  "/1/cut": () => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnotes\r\n",
  "/1/announced": () => "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
  "/1/long": () => `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${"x".repeat(1_001)}`,
};

function converse(socket: Socket): void {
  socket.on("error", () => {});
  socket.once("data", (data) => {
    const path = /^GET (\S*) /.exec(String(data))?.[1] ?? "";
    asked.push(path);
    socket.end(ANSWERS[path]?.() ?? "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
  });
}

function fetch(name: string, limits: Partial<Limits> = {}): Promise<void> {
  const source = sourceAt(`https://files.test:${port}/1/`, pin);
  const { signal } = new AbortController();
  return source.fetch(name, file, { mostBytes: MAX_BYTES, signal, ...limits });
}

test("a file beside the list is written as it comes", async () => {
  const seen: (readonly [number, number | null])[] = [];
  await fetch("notes.md", { onBytes: (...both) => seen.push(both) });
  expect(readFileSync(file, "utf8")).toBe("notes");
  expect(seen).toEqual([[5, 5]]);
  rmSync(file);
  await fetch("chunked", { onBytes: (...both) => seen.push(both) });
  expect(readFileSync(file, "utf8")).toBe("notes");
  expect(seen.at(-1)).toEqual([5, null]);
});

test("redirects to https are followed, each to where the gateway lets it go", async () => {
  const pinned: string[] = [];
  const noted: Pin = (request) => {
    pinned.push(new URL(request.url).pathname);
    return pin(request);
  };
  const { signal } = new AbortController();
  const source = sourceAt(`https://files.test:${port}/1/portcullis_1.2.3_arm64.deb`, noted);
  expect(source.archive).toBe("portcullis_1.2.3_arm64.deb");
  await source.fetch("elsewhere", file, { mostBytes: MAX_BYTES, signal });
  expect(readFileSync(file, "utf8")).toBe("notes");
  expect(pinned).toEqual(["/1/elsewhere", "/1/once%20more", "/1/notes.md"]);
});

test.each([
  ["plain", "files.test:PORT redirects to an address without https, which is not followed"],
  ["round", "files.test:PORT redirects more than 5 times"],
  ["missing", "files.test:PORT has no missing: it answered 404"],
  ["short", "the request to files.test:PORT failed: aborted"],
  ["cut", "the request to files.test:PORT failed: aborted"],
  ["announced", `the request to files.test:PORT failed: its answer is larger than ${MAX_BYTES} bytes`],
  ["long", `the request to files.test:PORT failed: its answer is larger than ${MAX_BYTES} bytes`],
])("an answer %p is refused", async (name, why) => {
  await expect(fetch(name)).rejects.toThrow(why.replace("PORT", `${port}`));
});

test("where the gateway does not let it go, nothing is asked", async () => {
  const refused = () => Promise.reject(new Error("there is no tunnel"));
  const source = sourceAt(`https://files.test:${port}/1/`, refused);
  const { signal } = new AbortController();
  await expect(source.fetch("notes.md", file, { mostBytes: MAX_BYTES, signal })).rejects.toThrow(
    "there is no tunnel",
  );
  expect(asked).toEqual([]);
  expect(existsSync(file)).toBe(false);
});

test("a server whose certificate is not trusted gets no request", async () => {
  const source = sourceAt(`https://files.test:${port}/1/`, async (request) => ({
    ...request,
    addresses: ["127.0.0.1"],
  }));
  const { signal } = new AbortController();
  await expect(source.fetch("notes.md", file, { mostBytes: MAX_BYTES, signal })).rejects.toThrow(
    `the request to files.test:${port} failed: `,
  );
  expect(asked).toEqual([]);
});

test.each([
  ["http://files.test/1/", "the address of a release begins with https://"],
  ["file:///etc/", "the address of a release begins with https://"],
  ["https://", "the address of a release begins with https://"],
  ["https://user@files.test/1/", "the address of a release has no user"],
  ["https://files.test/1/?a=b", "the address of a release has no user"],
  ["https://files.test/1/#a", "the address of a release has no user"],
  ["https://files.test/1", "https://files.test/1 is neither the folder of a release nor one of its archives"],
  ["https://files.test/1/a.deb", "https://files.test/1/a.deb is neither the folder"],
])("%s is no place of a release", (place, why) => {
  expect(() => sourceAt(place, pin)).toThrow(why);
});
