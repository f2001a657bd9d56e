import { afterAll, expect } from "bun:test";
import { once } from "node:events";
import net from "node:net";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { jsonBody } from "../../src/http/body.ts";
import { parseJson } from "../../src/http/json.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { slow } from "../fast.ts";
import { CONFIG } from "../servers/example.ts";
import { Home } from "./home.ts";
import { request } from "./wire.ts";

const { test } = slow;

const home = await Home.start();
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());

async function refusalOf(body: string | Uint8Array, path = "/api/connect"): Promise<string> {
  const { status, json } = await send("POST", path, body);
  expect(status).toBe(400);
  expect(json.success).toBe(false);
  return json.error;
}

const NO_JSON_TYPE = "Content-Type must be application/json";

test.each(["/api/connect", "/api/disconnect", "/api/provider/custom"])(
  "%s refuses a body with another content type, which a foreign page could send",
  async (path) => {
    const types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""];
    for (const type of [...types, "application/jsonp", "application/json; charset=latin1", "text/json"]) {
      const { status, json } = await send("POST", path, '{"server":"se-1"}', { "Content-Type": type });
      expect({ type, status, json }).toEqual({
        ...{ type, status: 400 },
        json: { success: false, error: NO_JSON_TYPE },
      });
    }
    expect(await home.status()).toMatchObject({ state: "disconnected", provider: "managed" });
  },
);

