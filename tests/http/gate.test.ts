import { afterEach, expect } from "bun:test";
import type { Tokens } from "../../src/access/tokens.ts";
import type { Settings } from "../../src/base/settings.ts";
import { createApp } from "../../src/http/app.ts";
import { Clients } from "../../src/http/clients.ts";
import { EventSockets, type SocketData } from "../../src/http/event-sockets.ts";
import { Gate } from "../../src/http/gate.ts";
import { accessOf } from "../../src/http/rules.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { bearing, SecureHome } from "./secure-home.ts";
import { knock } from "./socket.ts";
import { answerFrom } from "./wire.ts";

const { test } = slow;

type Auth = Settings["auth"];

let home: Home;
afterEach(() => home?.stop());

interface Keys {
  phone: string;
  tablet: string;
}

/** A home with a token for changes and a read-only one. */
async function homeWith(auth: Auth): Promise<Keys> {
  home = await Home.start({}, {}, auth);
  const { tokens } = home.parts;
  return {
    phone: (await tokens.add("phone", false)).token,
    tablet: (await tokens.add("tablet", true)).token,
  };
}

const get = (path: string, headers: Record<string, string> = {}) =>
  home.send("GET", path, undefined, headers);
const post = (path: string, headers: Record<string, string> = {}) =>
  home.send("POST", path, undefined, headers);

const HOW = "to make one, on the gateway: sudo portcullis token add <name>";
const MISSING = `a token is needed, as Authorization: Bearer <token>; ${HOW}`;
const WRONG = `the token is not valid, or was removed; ${HOW}`;
const NOBODY = `portcullis_${"0".repeat(26)}`;

/** What needs no token, whatever the setting: health, and the files of the pages. */
const OPEN = [
  "GET /",
  "GET /dashboard/:name",
  "GET /health",
  "GET /swagger",
  "GET /swagger/",
  "GET /swagger/LICENSE",
  "GET /swagger/init.js",
  "GET /swagger/swagger-ui-bundle.js",
  "GET /swagger/swagger-ui-bundle.js.LICENSE.txt",
  "GET /swagger/swagger-ui.css",
];

/** Every route of the app that HTTP serves, or those for which it leads to HTTPS, with something in place of each parameter. */
function routesOf(
  app: ReturnType<typeof createApp>["app"],
  accesses: readonly ReturnType<typeof accessOf>[] = [undefined, "open"],
): { route: string; method: string; path: string }[] {
  return app.routes
    .filter(({ path }) => accesses.includes(accessOf(path)))
    .map(({ method, path }) => ({
      route: `${method} ${path}`,
      method,
      path: path.replace(/:\w+/g, "managed"),
    }));
}

function appOf(): ReturnType<typeof createApp>["app"] {
  const { settings, tokens } = home.parts;
  const gate = new Gate(settings.auth, tokens);
  const rest = {
    names: [],
    lan: () => [],
    interfaces: () => [],
    clock: home.host,
    log: () => {},
    fault: () => {},
    saved: async () => {},
    https: null,
  };
  return createApp(
    { ...home.parts, hostname: "portcullis" },
    { ...rest, gate, gluetun: true, interfaceOf: async () => null },
  ).app;
}

test.each<[Auth, (method: string) => boolean]>([
  ["off", () => true],
  ["write", (method) => method === "GET"],
  ["on", () => false],
])(
  "with --auth %s, every route is answered without a token, or refused, as it should be",
  async (auth, isFree) => {
    await homeWith(auth);
    const routes = routesOf(appOf());
    expect(routes.length).toBeGreaterThan(40);
    expect(
      routes
        .filter(({ route }) => OPEN.includes(route))
        .map(({ route }) => route)
        .toSorted(),
    ).toEqual(OPEN);
    for (const { route, method, path } of routes) {
      const { status, json, headers } = await home.send(method, path);
      const isOpen = isFree(method) || OPEN.includes(route);
      expect({ route, isRefused: status === 401 }).toEqual({ route, isRefused: !isOpen });
      if (isOpen) continue;
      expect(json).toEqual({ success: false, error: MISSING });
      expect(headers.get("www-authenticate")).toBe('Bearer realm="Portcullis"');
    }
  },
);

