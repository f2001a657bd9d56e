import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlainServer, type Server as PlainServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import { PIA_AUTHORITY } from "../../src/providers/pia/authority.ts";
import type { HttpsAnswer, PinnedRequest } from "../../src/system/host.ts";
import { slow } from "../fast.ts";
import { makeCertificate } from "./certificate.ts";

const { test } = slow;
const ASKER = join(import.meta.dir, "asker.ts");

let folder: string;
let server: Server;
let port: number;
let plain: PlainServer;
let plainPort: number;
/** The requests that the server received, and their source ports. */
let heard: { text: string; from: number | undefined }[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-https-"));
  const { certificate, key } = await makeCertificate(folder, "list.test");
  server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, converse);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as { port: number }).port;
  plain = createPlainServer(converse);
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  plainPort = (plain.address() as { port: number }).port;
});
afterAll(() => {
  server.close();
  plain.close();
  rmSync(folder, { recursive: true });
});

function converse(socket: Socket): void {
  socket.on("error", () => {});
  socket.once("data", (data) => {
    heard.push({ text: String(data), from: socket.remotePort });
    const path = /^\S+ \/(\S*) /.exec(String(data))?.[1] ?? "";
    const answer = ANSWERS[path];
    const flood = FLOODS[path];
    if (answer !== undefined) socket.end(answer);
    else if (flood === undefined) socket.destroy();
    else pour(socket, ...flood);
  });
}

const ANSWERS: Record<string, string> = {
  other: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  list: 'HTTP/1.1 200 OK\r\nETag: "one"\r\nContent-Length: 2\r\n\r\n[]',
  elsewhere: "HTTP/1.1 302 Found\r\nLocation: https://elsewhere.test/\r\nContent-Length: 0\r\n\r\n",
  short: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[",
  garbage: "nothing of HTTP\r\n\r\n",
  long: `HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 26}\r\n\r\n${" ".repeat(2 ** 26)}`,
};

/** What begins an answer, and what then follows without end. */
const FLOODS: Record<string, [begin: string, more: string]> = {
  body: ["HTTP/1.1 200 OK\r\n\r\n", "x".repeat(65_536)],
  headers: ["HTTP/1.1 200 OK\r\n", `X-More: ${"x".repeat(4_000)}\r\n`],
  header: ["HTTP/1.1 200 OK\r\nX-More: ", "x".repeat(65_536)],
  hints: ["", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)],
  reason: ["HTTP/1.1 200 ", "x".repeat(65_536)],
};

function pour(socket: Socket, begin: string, more: string): void {
  socket.write(begin);
  const go = () => {
    while (!socket.destroyed) if (!socket.write(more)) return void socket.once("drain", go);
  };
  go();
}

/** In a process of its own, because a process reads the trusted certificates when it starts. */
async function asked(request: Partial<PinnedRequest>): Promise<HttpsAnswer | string> {
  heard = [];
  const child = Bun.spawn([process.execPath, ASKER], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, "certificate.pem") },
    stdin: new TextEncoder().encode(
      JSON.stringify({ url: url("list"), method: "GET", headers: {}, addresses: ["127.0.0.1"], ...request }),
    ),
    stdout: "pipe",
  });
  const { answer, fault } = JSON.parse(await child.stdout.text());
  return answer ?? fault;
}

function url(path: string, host = "list.test"): string {
  return `https://${host}:${port}/${path}`;
}

test("a request goes to the given address, with the URL's name, from the given port", async () => {
  const answer = (await asked({ sourcePort: 21_443, headers: { "If-None-Match": '"none"' } })) as HttpsAnswer;
  expect(answer).toEqual({ status: 200, headers: { etag: '"one"', "content-length": "2" }, body: "[]" });
  expect(heard[0]?.from).toBe(21_443);
  expect(heard[0]?.text).toContain(`Host: list.test:${port}\r\n`);
  expect(heard[0]?.text).toContain('If-None-Match: "none"\r\n');
});

test("a request that has to come from this machine's addresses in a tunnel is not sent once they are gone", async () => {
  expect(await asked({ ownAddresses: ["fd00:64::1", "127.0.0.1"] })).toMatchObject({ status: 200 });
  expect(heard).toHaveLength(1);
  const failed = `the request to list.test:${port} failed: `;
  expect(await asked({ ownAddresses: ["192.0.2.9"] })).toStartWith(failed);
  expect(await asked({ ownAddresses: ["fd00:64::1"] })).toBe(
    `${failed}there is no address to reach 127.0.0.1 from`,
  );
  expect(heard).toEqual([]);
});

