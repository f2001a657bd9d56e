import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { PIA_AUTHORITY } from "../../src/providers/pia/authority.ts";
import type { HttpsAnswer, PinnedRequest } from "../../src/system/host.ts";
import { slow } from "../fast.ts";
import { makeCertificate } from "./certificate.ts";

const { test } = slow;
const MAIN = join(import.meta.dir, "../../src/main.ts");

let folder: string;
let server: Server;
let port: number;
/** The requests that the server received, and their source ports. */
let heard: { text: string; from: number | undefined }[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-https-"));
  const { certificate, key } = await makeCertificate(folder, "list.test");
  server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, converse);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as { port: number }).port;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

function converse(socket: TLSSocket): void {
  socket.on("error", () => {});
  socket.once("data", (data) => {
    heard.push({ text: String(data), from: socket.remotePort });
    const path = /^\S+ \/(\S*) /.exec(String(data))?.[1] ?? "";
    const answer = ANSWERS[path];
    if (answer === undefined) socket.destroy();
    else socket.end(answer);
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

/** Runs `portcullis https`, because a process reads the trusted certificates when it starts. */
async function asked(request: Partial<PinnedRequest>): Promise<HttpsAnswer | string> {
  heard = [];
  const child = Bun.spawn([process.execPath, MAIN, "https"], {
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