test.each<Auth>(["write", "on"])(
  "with --auth %s, a read-only token reads every route and changes none; another one passes everywhere",
  async (auth) => {
    const { phone, tablet } = await homeWith(auth);
    for (const { route, method, path } of routesOf(appOf())) {
      const seen = await home.send(method, path, undefined, bearing(tablet));
      expect({ route, isRefused: seen.status === 403 }).toEqual({ route, isRefused: method !== "GET" });
      if (method !== "GET") {
        expect(seen.json).toEqual({ success: false, error: `this token may only read; for changes, ${HOW}` });
        expect(seen.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
      }
      const { status } = await home.send(method, path, undefined, bearing(phone));
      expect({ route, isRefused: [401, 403].includes(status) }).toEqual({ route, isRefused: false });
    }
  },
);

test.each<Auth>(["write", "on"])(
  "with --auth %s, what is private needs HTTPS, and a token that may change things even for reading",
  async (auth) => {
    const { phone, tablet } = await homeWith(auth);
    const secure = await SecureHome.of(home);
    const routes = routesOf(appOf(), ["private"]);
    expect(routes.length).toBeGreaterThan(10);
    for (const { route, method, path } of routes) {
      // Over HTTP not even a missing token is spoken of: whoever has one would send it next.
      for (const headers of [{}, bearing(phone)]) {
        const { status, json } = await home.send(method, path, undefined, headers);
        expect([route, status, json.error]).toEqual([route, 403, expect.stringContaining("by HTTPS only")]);
      }
      const without = (await secure.send(method, path)).status;
      const reading = (await secure.send(method, path, undefined, bearing(tablet))).status;
      expect([route, without, reading]).toEqual([route, 401, 403]);
    }
    await secure.https.stop();
  },
);

test("an unknown token, a malformed one and one that was removed get the same answer, wherever they are sent", async () => {
  const { phone } = await homeWith("write");
  await home.parts.tokens.remove("phone");
  const answers = [];
  for (const token of [NOBODY, phone, phone.slice(0, -1), "", "a b", "é", "x".repeat(8_000)])
    for (const path of ["/api/status", "/metrics", "/ws", "/nowhere", "/swagger/json"]) {
      const { status, text, headers } = await get(path, bearing(token));
      answers.push([status, text, headers.get("www-authenticate")]);
    }
  const one = [
    401,
    JSON.stringify({ success: false, error: WRONG }),
    'Bearer realm="Portcullis", error="invalid_token"',
  ];
  expect(answers).toEqual(answers.map(() => one));
});

test("whoever has no token cannot find out which paths, names and fields there are", async () => {
  await homeWith("on");
  for (const path of ["/", "/api/nowhere", "/nowhere", "/api/a%2fb", "/api/%ff", "/api/devices/self"]) {
    const { status, json } = await post(path);
    expect({ path, status, json }).toEqual({ path, status: 401, json: { success: false, error: MISSING } });
  }
  expect((await home.send("HEAD", "/api/status")).status).toBe(401);
  expect((await home.send("OPTIONS", "/api/status")).status).toBe(401);
});

test("no other way to write a path leads past the token", async () => {
  await homeWith("on");
  const odd = [
    "/health/../api/status",
    "/dashboard/../api/status",
    "/dashboard/..%2fapi%2fstatus",
    "/swagger/../metrics",
    "/swagger//json",
    "/swagger/%6ason",
    "/swagger/json?/health",
    "/swagger/json#/health",
    "//api/status",
    "/health#/../api/status",
    "/\\api/status",
    "/dashboard/%2e%2e/api/status",
    "/api/status;/health",
    "http://localhost/api/status",
    "http://localhost/health/../api/status",
    "http://health/api/status",
    "/api/status?x=/health",
    "/%61pi/status",
    "/API/status",
    "/metrics/",
  ];
  for (const path of odd) {
    const { status, text } = await get(path);
    expect({ path, isServed: status === 200 || text.includes("killswitch") }).toEqual({
      path,
      isServed: false,
    });
  }
});

test("the checks before it come before it, and those after it after it", async () => {
  const { phone } = await homeWith("on");
  expect((await get("/api/status", { ...bearing(phone), Host: "evil.example" })).status).toBe(403);
  expect((await get("/api/status", { ...bearing(phone), Origin: "http://evil.example" })).status).toBe(403);
  expect((await get("/api/status", { Origin: "http://evil.example" })).json.error).toBe(
    "Origin is another site's",
  );
  expect((await home.send("POST", "/api/connect", "{", bearing(phone))).status).toBe(400);
  expect((await home.send("POST", "/api/connect", "{")).status).toBe(401);
  await home.pass(1_000);
  for (let count = 0; count < 10; count += 1)
    expect((await home.again("GET", "/api/status")).status).toBe(401);
  expect((await home.again("GET", "/api/status")).status).toBe(429);
});

test("other credentials are those of a proxy; with more than one token the request has none that is valid", async () => {
  const { phone } = await homeWith("write");
  expect((await get("/api/status", { Authorization: "Basic cGhvbmU6cGhvbmU=" })).status).toBe(200);
  expect((await post("/api/disconnect", { Authorization: "Basic cGhvbmU6cGhvbmU=" })).json.error).toBe(
    MISSING,
  );
  expect((await get("/api/status", { Authorization: `bearer   ${phone}` })).status).toBe(200);
  expect((await get("/api/status", { Authorization: `Bearer ${phone}, Bearer ${phone}` })).status).toBe(401);
});

test("five wrong tokens a second are looked at for each client, and then not even a valid one", async () => {
  const { phone } = await homeWith("on");
  await home.pass(1_000);
  for (let count = 0; count < 5; count += 1)
    expect((await home.again("GET", "/metrics", undefined, bearing(NOBODY))).status).toBe(401);
  for (const token of [NOBODY, phone]) {
    const { status, json, headers } = await home.again("GET", "/metrics", undefined, bearing(token));
    expect([status, json.error]).toEqual([
      429,
      "too many requests with a wrong token: try again in a second",
    ]);
    expect(headers.get("retry-after")).toBe("1");
  }
  expect((await home.again("GET", "/metrics")).status).toBe(401);
  expect((await get("/metrics", bearing(phone))).status).toBe(200);
});

const WAYS = { https: () => null };

test("a device has these attempts whatever its addresses, and another one has its own", () => {
  const find: Tokens["find"] = (text) =>
    text === "right" ? { id: "1", name: "phone", readOnly: false, isOwner: false } : null;
  const gate = new Gate("on", { find, has: () => true, onRemoved: () => {} });
  const clients = new Clients((address) => (address.startsWith("fd00:") ? "phone" : "other"));
  const ask = (peer: string, token: string) => {
    const request = new Request("http://localhost/metrics", { headers: bearing(token) });
    return gate.refusalFor(request, clients.see(request, peer), 0, undefined, WAYS)?.status ?? 200;
  };
  for (let host = 1; host <= 5; host += 1) expect(ask(`fd00::${host}`, "wrong")).toBe(401);
  expect(ask("fd00:0:0:1::6", "right")).toBe(429);
  expect(ask("192.168.1.7", "right")).toBe(200);
});

test("/api/access tells what needs a token, and which one is asking", async () => {
  const answers: Record<Auth, unknown[]> = {
    off: [200, { auth: "off", token: null }],
    write: [200, { auth: "write", token: null }],
    on: [401, { success: false, error: MISSING }],
  };
  for (const auth of ["off", "write", "on"] as const) {
    const { tablet } = await homeWith(auth);
    const { status, json } = await get("/api/access");
    expect([status, json]).toEqual(answers[auth]);
    const token = auth === "off" ? null : { name: "tablet", read_only: true, owner: false };
    expect((await get("/api/access", bearing(tablet))).json).toEqual({ auth, token });
    if (auth !== "on") await home.stop();
  }
});

test("neither log nor faults nor events nor answers show a token, in whatever part of a request it is", async () => {
  const { phone } = await homeWith("on");
  const listener = (await knock(home.port, bearing(phone))).listener;
  const texts: string[] = [];
  for (const path of [`/api/${phone}`, `/api/status?token=${phone}`, `/api/devices/${phone}`, `/${phone}/x`])
    texts.push((await get(path, bearing(phone))).text, (await get(path, bearing(NOBODY))).text);
  const name = JSON.stringify({ [phone]: 1, server: phone });
  texts.push((await home.send("POST", "/api/connect", name, bearing(phone))).text);
  await home.send("POST", "/api/connect", { server: "se-1" }, bearing(phone));
  await listener.received(3);
  const secret = phone.slice("portcullis_".length);
  expect([...texts, ...home.lines, ...home.faults, ...listener.messages].join("\n")).not.toContain(secret);
  expect(home.lines.join("\n")).toContain("/api/(a token) 404");
});

const offering = (token: string, ...more: string[]) => ({
  "Sec-WebSocket-Protocol": [`portcullis.bearer.${token}`, ...more].join(", "),
});

test("a WebSocket brings its token as a subprotocol, which is never sent back", async () => {
  const { tablet } = await homeWith("on");
  for (const headers of [offering(tablet, "portcullis"), bearing(tablet)]) {
    const { status, text, listener } = await knock(home.port, headers);
    expect(status).toBe(101);
    expect(text).not.toContain(tablet);
    expect(/^sec-websocket-protocol: (.*)\r$/im.exec(text)?.[1]).toBe(
      "Authorization" in headers ? undefined : "portcullis",
    );
    await listener.received(1);
    listener.destroy();
  }
  expect(await knock(home.port)).toMatchObject({ status: 401 });
  expect(await knock(home.port, offering(NOBODY, "portcullis"))).toMatchObject({ status: 401 });
  const alone = await knock(home.port, offering(tablet));
  expect(alone.status).toBe(400);
  expect(alone.text).toContain("a token in a subprotocol needs a second one beside it: offer portcullis too");
  expect(alone.text).not.toContain(tablet);
});

test("without --auth a WebSocket with a token in its subprotocol works the same", async () => {
  const { tablet } = await homeWith("off");
  const { status, text, listener } = await knock(home.port, offering(tablet, "portcullis"));
  expect([status, text.includes(tablet)]).toEqual([101, false]);
  await home.parts.tokens.remove("tablet");
  await listener.received(1);
});

test("the sockets of a token that is removed are closed, and no others", async () => {
  const { phone, tablet } = await homeWith("on");
  const [first, second, other] = await Promise.all([
    knock(home.port, bearing(phone)),
    knock(home.port, offering(phone, "portcullis"), "127.0.0.2"),
    knock(home.port, bearing(tablet)),
  ]);
  await Promise.all([first, second, other].map(({ listener }) => listener.received(1)));
  await home.parts.tokens.remove("phone");
  for (const { listener } of [first, second])
    expect(await listener.end()).toEqual({ code: 1008, reason: "the token was removed" });
  home.parts.events.publish({ type: "server_update", payload: { provider: "custom", count: 3 } });
  // The status, the alert, that the tokens have changed, and this.
  expect(await other.listener.received(4)).toHaveLength(4);
  expect(await knock(home.port, bearing(phone))).toMatchObject({ status: 401 });
});

test.each(["POST /api/connect", "POST /api/disconnect", "DELETE /api/tunnels/tv"])(
  "a token that is removed while the body of a request comes in changes nothing: %s",
  async (route) => {
    const { phone } = await homeWith("write");
    await home.pass(1_000);
    const body = JSON.stringify({ server: "se-1" });
    const fields = { ...bearing(phone), "Content-Type": "application/json", "Content-Length": body.length };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `${route} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines.join("")}\r\n`;
    const received: Uint8Array[] = [];
    const ended = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: home.port,
      socket: { data: (_, bytes) => void received.push(bytes), close: () => ended.resolve() },
    });
    const passed = Promise.withResolvers<void>();
    const { tokens } = home.parts;
    const find = tokens.find.bind(tokens);
    // The request is let in by its head.
    tokens.find = (text) => {
      passed.resolve();
      return find(text);
    };
    socket.write(head);
    await passed.promise;
    await tokens.remove("phone");
    socket.write(body);
    await ended.promise;
    const { status, json } = answerFrom(Buffer.concat(received).toString());
    expect([status, json]).toEqual([401, { success: false, error: WRONG }]);
    expect(home.parts.controller.state.name).toBe("disconnected");
  },
);

