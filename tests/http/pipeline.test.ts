import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { Clients } from "../../src/http/clients.ts";
import { Gate } from "../../src/http/gate.ts";
import { type PipelineOptions, pipelineFor } from "../../src/http/pipeline.ts";
import { Unread } from "../../src/http/unread.ts";
import { cidrs } from "../fake/address.ts";

function doorWith(options: Partial<PipelineOptions> = {}) {
  const lines: string[] = [];
  const door = pipelineFor({
    names: [],
    lan: () => cidrs("192.168.1.0/24"),
    interfaces: () => ["eth1"],
    https: () => null,
    clients: new Clients((address) => address),
    bodies: { end: () => {} },
    unread: { keep: () => true },
    gate: new Gate("off", { find: () => null, has: () => false, onRemoved: () => {} }),
    clock: { now: () => 0, monotonic: () => 0 },
    log: (method, path, status) => lines.push(`${method} ${path} ${status}`),
    fault: (message) => lines.push(message),
    saved: async () => {},
    ...options,
  });
  return { door, lines };
}

const asked = (path: string) => new Request(`http://localhost${path}`, { headers: { host: "localhost" } });
const served = () => new Response("served");

test("who is not near is refused before the routes, with the limits in the answer", async () => {
  const { door, lines } = doorWith();
  for (const peer of ["8.8.8.8", "192.168.2.1", "2001:db8::1", null]) {
    const response = await door(asked("/api/status"), peer, () => {
      throw new Error("the routes were reached");
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      success: false,
      error: "only the local network is served",
    });
    expect(response.headers.get("x-ratelimit-remaining")).toBe("10");
  }
  expect(lines).toEqual(Array(4).fill("GET /api/status 403"));
});

test("what a request has changed is on the disk before it is answered; questions do not wait", async () => {
  const saving = Promise.withResolvers<void>();
  const { door } = doorWith({ saved: () => saving.promise });
  const change = (path: string) =>
    new Request(`http://localhost${path}`, { method: "PUT", headers: { host: "localhost" } });
  const answer = door(change("/api/default-exit"), "192.168.1.9", served);
  expect((await door(asked("/health"), "192.168.1.9", served)).status).toBe(200);
  expect(Bun.peek.status(answer)).toBe("pending");
  saving.resolve();
  expect((await answer).status).toBe(200);
  const { door: failing } = doorWith({
    saved: async () => {
      throw new GatewayError("unable", "The database could not be written: system error EIO.");
    },
  });
  expect((await failing(change("/api/default-exit"), "192.168.1.9", served)).status).toBe(500);
});

test("the LAN is asked for at each request, for its prefixes may change", async () => {
  let lan = cidrs("192.168.1.0/24");
  const { door } = doorWith({ lan: () => lan });
  const statusFor = async (peer: string) => (await door(asked("/health"), peer, served)).status;
  expect(await statusFor("192.168.1.7")).toBe(200);
  lan = cidrs("10.0.0.0/8");
  expect(await statusFor("192.168.1.7")).toBe(403);
  expect(await statusFor("10.1.2.3")).toBe(200);
});

test("clients of the LAN have a limit each", async () => {
  const { door } = doorWith();
  const ask = async (peer: string) => (await door(asked("/api/status"), peer, served)).status;
  for (let i = 0; i < 10; i++) expect(await ask("192.168.1.7")).toBe(200);
  expect(await ask("::ffff:192.168.1.7")).toBe(429);
  expect(await ask("192.168.1.8")).toBe(200);
});

async function statusWith(door: ReturnType<typeof doorWith>["door"], headers: Record<string, string>) {
  const request = new Request("http://localhost/api/status", { headers: { host: "localhost", ...headers } });
  return (await door(request, "192.168.1.7", served)).status;
}

test("a client has one limit, whatever its requests say of where they come from", async () => {
  const { door } = doorWith();
  const kinds = [{}, { origin: "http://localhost" }, { referer: "http://localhost/" }];
  for (let i = 0; i < 10; i++) expect(await statusWith(door, kinds[i % 3] ?? {})).toBe(200);
  for (const headers of kinds) expect(await statusWith(door, headers)).toBe(429);
});

test("requests that a page of another site may have made a browser send leave half of the limit to the gateway's own", async () => {
  const { door } = doorWith();
  const browser = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)", "accept-language": "en" };
  const foreign = [{}, { referer: "http://evil.test/" }, { referer: "http://localhost.evil.test/" }];
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++)
    statuses.push(await statusWith(door, { ...browser, ...foreign[i % foreign.length] }));
  expect(statuses).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  const own = [{ referer: "http://localhost/" }, { origin: "http://localhost" }];
  for (let i = 0; i < 5; i++) expect(await statusWith(door, { ...browser, ...own[i % 2] })).toBe(200);
});

test("requests that come at once are begun in many turns of the event loop, and who asks once is not the last", async () => {
  let now = 0;
  const { door } = doorWith({ clock: { now: () => 0, monotonic: () => (now += 1) } });
  let turns = 0;
  const turnOf = (peer: string) =>
    door(asked("/health"), peer, () => new Response(`${turns}`)).then((answer) => answer.text());
  const many = Array.from({ length: 50 }, () => turnOf("192.168.1.7"));
  const one = turnOf("192.168.1.8");
  for (; Bun.peek.status(many.at(-1)) === "pending"; turns++) await nextTurn();
  expect(Number(await many.at(-1))).toBeGreaterThan(10);
  expect(Number(await one)).toBeLessThan(5);
});

test("a client that does not read its answers gets no more large ones, until it has read some; others get theirs", async () => {
  const clients = new Clients((address) => address);
  const open = new Set<Request>();
  const { door } = doorWith({ clients, unread: new Unread(clients, (request) => open.has(request)) });
  const megabyte = "x".repeat(1 << 20);
  const ask = async (peer: string, text = megabyte) => {
    const request = asked("/metrics");
    open.add(request);
    const answer = await door(request, peer, () => new Response(text));
    return answer.status === 200 ? (await answer.text()).length : answer.status;
  };
  for (let i = 0; i < 6; i++) expect(await ask("192.168.1.7")).toBe(1 << 20);
  expect(await ask("192.168.1.7")).toBe(429);
  expect([await ask("192.168.1.7", "small"), await ask("192.168.1.8")]).toEqual([5, 1 << 20]);
  open.clear();
  expect(await ask("192.168.1.7")).toBe(1 << 20);
});

test("an error outside every route is an internal error like any other", async () => {
  const { door, lines } = doorWith();
  const response = await door(asked("/api/status"), "192.168.1.7", () => {
    throw new Error("boom");
  });
  expect(await response.json()).toMatchObject({ success: false, error: "internal error" });
  expect(lines[0]).toContain("boom");
});

test("a route's own policy and caching stay as they are", async () => {
  const { door } = doorWith();
  const headers = { "Content-Security-Policy": "default-src 'self'", "Cache-Control": "max-age=60" };
  const response = await door(asked("/"), "192.168.1.7", () => new Response("page", { headers }));
  expect(response.headers.get("content-security-policy")).toBe("default-src 'self'");
  expect(response.headers.get("cache-control")).toBe("max-age=60");
});
