import { afterAll, beforeAll, expect, test } from "bun:test";
import { CUSTOM_EXAMPLE, IMPORT_EXAMPLE } from "../../src/http/own-servers.ts";
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

const CONNECT = "POST /api/connect";
const ADD = "POST /api/custom/add";
const IMPORT = "POST /api/import";

const custom = (fields: object) => JSON.stringify({ ...CUSTOM_EXAMPLE, ...fields });
const file = (config: string) => JSON.stringify({ ...IMPORT_EXAMPLE, config });
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

/** Bodies and what is wrong with each. */
const BODIES: [request: string, body: string | Uint8Array, error: string][] = [
  [CONNECT, "", "body is empty: a JSON object is expected"],
  [CONNECT, '{"server":', "body is not valid JSON"],
  [ADD, "server", "body is not valid JSON"],
  [IMPORT, "{}{}", "body is not valid JSON"],
  [CONNECT, '{"server":"a\0"}', "body is not valid JSON"],
  [CONNECT, "[]", "body must be a JSON object"],
  [ADD, "null", "body must be a JSON object"],
  [IMPORT, "1", "body must be a JSON object"],
  [CONNECT, '{"server":1}', "server must be a non-empty string"],
  [CONNECT, '{"server":""}', "server must be a non-empty string"],
  [ADD, custom({ address: null }), "address must be a string"],
  [ADD, custom({ mtu: "1420" }), "mtu must be a whole number from 576 to 65535"],
  [ADD, custom({ mtu: 70_000 }), "mtu must be a whole number from 576 to 65535"],
  [IMPORT, '{"name":"a","config":{}}', "config must be a string"],
  [CONNECT, "{}", "server is required"],
  [ADD, custom({ name: undefined }), "name is required"],
  [IMPORT, '{"name":"a"}', "config is required"],
  [
    CONNECT,
    '{"servers":"a"}',
    "unknown field servers: the known ones are server, via, transport, targets, back_after_minutes, back_when_quiet, move_when, quantum",
  ],
  [
    CONNECT,
    '{"server":"a","__proto__":{}}',
    "unknown field __proto__: the known ones are server, via, transport, targets, back_after_minutes, back_when_quiet, move_when, quantum",
  ],
  [IMPORT, '{"name":"a","conf":"b"}', "unknown field conf: the known ones are name, config, location"],
  [CONNECT, '{"server":"a","server":"b"}', "body has server twice"],
  [IMPORT, '{"name":"a","n\\u0061me":"b"}', "body has name twice"],
  [CONNECT, Buffer.from('{"server":"\xff"}', "latin1"), "body is not valid UTF-8"],
  [CONNECT, '\uFEFF{"server":"a"}', "body starts with a byte order mark"],
  [CONNECT, '{"server":"a\\u0000"}', "body contains a NUL character"],
  [CONNECT, '{"server":"\\ud83d"}', "body contains half of a surrogate pair, which is not a character"],
  [CONNECT, nested(17), "body is nested too deeply"],
  [IMPORT, nested(32_000), "body is nested too deeply"],
  [ADD, custom({ name: "n".repeat(65) }), "name: must have 1 to 64 characters"],
  [ADD, custom({ name: "../etc" }), "name: contains a slash"],
  [ADD, custom({ name: " a" }), "name: begins or ends with white space"],
  [IMPORT, JSON.stringify({ ...IMPORT_EXAMPLE, name: "a\nb" }), "name: contains a control character"],
  [
    ADD,
    custom({ location: "l".repeat(257) }),
    "location: must be at most 200 characters without control characters",
  ],
  [
    ADD,
    custom({ endpoint: "a\nPostUp = b:1" }),
    "endpoint: the host must be an IPv4 address, [an IPv6 address] or a DNS name",
  ],
  [
    ADD,
    custom({ public_key: "short" }),
    "public_key: must be a WireGuard key: 44 characters of base64, and not all zero",
  ],
  [IMPORT, file("[Interface]\nMtv = 1\n"), "line 2: Mtv: unknown key in [Interface]"],
  [
    IMPORT,
    file("[Interface]\nPostUp = id\n"),
    "line 2: PostUp: the gateway does not run commands from a configuration; nothing was imported",
  ],
];

test("an invalid body is a 400 in JSON that names the field", async () => {
  const got = await Promise.all(
    BODIES.map(async ([request, body]) => [request, body, seen(await send(request, body))]),
  );
  expect(got).toEqual(BODIES.map(([request, body, error]) => [request, body, refusal(400, error)]));
});

function send(request: string, body?: string | Uint8Array, headers: Record<string, string> = {}) {
  const [method = "", path = ""] = request.split(" ");
  return fresh().send(method, path, body, headers);
}

