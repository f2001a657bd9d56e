import { afterAll, expect, test } from "bun:test";
import { isNeighbour, isOurs } from "../../src/http/origin.ts";
import { Home } from "./home.ts";

const home = await Home.start({ names: ["portcullis", "vpn.home.example"] });
const { port } = home;
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());

test("loopback, the LAN and link-local addresses on its interfaces are near, all else is not", () => {
  // As the ruleset needs it, the LAN's prefixes hold the link-local one.
  const lan = ["192.168.1.0/24", "fd00:1::/64", "fe80::/10"];
  const interfaces = ["eth1", "eth1.5"];
  const near = [
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "fe80::1%eth1",
    "febf::1%eth1.5",
    "192.168.1.1",
    "192.168.1.255",
  ];
  for (const peer of [...near, "::ffff:192.168.1.7", "::ffff:127.0.0.1", "fd00:1::9"]) {
    expect({ peer, near: isNeighbour(peer, lan, interfaces) }).toEqual({ peer, near: true });
  }
  const far = ["192.168.2.1", "10.0.0.1", "8.8.8.8", "fd00:2::1", "2001:db8::1", "::ffff:8.8.8.8", "::", ""];
  far.push(
    "fe80::1",
    "fe80::1%",
    "fe80::1%eth0",
    "fe80::1%eth",
    "fe80::1%eth1.5.6",
    "fe80::1%eth1%eth0%eth1",
  );
  for (const peer of [...far, "0.0.0.0", "fec0::1", "localhost", "::ffff:192.168.2.1"]) {
    expect({ peer, near: isNeighbour(peer, lan, interfaces) }).toEqual({ peer, near: false });
  }
});

test("a LAN prefix that cannot be read lets no one in", () => {
  expect(isNeighbour("8.8.8.8", ["", "nonsense", "8.8.8.8/33"], [])).toBe(false);
});

const OURS = [
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

test("Host is an IP literal, localhost or one of our names, with or without port", () => {
  const names = ["portcullis", "vpn.home.example"];
  expect(OURS.filter((host) => !isOurs(host, names))).toEqual([]);
  expect(NOT_OURS.filter((host) => isOurs(host, names))).toEqual([]);
});

test("over the wire, our names are served and others are 403", async () => {
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
      json: { success: false, error: "Host must be this gateway's address or name" },
    });
  }
});

test("two Host lines, none at all and HTTP/1.0 are refused", async () => {
  const two = await home.raw(
    "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
  );
  expect(two.status).toBe(403);
  expect((await home.raw("GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")).status).toBe(400);
  expect((await home.raw("GET /health HTTP/1.0\r\n\r\n")).status).toBe(403);
});

test("an absolute target does not stand in for Host", async () => {
  const { status } = await send("GET", "http://localhost/health", undefined, { Host: "evil.example" });
  expect(status).toBe(403);
});

test("Origin, where sent, is that of Host", async () => {
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

test("what a browser marks as sent by another site is refused", async () => {
  const site = (value: string) => send("GET", "/api/keypair", undefined, { "Sec-Fetch-Site": value });
  expect((await site("cross-site")).status).toBe(403);
  for (const value of ["same-origin", "none"]) expect((await site(value)).status).toBe(200);
});

test("a refused request reaches neither the gateway nor its parser", async () => {
  await home.connect();
  const headers = { Origin: "http://evil.example" };
  expect((await send("POST", "/api/disconnect", undefined, headers)).status).toBe(403);
  expect((await home.again("POST", "/api/connect", "{", headers)).status).toBe(403);
  expect((await home.status()).server).toBe("se-1");
});

test("every path is guarded, health and the document included", async () => {
  for (const path of ["/", "/health", "/swagger/json", "/api/status", "/ws"]) {
    const { status, headers } = await send("GET", path, undefined, { Host: "evil.example" });
    expect({ path, status }).toEqual({ path, status: 403 });
    expect(headers.get("content-type")).toBe("application/json");
  }
});
