import { afterEach, beforeEach, expect } from "bun:test";
import net from "node:net";
import tls from "node:tls";
import type { KeyedCertificate } from "../../src/certificates/certificate.ts";
import { selfSigned } from "../../src/certificates/self-signed.ts";
import { HttpsListener } from "../../src/http/https-listener.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { Home } from "./home.ts";
import { type Answer, answerFrom, request } from "./wire.ts";

const { test } = slow;

const NAMES = { names: ["portcullis", "localhost"], addresses: [ip("127.0.0.1")] };
const FIRST = await selfSigned(NAMES, Date.now());
const SECOND = await selfSigned(NAMES, Date.now());

let home: Home;
let https: HttpsListener;
beforeEach(async () => {
  home = await Home.start();
  https = new HttpsListener(home.app, "127.0.0.1", 0);
  https.use(FIRST);
});
afterEach(async () => {
  await https.stop();
  await home.stop();
});

const port = () => https.listensAt ?? 0;

/** A connection that trusts this certificate alone. */
async function secure(
  { certificate }: KeyedCertificate,
  more: tls.ConnectionOptions = {},
): Promise<tls.TLSSocket> {
  const ready = Promise.withResolvers<void>();
  const socket = tls.connect({
    host: "127.0.0.1",
    port: port(),
    ca: certificate,
    servername: "portcullis",
    ...more,
  });
  socket.once("secureConnect", ready.resolve).once("error", ready.reject);
  await ready.promise;
  return socket;
}

async function send(...asked: Parameters<typeof request>): Promise<Answer> {
  await home.pass(1_000);
  return over(await secure(FIRST), request(...asked));
}

async function over(socket: tls.TLSSocket, bytes: Uint8Array): Promise<Answer> {
  const received: Uint8Array[] = [];
  socket.on("data", (chunk: Uint8Array) => void received.push(chunk)).on("error", () => {});
  socket.write(bytes);
  await new Promise((done) => socket.once("close", done));
  return answerFrom(Buffer.concat(received).toString());
}

test("every path is the same over HTTPS, also one that ends in a slash or that nothing answers", async () => {
  for (const path of ["/health", "/swagger", "/swagger/", "/api/nothing", "/api/status/"]) {
    const [secured, plain] = [await send("GET", path), await home.send("GET", path)];
    expect([path, secured.status, secured.text]).toEqual([path, plain.status, plain.text]);
  }
  expect((await send("GET", "/swagger/")).status).toBe(200);
});

test("HTTPS answers as HTTP does, with the same checks, limits and headers", async () => {
  for (const path of ["/api/status", "/health", "/api/nothing"]) {
    const [plain, secured] = [await home.send("GET", path), await send("GET", path)];
    expect([secured.status, secured.text]).toEqual([plain.status, plain.text]);
    expect([...secured.headers.keys()]).toEqual([...plain.headers.keys()]);
  }
  expect((await send("GET", "/api/status", undefined, { Host: "evil.example" })).status).toBe(403);
  expect((await send("POST", "/api/connect", "{")).status).toBe(400);
  expect((await send("GET", "/api/devices/self")).json.address).toBe("127.0.0.1");
});

test("Origin must be that of HTTPS here, and that of HTTP there", async () => {
  const from = async (origin: string) =>
    (await send("GET", "/api/status", undefined, { Host: `localhost:${port()}`, Origin: origin })).status;
  expect(await from(`https://localhost:${port()}`)).toBe(200);
  expect(await from(`http://localhost:${port()}`)).toBe(403);
  expect(await from("https://localhost")).toBe(403);
  const absolute = await send("GET", `http://localhost:${port()}/api/status`, undefined, {
    ...{ Host: `localhost:${port()}`, Origin: `http://localhost:${port()}` },
  });
  expect(absolute.status).toBe(403);
});

test("/ws is answered over TLS, and keeps its events when another certificate takes over", async () => {
  const messages: string[] = [];
  const socket = new WebSocket(`wss://localhost:${port()}/ws`, { tls: { ca: FIRST.certificate } });
  socket.onmessage = ({ data }) => void messages.push(JSON.parse(data).type);
  let isOpen = true;
  socket.onclose = () => {
    isOpen = false;
  };
  await until(() => messages.length === 1);
  https.use(SECOND);
  const other = new WebSocket(`wss://localhost:${port()}/ws`, { tls: { ca: SECOND.certificate } });
  const others: string[] = [];
  other.onmessage = ({ data }) => void others.push(JSON.parse(data).type);
  await until(() => others.length === 1);
  home.parts.events.publish({ type: "server_update", payload: { provider: "custom", count: 3 } });
  await until(() => messages.length === 2 && others.length === 2);
  expect([messages.at(-1), others.at(-1), isOpen]).toEqual(["server_update", "server_update", true]);
  socket.close();
  other.close();
});

test("a request that is under way gets its answer when another certificate takes over", async () => {
  const held = home.hold("nft -s -n list table inet portcullis");
  const answer = send("GET", "/api/status");
  await held.begun;
  https.use(SECOND);
  held.release();
  expect((await answer).status).toBe(200);
  const renewed = await secure(SECOND);
  expect((await over(renewed, request("GET", "/health"))).text).toBe("healthy");
});

test("a certificate that TLS cannot use is refused, and the former one goes on", async () => {
  expect(() => https.use({ certificate: FIRST.certificate, key: SECOND.key })).toThrow();
  expect(() => https.use({ certificate: "text", key: "text" })).toThrow();
  expect((await send("GET", "/health")).text).toBe("healthy");
});

test("clients that stall in the handshake, or speak no TLS, hold up nobody else", async () => {
  const stalled = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const socket = net.connect(port(), "127.0.0.1").on("error", () => {});
      await new Promise((done) => socket.once("connect", done));
      // Nothing, the beginning of a record, one that says to be longer, and another protocol.
      const first =
        ["", "\x16\x03\x01", "\x16\x03\x01\x40\x00\x01\x00", "GET / HTTP/1.1\r\n\r\n"][index % 4] ?? "";
      socket.write(Buffer.from(first, "latin1"));
      return socket;
    }),
  );
  expect((await send("GET", "/health")).text).toBe("healthy");
  expect((await home.send("GET", "/health")).text).toBe("healthy");
  for (const socket of stalled) socket.destroy();
});

test("only TLS 1.2 and 1.3 are spoken, with authenticated encryption and forward secrecy", async () => {
  const ciphers = (await secure(FIRST, { maxVersion: "TLSv1.2" })).getCipher();
  expect(ciphers.name).toMatch(/^ECDHE-ECDSA-(AES(128|256)-GCM|CHACHA20)/);
  expect((await secure(FIRST)).getProtocol()).toBe("TLSv1.3");
  for (const refused of [
    "AES128-SHA",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "AES128-GCM-SHA256",
  ])
    expect(await handshake(["-tls1_2", "-cipher", `${refused}:@SECLEVEL=0`])).toBe(false);
  for (const old of ["-tls1", "-tls1_1"])
    expect(await handshake([old, "-cipher", "ALL:@SECLEVEL=0"])).toBe(false);
  expect(await handshake(["-tls1_2"])).toBe(true);
});

/** Whether OpenSSL's client, which also speaks what is old, completes a handshake. */
async function handshake(options: string[]): Promise<boolean> {
  const client = Bun.spawn(["openssl", "s_client", "-connect", `127.0.0.1:${port()}`, ...options], {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "ignore" },
  });
  const text = await client.stdout.text();
  expect(text).toContain("CONNECTED");
  return !text.includes("Cipher is (NONE)");
}