test("a request that needs a body but has none is a 400", async () => {
  expect((await send("POST", "/api/connect")).json.error).toBe(NO_JSON_TYPE);
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const SERVER = { name: "a", endpoint: "b", public_key: "c", private_key: "d", address: "e" };
const server = (fields: object) => JSON.stringify({ ...SERVER, ...fields });
const [CONNECT, ADD, IMPORT] = ["/api/connect", "/api/custom/add", "/api/import"] as const;
const CONNECT_FIELDS =
  "server, via, transport, targets, back_after_minutes, back_when_quiet, move_when, quantum";
const MALFORMED = "body is not valid JSON";
const NO_OBJECT = "body must be a JSON object";
const TOO_DEEP = "body is nested too deeply";
const MTU = "mtu must be a whole number from 576 to 65535";
const KEEPALIVE = "persistent_keepalive must be a whole number from 0 to 65535";

/** What is wrong with a body as such, and with a field of it; what a value has to be is told by its own room's tests. */
const REFUSED: [error: string, path: string, ...bodies: (string | Uint8Array)[]][] = [
  ["body is empty: a JSON object is expected", CONNECT, ""],
  [MALFORMED, CONNECT, "{", "x", "{'server':'a'}", '{"server":"a",}', '{"server":"a"} x', "NaN", " "],
  [MALFORMED, IMPORT, "{}{}", '{"name":"a\0"}'],
  [NO_OBJECT, CONNECT, "null", "[]", '"x"', "1", "true", nested(16)],
  ["body is not valid UTF-8", CONNECT, Buffer.from('{"server":"\xff"}', "latin1")],
  ["body starts with a byte order mark", CONNECT, '\uFEFF{"server":"se-1"}'],
  ["body has server twice", CONNECT, '{"server":"a","server":"b"}', '{"server":"a","s\\u0065rver":"b"}'],
  ["body has server twice", CONNECT, '{"server":"a\\"b","server":"b"}'],
  ["body has c twice", CONNECT, '{"a":[{"b":{"c":1 , "c" :2}}]}'],
  ["body has __proto__ twice", CONNECT, '{"__proto__":1,"__proto__":1}'],
  ["body contains a NUL character", CONNECT, '{"server":"a\\u0000"}', '{"\\u0000":"a"}'],
  ["body contains half of a surrogate pair, which is not a character", CONNECT, '{"server":"\\ud83d"}'],
  [TOO_DEEP, CONNECT, nested(17), nested(30_000)],
  ["server is required", CONNECT, "{}"],
  ["config is required", IMPORT, '{"name":"a"}'],
  ...Object.keys(SERVER).map(
    (field) => [`${field} is required`, ADD, server({ [field]: undefined })] as never,
  ),
  [`unknown field servre: the known ones are ${CONNECT_FIELDS}`, CONNECT, '{"servre":"a"}'],
  [`unknown field __proto__: the known ones are ${CONNECT_FIELDS}`, CONNECT, '{"server":"a","__proto__":{}}'],
  [
    'unknown field "allowed ips": the known ones are name, endpoint, public_key, private_key, address, dns, ' +
      "allowed_ips, location, preshared_key, persistent_keepalive, mtu, jc, jmin, jmax, s1, s2, s3, s4, h1, h2, h3, h4, " +
      "i1, i2, i3, i4, i5",
    ADD,
    server({ "allowed ips": "" }),
  ],
  ["server must be a non-empty string", CONNECT, '{"server":1}', '{"server":""}'],
  ["name must be a string", ADD, server({ name: null })],
  ["private_key must be a string", ADD, server({ private_key: ["x"] })],
  ["config must be a string", IMPORT, '{"name":"a","config":{}}'],
  [MTU, ADD, server({ mtu: 575 }), server({ mtu: "1420" }), server({}).replace("}", ',"mtu":1e999}')],
  [KEEPALIVE, ADD, server({ persistent_keepalive: 65536 }), server({ persistent_keepalive: 0.5 })],
];

test.each(REFUSED)(
  "%s: what is wrong with a body of %s is a 400 that says so",
  async (error, path, ...bodies) => {
    for (const body of bodies) expect(await refusalOf(body, path)).toBe(error);
  },
);

const TOO_LARGE = "body is too large: at most 65536 bytes";

test("64 KiB are accepted and one byte more is a 400", async () => {
  const body = (length: number) => JSON.stringify({ name: "a", config: formatConfig(CONFIG) }).padEnd(length);
  expect((await send("POST", "/api/import", body(65_536))).text).toBe('{"success":true}');
  expect(await refusalOf(body(65_537), "/api/import")).toBe(TOO_LARGE);
  expect(await refusalOf(body(2_000_000), "/api/import")).toBe(TOO_LARGE);
});

test("a body without a stated length is limited too", async () => {
  const chunked = (length: number) => `${length.toString(16)}\r\n${" ".repeat(length)}\r\n`;
  const body = '11\r\n{"server":"se-1"}\r\n0\r\n\r\n';
  const headers = { "Transfer-Encoding": "chunked" };
  expect((await send("POST", "/api/connect", chunked(60_000) + body, headers)).status).toBe(200);
  const answer = await send("POST", "/api/connect", chunked(60_000) + chunked(60_000) + body, headers);
  expect({ status: answer.status, error: answer.json?.error }).toEqual({ status: 400, error: TOO_LARGE });
});

test("a large body is refused by its stated length, before it is sent, also where none is needed", async () => {
  for (const path of ["/api/connect", "/api/disconnect", "/api/provider/custom"]) {
    const { status, json } = await send("POST", path, "{}", { "Content-Length": "70000000" });
    expect({ path, status, error: json.error }).toEqual({ path, status: 400, error: TOO_LARGE });
  }
});

test("what a client goes on to send after the answer is not read", async () => {
  const headers = { "Content-Length": "300000000", Connection: "keep-alive" };
  const { status } = await home.raw(request("GET", "/health", undefined, headers));
  expect(status).toBe(200);
  const chunked = request("POST", "/api/disconnect", "1\r\n ", {
    "Transfer-Encoding": "chunked",
    Connection: "keep-alive",
    "Content-Type": "text/plain",
    Host: "evil.example",
  });
  expect((await home.raw(chunked)).status).toBe(403);
}, 5_000);

test("whatever JSON.stringify writes is read back", async () => {
  const values = fc.jsonValue({ maxDepth: 8, stringUnit: "grapheme" });
  const noNul = values.filter((value) => !JSON.stringify(value).includes("\\u0000"));
  await fc.assert(
    fc.asyncProperty(noNul, async (value) =>
      expect(await parseJson(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value))),
    ),
  );
});

test("any text is either refused or read as JSON.parse reads it", async () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", ",", ":", '"', '"a"', "\\", "1", " ", "\\u0000", "null");
  const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
  const read = async (text: string) => {
    try {
      return { value: await parseJson(text) };
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
      return null;
    }
  };
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const result = await read(text);
      if (result !== null) expect(result.value).toEqual(JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});

/** How many turns of the event loop pass meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = async () => {
    for (; !isOver; turns++) await nextTurn();
  };
  void count();
  await work().finally(() => {
    isOver = true;
  });
  return turns;
}

test("a body of many pieces, and one of many values, take many turns of the event loop", async () => {
  const pieces = [...JSON.stringify({ name: "x".repeat(2_000) })].map((each) => Buffer.from(each));
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/", { method: "POST", body, headers });
  const read = jsonBody({ take: () => {} });
  expect(await turnsDuring(() => read({ request }))).toBeGreaterThan(1_000);
  const values = JSON.stringify(Array(60_000).fill("a"));
  expect(await turnsDuring(() => parseJson(values))).toBeGreaterThan(5);
});

test("what JSON.parse would take long for is refused before", async () => {
  const refused = (text: string) => parseJson(text).catch((error: Error) => error.message);
  expect(await refused(`[${"1,".repeat(70_000)}1]`)).toBe("body has too many values");
  const names = Array.from({ length: 5_000 }, (_, at) => `"f${at}":1`);
  expect(await refused(`{${names.join(",")}}`)).toBe("body has an object with too many fields");
});

test("bodies that a client does not finish leave room for those of others", async () => {
  const sockets: net.Socket[] = [];
  /** States a body of the longest length, and sends none of it; the status if it is answered. */
  const begin = async (localAddress: string): Promise<number | null> => {
    if (sockets.length % 5 === 0) await home.pass(1_000);
    const socket = net.connect({ host: "127.0.0.1", port: home.port, localAddress });
    sockets.push(socket);
    const head = request("POST", "/api/custom/add", " ".repeat(65_536)).subarray(0, 200);
    socket.write(head);
    const answered = once(socket, "data").then(([data]) => Number(`${data}`.split(" ")[1]));
    return Promise.race([answered, Bun.sleep(30).then(() => null)]);
  };
  const first: (number | null)[] = [];
  while (first.at(-1) !== 429 && first.length < 100) first.push(await begin("127.0.0.1"));
  expect(first).toEqual([...Array(first.length - 1).fill(null), 429]);
  expect(await begin("127.0.0.2")).toBeNull();
  for (const socket of sockets) socket.destroy();
  const add = async () => (await send("POST", "/api/custom/add", JSON.stringify(SERVER))).status;
  while ((await add()) === 429) await Bun.sleep(10);
}, 180_000);