test("an authority in the request is the only one that counts, whatever the machine trusts", async () => {
  const authority = readFileSync(join(folder, "certificate.pem"), "utf8");
  expect(await asked({ authority })).toMatchObject({ status: 200 });
  expect(await asked({ authority: PIA_AUTHORITY })).toStartWith(`the request to list.test:${port} failed: `);
  expect(heard).toEqual([]);
});

test("an address that refuses the connection is skipped", async () => {
  const answer = await asked({ addresses: ["127.0.0.99", "127.0.0.1"] });
  expect(answer).toMatchObject({ status: 200 });
});

test("a body is sent once", async () => {
  await asked({
    method: "POST",
    url: url("nothing"),
    body: '{"a":1}',
    addresses: ["127.0.0.1", "127.0.0.1"],
  });
  expect(heard).toHaveLength(1);
  expect(heard[0]?.text).toEndWith('\r\n\r\n{"a":1}');
});

test("a redirect is an answer and is not followed", async () => {
  expect(await asked({ url: url("elsewhere") })).toMatchObject({ status: 302 });
});

test.each([
  [
    "a certificate for another name",
    () => ({ url: url("list", "other.test") }),
    "its certificate is for another name",
  ],
  ["an answer that ends too early", () => ({ url: url("short") }), "aborted"],
  ["a change of protocol", () => ({ url: url("other") }), "it switched to another protocol"],
  ["a malformed answer", () => ({ url: url("garbage") }), "Parse Error"],
  ["no answer", () => ({ url: url("nothing") }), "socket hang up"],
  ["an answer that is too large", () => ({ url: url("long") }), "its answer is larger than 32 MiB"],
  ["no address", () => ({ addresses: [] }), "it has no address"],
])("%s is a fault", async (_, request, why) => {
  const fault = await asked(request());
  expect(fault).toMatch(/^the request to (list|other)\.test:\d+ failed: /);
  expect(fault).toContain(why);
});

test("a certificate from an unknown authority is a fault", async () => {
  const certificate = readFileSync(join(folder, "certificate.pem"));
  await makeCertificate(folder, "list.test");
  expect(await asked({})).toStartWith("the request to list.test");
  await Bun.write(join(folder, "certificate.pem"), certificate);
});

const plainUrl = (path: string) => `http://127.0.0.1:${plainPort}/${path}`;

test("plain http reaches a private address, and no other is tried", async () => {
  const answer = (await asked({ url: plainUrl("list"), method: "POST", body: "{}" })) as HttpsAnswer;
  expect(answer).toMatchObject({ status: 200, body: "[]" });
  expect(heard[0]?.text).toStartWith("POST /list HTTP/1.1\r\n");
  for (const address of ["203.0.113.5", "2001:db8::5", "::ffff:203.0.113.5", "8.8.8.8"])
    expect(await asked({ url: plainUrl("list"), addresses: [address] })).toBe(
      `the request to 127.0.0.1:${plainPort} failed: plain http is for the local network only; use https`,
    );
});

test("if only the status matters, a body without end is not read", async () => {
  for (const at of [plainUrl("body"), url("body")])
    expect(await asked({ url: at, onlyStatus: true })).toEqual({ status: 200, headers: {}, body: "" });
});

test.each([
  ["headers without end", "headers", "Parse Error: Header overflow"],
  ["one header without end", "header", "Parse Error: Header overflow"],
  ["a status line without end", "reason", "Parse Error: Header overflow"],
  ["informational answers without end", "hints", "it does not come to its answer"],
])("%s: a fault, in less than the time that an answer may take", async (_, path, why) => {
  for (const at of [plainUrl(path), url(path)]) {
    const fault = await asked({ url: at, onlyStatus: true, withinMs: 30_000 });
    expect(fault).toBe(`the request to ${new URL(at).host} failed: ${why}`);
  }
});

test("an answer that begins and does not go on is given up in time", async () => {
  const silent = createPlainServer((socket) => void socket.on("error", () => {}).write("HTTP/1.1 200"));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port: at } = silent.address() as { port: number };
  const fault = await asked({ url: `http://127.0.0.1:${at}/`, onlyStatus: true, withinMs: 500 });
  expect(fault).toBe(`the request to 127.0.0.1:${at} failed: no answer in time`);
  silent.close();
});