const TYPE = "Content-Type must be application/json";
const LARGE = "body is too large: at most 65536 bytes";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

test("a body of another type, of no type, or of too many bytes is a 400, however it is sent", async () => {
  const types = ["text/plain", "", "application/json; charset=latin1", "multipart/form-data; boundary=x"];
  for (const type of types) {
    expect(seen(await send(CONNECT, "{}", { "Content-Type": type }))).toEqual(refusal(400, TYPE));
    expect(seen(await send("POST /api/disconnect", "{}", { "Content-Type": type }))).toEqual(
      refusal(400, TYPE),
    );
  }
  expect(seen(await send(CONNECT))).toEqual(refusal(400, TYPE));
  const spaces = " ".repeat(70_000);
  const chunks = `${chunk(" ".repeat(40_000)).repeat(2)}0\r\n\r\n`;
  for (const request of [CONNECT, ADD, IMPORT, "POST /api/disconnect", "POST /api/provider/custom"]) {
    expect(seen(await send(request, spaces))).toEqual(refusal(400, LARGE));
    expect(seen(await send(request, "", { "Content-Length": "70000000" }))).toEqual(refusal(400, LARGE));
    expect(seen(await send(request, chunks, { "Transfer-Encoding": "chunked" }))).toEqual(
      refusal(400, LARGE),
    );
  }
});

const SLASH = "the path holds an encoded slash (%2F), which no name has";
const ENCODING = "the path is not valid percent-encoded UTF-8";
const NOBODY = "name: there is no server of this name among your own servers";

/** Requests without a body. */
const PATHS: [request: string, status: number, error: string][] = [
  ["DELETE /api/custom/remove/a%2Fb", 400, SLASH],
  ["DELETE /api/custom/remove/%2e%2e%2f%2e%2e%2fetc", 400, SLASH],
  ["DELETE /api/custom/remove/a%00", 400, "name: contains a control character"],
  ["DELETE /api/custom/remove/%ff", 400, ENCODING],
  ["DELETE /api/custom/remove/a%2", 400, ENCODING],
  ["DELETE /api/custom/remove/..%2e", 404, NOBODY],
  ["DELETE /api/custom/remove/__proto__", 404, NOBODY],
  ["DELETE /api/custom/remove/%252e", 404, NOBODY],
  ["DELETE /api/import/a%2Fb", 400, SLASH],
  ["DELETE /api/import/a%00", 400, "name: contains a control character"],
  ["DELETE /api/import/..%2e", 404, "name: there is no server of this name among the imported servers"],
  ["DELETE /api/import", 404, "not found: DELETE /api/import"],
  ["POST /api/provider/other", 400, "provider must be managed, custom or imported"],
  ["GET /api/nope", 404, "not found: GET /api/nope"],
  ["GET /api/status/", 404, "not found: GET /api/status/"],
  ["GET /API/status", 404, "not found: GET /API/status"],
  ["GET /api/connect", 404, "not found: GET /api/connect"],
  ["PUT /api/disconnect", 404, "not found: PUT /api/disconnect"],
  ["PROPFIND /api/status", 404, "not found: PROPFIND /api/status"],
  ["TRACE /api/status", 404, "not found: TRACE /api/status"],
  ["OPTIONS /api/connect", 404, "not found: OPTIONS /api/connect"],
];

test("unknown paths, names and methods are reported too", async () => {
  const got = await Promise.all(PATHS.map(async ([request]) => [request, seen(await send(request))]));
  expect(got).toEqual(PATHS.map(([request, status, error]) => [request, refusal(status, error)]));
  const unknown = seen(await send(CONNECT, '{"server":"constructor"}'));
  expect(unknown).toEqual(
    refusal(404, "server: there is no server, country or city of this name among the VPN account's servers"),
  );
});

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

test("too many requests and requests from another site's page are refused in the same form", async () => {
  const client = fresh();
  const answers = await Promise.all(Array.from({ length: 11 }, () => client.send("GET", "/api/nope")));
  const [last, ...others] = answers.filter(({ status }) => status === 429);
  expect(others).toEqual([]);
  expect(last?.headers.get("retry-after")).toBe("1");
  expect(last?.json.error).toBe("too many requests: see the X-RateLimit headers and Retry-After");
  const foreign = "Host must be this gateway's address or name; further names are set by --name";
  for (const host of ["evil.example", "", "localhost.evil.example:5000", "127.1"]) {
    expect(seen(await send("GET /api/status", undefined, { Host: host }))).toEqual(refusal(403, foreign));
  }
  const origin = await send("POST /api/disconnect", undefined, { Origin: "http://evil.example" });
  expect(seen(origin)).toEqual(refusal(403, "Origin is another site's"));
});

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
  expect((await send("GET /health")).text).toBe("healthy");
});
