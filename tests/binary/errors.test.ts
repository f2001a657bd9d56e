import { afterAll, beforeAll, expect, test } from "bun:test";
import { CUSTOM_EXAMPLE } from "../../src/http/own-servers.ts";
import type { Answer } from "../http/wire.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";
import { BINARY, Client } from "./client.ts";

/** Network namespaces and handshakes that fail, on a busy machine. */
const TIMEOUT_MS = 240_000;

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway({ program: [BINARY], flags: ["--log-level", "debug"] });
}, TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

/** A new client, so that no rate limit applies. */
const fresh = () => new Client(gateway.port);

function seen({ status, headers, json, text }: Answer) {
  return { status, type: headers.get("content-type"), body: json ?? text };
}

function refusal(status: number, error: string) {
  return { status, type: "application/json", body: { success: false, error } };
}

const custom = (fields: object) => JSON.stringify({ ...CUSTOM_EXAMPLE, ...fields });

test(
  "a refusal by the kernel and a server that does not answer are a 500 that says so",
  async () => {
    const client = fresh();
    for (const [name, address] of [
      ["refused", "10.64.0.98/32, fd00:64::98/128"],
      ["silent", "10.64.0.99/32"],
    ]) {
      const { status } = await client.send("POST", "/api/custom/add", custom({ name, address }));
      expect(status).toBe(200);
    }
    await client.ask("POST", "/api/provider/custom");
    const connect = (server: string) => client.send("POST", "/api/connect", JSON.stringify({ server }));
    const ipv6OnNewLinks = (value: 0 | 1) =>
      lab.exec(lab.namespaces.gateway, ["sysctl", "-w", `net.ipv6.conf.default.disable_ipv6=${value}`]);
    // The tunnel's interface then takes no IPv6 address; the message is the kernel's.
    await ipv6OnNewLinks(1);
    const refused = await connect("refused");
    await ipv6OnNewLinks(0);
    expect([refused.status, refused.json.error]).toEqual([
      500,
      expect.stringMatching(/^ip -batch failed: .*IPv6 is disabled/),
    ]);
    const silent =
      "silent did not answer the WireGuard handshake within 10 s: is it up, and are the keys right?";
    expect(seen(await connect("silent"))).toEqual(refusal(500, silent));
    const { body } = await client.ask("GET", "/api/status");
    expect(body).toMatchObject({ connected: false, killswitch_active: true, state: "failed" });
  },
  TIMEOUT_MS,
);

const HOST = "Host: localhost\r\n";
const CLOSE = `${HOST}Connection: close\r\n`;
const BODY = `POST /api/connect HTTP/1.1\r\n${CLOSE}Content-Type: application/json\r\n`;

test("unusual but valid HTTP gets our answers", async () => {
  const raw = async (bytes: string) => seen(await fresh().raw(bytes));
  const healthy = { status: 200, type: "text/plain; charset=utf-8", body: "healthy" };
  const foreign = refusal(
    403,
    "Host must be this gateway's address or name; further names are set by --name",
  );
  const evil = "Host: evil.example\r\n";
  expect(await raw(`GET /health HTTP/1.0\r\n${HOST}\r\n`)).toEqual(healthy);
  expect(await raw("GET /health HTTP/1.0\r\n\r\n")).toEqual(foreign);
  expect(await raw(`GET /health HTTP/1.1\r\n${CLOSE}${evil}\r\n`)).toEqual(foreign);
  expect(await raw(`GET http://localhost/health HTTP/1.1\r\n${CLOSE}\r\n`)).toEqual(healthy);
  expect(await raw(`GET http://localhost/health HTTP/1.1\r\n${evil}Connection: close\r\n\r\n`)).toEqual(
    foreign,
  );
  expect(await raw(`CONNECT evil.example:443 HTTP/1.1\r\n${CLOSE}\r\n`)).toEqual(
    refusal(404, "not found: CONNECT evil.example:443"),
  );
  expect(await raw(`${BODY}Expect: other\r\nContent-Length: 2\r\n\r\n{}`)).toEqual(
    refusal(400, "server is required"),
  );
  expect(await raw(`GET /health HTTP/1.1\r\n${CLOSE}Content-Length: 5\r\n\r\nhello`)).toEqual(healthy);
});

test("pipelined requests are answered in order, or the connection is closed", async () => {
  const head = (path: string, last = false) => `GET ${path} HTTP/1.1\r\n${last ? CLOSE : HOST}\r\n`;
  const statuses = async (bytes: string) => {
    const { status, rest } = await fresh().raw(bytes);
    return status === 0
      ? []
      : [status, ...[...rest.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))];
  };
  // Bun closes the connection if an answer is not ready at once; no client in use sends pipelined requests.
  const inOrder = async (path: string) => {
    const answers = await statuses(head("/nope") + head(path) + head("/nope", true));
    expect([404, 200, 404].slice(0, answers.length)).toEqual(answers);
    return answers.length === 3;
  };
  await until(() => inOrder("/api/providers"));
  await inOrder("/api/status");
});

const HEAD = `GET /health HTTP/1.1\r\n${HOST}`;
const CHUNKS = `${BODY}Transfer-Encoding: chunked\r\n`;

/** Malformed or unsupported HTTP: Bun's parser refuses it before any code of ours. */
const BROKEN: [what: string, bytes: string, status: number][] = [
  ["no Host", "GET /health HTTP/1.1\r\n\r\n", 400],
  ["no version", "GET /health\r\n\r\n", 505],
  ["another version", `GET /health HTTP/2.0\r\n${HOST}\r\n`, 505],
  ["a made-up method", `FOO /health HTTP/1.1\r\n${HOST}\r\n`, 0],
  ["a method in small letters", `get /health HTTP/1.1\r\n${HOST}\r\n`, 0],
  ["a target without a slash", `GET health HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a path over 16 KiB", `GET /${"x".repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
  ["a header over 16 KiB", `${HEAD}X: ${"x".repeat(20_000)}\r\n\r\n`, 431],
  ["300 headers", `${HEAD}${"X: a\r\n".repeat(300)}\r\n`, 431],
  ["a space before the colon", `${HEAD}X : a\r\n\r\n`, 400],
  ["a folded header", `${HEAD}X: a\r\n b\r\n\r\n`, 400],
  ["NUL in a header", `${HEAD}X: a\0\r\n\r\n`, 400],
  ["two lengths", `${BODY}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
  ["a negative length", `${BODY}Content-Length: -2\r\n\r\n{}`, 400],
  ["a length and chunks", `${CHUNKS}Content-Length: 2\r\n\r\n0\r\n\r\n`, 400],
  ["another coding", `${BODY}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
  ["broken chunks", `${CHUNKS}\r\nzz\r\n{}\r\n0\r\n\r\n`, 400],
  ["an endless chunk", `${CHUNKS}\r\nfffffffffffffffffff\r\n{}`, 400],
  ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400],
];

test("malformed HTTP is refused with an empty answer, and the next request is served", async () => {
  for (const [what, bytes, wanted] of BROKEN) {
    const { status, text } = await fresh().raw(bytes);
    expect({ what, status, text }).toEqual({ what, status: wanted, text: "" });
  }
  expect((await fresh().send("GET", "/health")).text).toBe("healthy");
});
