import { afterAll, expect } from "bun:test";
import { isOwnHost } from "../../src/http/origin.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start({ names: ["portcullis", "vpn.home.example"] });
const { port } = home;
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());

const OURS = [
  "portcullis.home.arpa:5000",
  "localhost",
  "LOCALHOST:5000",
  "127.0.0.1",
  "192.168.1.1:5000",
  "8.8.8.8",
  "[::1]",
  "[fd00::1]:5000",
  "portcullis",
  "Portcullis:5000",
  "portcullis.local",
  "vpn.home.example:80",
];

const NOT_OURS = [
  "nas.home.arpa",
  "",
  "evil.example",
  "localhost.evil.example",
  "portcullis.evil.example",
  "evil.example:5000",
  "portcullis@evil.example",
  "evil.example, localhost",
  "localhost:",
  "localhost:99999",
  "localhost:5000:5000",
  "localhost:x",
  "::1",
  "[::1",
  "[::1]x",
  "[evil.example]",
  "[fe80::1%25eth0]",
  "127.1",
  "2130706433",
  "0x7f.0.0.1",
  "127.0.0.01",
  "local host",
  ".local",
  "%6cocalhost",
];

test("Host is an IP address, localhost or one of the gateway's names, with or without a port", () => {
  const names = ["portcullis", "vpn.home.example"];
  expect(OURS.filter((host) => !isOwnHost(host, names))).toEqual([]);
  expect(NOT_OURS.filter((host) => isOwnHost(host, names))).toEqual([]);
});

test("over the wire, the gateway's names are served and others are 403", async () => {
  for (const host of OURS) {
    expect({ host, status: (await send("GET", "/api/status", undefined, { Host: host })).status }).toEqual({
      host,
      status: 200,
    });
  }
  for (const host of NOT_OURS) {
    const { status, json } = await send("GET", "/api/status", undefined, { Host: host });
    expect({ host, status, json }).toEqual({
      host,
      status: 403,
      json: {
        success: false,
        error: "Host must be this gateway's address or name; further names are set by --name",
      },
    });
  }
});

test("two Host lines, no Host and HTTP/1.0 are refused", async () => {
  const two = await home.raw(
    "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
  );
  expect(two.status).toBe(403);
  expect((await home.raw("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")).status).toBe(400);
  expect((await home.raw("GET /health HTTP/1.0\r\n\r\n")).status).toBe(403);
});

test("an absolute request target does not replace Host", async () => {
  const { status } = await send("GET", "http://localhost/health", undefined, { Host: "evil.example" });
  expect(status).toBe(403);
});

test("Origin, if sent, must match Host", async () => {
  const host = `localhost:${port}`;
  const same = [`http://localhost:${port}`, `HTTP://LOCALHOST:${port}`];
  for (const origin of same) {
    const { status } = await send("GET", "/api/status", undefined, { Host: host, Origin: origin });
    expect({ origin, status }).toEqual({ origin, status: 200 });
  }
  expect(
    (await send("GET", "/health", undefined, { Host: "[::1]", Origin: "http://[0::1]:80" })).status,
  ).toBe(200);
  const other = ["null", "", "http://localhost", `https://localhost:${port}`, `http://127.0.0.1:${port}`];
  for (const origin of [
    ...other,
    "http://evil.example",
    `http://localhost:${port}/x`,
    `http://localhost:${port}, http://evil.example`,
  ]) {
    const { status, json } = await send("POST", "/api/disconnect", undefined, { Host: host, Origin: origin });
    expect({ origin, status, error: json.error }).toEqual({
      origin,
      status: 403,
      error: "Origin is another site's",
    });
  }
});

test("a request that a browser marks as cross-site is refused", async () => {
  const site = (value: string) => send("GET", "/api/keypair", undefined, { "Sec-Fetch-Site": value });
  expect((await site("cross-site")).status).toBe(403);
  for (const value of ["same-origin", "none"]) expect((await site(value)).status).toBe(200);
});

test("a link on another site leads to a page in a window of its own, and to nothing else", async () => {
  const link = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  const visit = (method: "GET" | "POST", path: string, more: Record<string, string> = {}) =>
    send(method, path, undefined, { ...link, ...more }).then(({ status }) => status);
  expect(await visit("GET", "/")).toBe(200);
  expect(await visit("GET", "/swagger")).toBe(200);
  for (const path of ["/api/keypair", "/health", "/swagger/json", "/dashboard/x"])
    expect([path, await visit("GET", path)]).toEqual([path, 403]);
  expect(await visit("POST", "/")).toBe(403);
  expect(await visit("GET", "/", { "Sec-Fetch-Mode": "no-cors" })).toBe(403);
  expect(await visit("GET", "/", { "Sec-Fetch-Dest": "iframe" })).toBe(403);
  expect(await visit("GET", "/", { Host: "evil.example" })).toBe(403);
});

test("a refused request reaches neither the gateway nor its parser", async () => {
  await home.connect();
  const headers = { Origin: "http://evil.example" };
  expect((await send("POST", "/api/disconnect", undefined, headers)).status).toBe(403);
  expect((await home.again("POST", "/api/connect", "{", headers)).status).toBe(403);
  expect((await home.status()).server).toBe("se-1");
});

test("every path is checked, health and the OpenAPI document included", async () => {
  for (const path of ["/", "/health", "/swagger/json", "/api/status", "/ws"]) {
    const { status, headers } = await send("GET", path, undefined, { Host: "evil.example" });
    expect({ path, status }).toEqual({ path, status: 403 });
    expect(headers.get("content-type")).toBe("application/json");
  }
});