test("a token that is removed between the handshake and the opening of its socket opens nothing", () => {
  const unused = { status: () => Promise.reject(), follow: () => {}, followTraffic: () => () => {} };
  const tokens = { has: (id: string) => id !== "removed", onRemoved: () => {} };
  const sockets = new EventSockets(unused, () => {}, tokens);
  const closed: unknown[] = [];
  const socket = {
    data: { client: "127.0.0.1", traffic: false, token: "removed" },
    close: (...said: unknown[]) => closed.push(said),
  };
  sockets.handlers.open?.(socket as unknown as Bun.ServerWebSocket<SocketData>);
  expect(closed).toEqual([[1008, "the token was removed"]]);
});

test.each<[Auth, object[], object[]]>([
  ["off", [], []],
  ["write", [{}, { token: [] }], [{ token: [] }]],
  ["on", [{ token: [] }], [{ token: [] }]],
])(
  "with --auth %s the OpenAPI document says which operations need a token",
  async (auth, reading, changing) => {
    const { phone } = await homeWith(auth);
    const { json } = await get("/swagger/json", bearing(phone));
    const { securitySchemes } = json.components;
    expect(securitySchemes.token).toMatchObject({ type: "http", scheme: "bearer" });
    for (const [path, operations] of Object.entries<Record<string, { security: unknown }>>(json.paths))
      for (const [method, { security }] of Object.entries(operations)) {
        const access = accessOf(path);
        const isReading = method === "get" && access !== "private";
        const free = access === "open" || access === "pairing";
        const wanted = free ? [] : access === "owner" ? [{ token: [] }] : isReading ? reading : changing;
        expect({ path, method, security }).toEqual({ path, method, security: wanted });
      }
  },
);
