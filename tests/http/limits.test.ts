import { afterAll, beforeEach, expect } from "bun:test";
import { endpointOf } from "../../src/http/rules.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
afterAll(() => home.stop());
beforeEach(() => home.pass(1_000));

async function statusesOf(count: number, method: string, path: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await home.again(method, path)).status);
  return statuses;
}

const times = (count: number, status: number) => Array<number>(count).fill(status);

test.each([
  ["/api/connect", "connection"],
  ["/api/disconnect", "connection"],
  ["/api/provider/custom", "connection"],
  ["/api/provider/", "connection"],
  ["/api/schedules/nightly", "connection"],
  ["/api/devices/02:00:00:00:00:20", "connection"],
  ["/api/tunnels/tv", "connection"],
  ["/api/tunnels/tv/disconnect", "connection"],
  ["/v1/vpn/status", "general"],
  ["/api/schedules", "general"],
  ["/api/providers", "general"],
  ["/api/provider", "general"],
  ["/api/connect/", "general"],
  ["/api/status", "general"],
  ["/api/nope", "general"],
  ["/api/", "general"],
  ["/api", "general"],
  ["/apiary", null],
  ["/x/api/connect", null],
  ["/health", null],
  ["/metrics", null],
  ["/swagger/json", null],
  ["/ws", null],
  ["/", null],
] as const)("the limit of %s is %p", (path, endpoint) => {
  expect(endpointOf("POST", path)).toBe(endpoint);
  expect(endpointOf("GET", path)).toBe(endpoint);
});

test.each([
  ["POST", "/api/destinations", "connection"],
  ["GET", "/api/destinations", "general"],
  ["GET", "/api/destinations/explain", "general"],
  ["DELETE", "/api/destinations/3f9a1c", "connection"],
  ["PUT", "/api/dns/lists", "connection"],
  ["GET", "/api/dns/lists", "general"],
  ["GET", "/api/connect", "connection"],
  ["GET", "/api/default-exit", "connection"],
] as const)("what only reads a list does not count as a change of it: %s %s", (method, path, endpoint) => {
  expect(endpointOf(method, path)).toBe(endpoint);
});

test("ten requests a second pass and the eleventh is 429", async () => {
  expect(await statusesOf(12, "GET", "/api/status")).toEqual([...times(10, 200), 429, 429]);
});

test("five requests a second to any connection endpoints pass and the sixth is 429", async () => {
  expect(await statusesOf(3, "POST", "/api/disconnect")).toEqual(times(3, 200));
  expect(await statusesOf(2, "POST", "/api/provider/custom")).toEqual(times(2, 200));
  expect(await statusesOf(1, "POST", "/api/connect")).toEqual([429]);
  expect(await statusesOf(1, "GET", "/api/status")).toEqual([200]);
});

test("requests to connection endpoints count against the general limit, rejected ones included", async () => {
  await statusesOf(8, "POST", "/api/disconnect");
  expect(await statusesOf(3, "GET", "/api/status")).toEqual([200, 200, 429]);
});

test("once the general limit is used up, a connection endpoint is 429 too", async () => {
  await statusesOf(10, "GET", "/api/status");
  expect(await statusesOf(1, "POST", "/api/disconnect")).toEqual([429]);
});

test("unknown paths and wrong methods under /api count", async () => {
  expect(await statusesOf(11, "GET", "/api/nope")).toEqual([...times(10, 404), 429]);
});

test("health and the OpenAPI document are not limited", async () => {
  expect(await statusesOf(15, "GET", "/health")).toEqual(times(15, 200));
  expect(await statusesOf(15, "GET", "/swagger/json")).toEqual(times(15, 200));
  const { headers } = await home.again("GET", "/health");
  expect(headers.has("x-ratelimit-limit")).toBe(false);
});

test("the limit is available again after one second and not earlier", async () => {
  await statusesOf(10, "GET", "/api/status");
  await home.pass(999);
  expect(await statusesOf(1, "GET", "/api/status")).toEqual([429]);
  // That one counts too; it is now the only one in the window, so nine are left.
  await home.pass(999);
  expect(await statusesOf(10, "GET", "/api/status")).toEqual([...times(9, 200), 429]);
});

function limitsIn(headers: Headers) {
  return ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}`));
}

test("each answer states the limit, what remains of it and when all of it is available again", async () => {
  const own = await Home.start();
  const second = Math.floor(own.host.now() / 1_000);
  expect(own.host.now() % 1_000).toBe(250);
  const first = await own.again("GET", "/api/status");
  // It is a quarter past a second, and the window ends a second later: rounded up, that is two.
  expect(limitsIn(first.headers)).toEqual(["10", "9", String(second + 2)]);
  const connection = await own.again("POST", "/api/disconnect");
  expect(limitsIn(connection.headers).slice(0, 2)).toEqual(["5", "4"]);
  for (let i = 0; i < 7; i++) await own.again("GET", "/api/status");
  expect(limitsIn((await own.again("POST", "/api/disconnect")).headers).slice(0, 2)).toEqual(["5", "0"]);
  const rejected = await own.again("GET", "/api/status");
  expect(limitsIn(rejected.headers).slice(0, 2)).toEqual(["10", "0"]);
  expect(rejected.headers.get("retry-after")).toBe("1");
  expect(rejected.json).toEqual({
    success: false,
    error: "too many requests: see the X-RateLimit headers and Retry-After",
  });
  await own.pass(750);
  const reset = (await own.again("GET", "/api/status")).headers.get("x-ratelimit-reset");
  expect(reset).toBe(String(second + 2));
  await own.stop();
});

test("answers of every kind under /api carry the headers", async () => {
  const own = await Home.start();
  const foreign = { Host: "evil.example" };
  own.host.fails = () => "before";
  const answers = [
    await own.send("POST", "/api/connect", '{"server":"se-1"}'),
    await own.send("POST", "/api/connect", "{"),
    await own.send("POST", "/api/connect", "x".repeat(70_000)),
    await own.send("DELETE", "/api/custom/remove/%zz"),
    await own.send("GET", "/api/status", undefined, foreign),
    await own.send("POST", "/api/connect", undefined, foreign),
    await own.send("GET", "/api/nope"),
    await own.send("GET", "/api"),
    await own.send("OPTIONS", "/api/connect"),
    await own.send("HEAD", "/api/status"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([500, 400, 400, 400, 403, 403, 404, 404, 404, 404]);
  for (const { headers } of answers) {
    for (const value of limitsIn(headers)) expect(value).toMatch(/^[0-9]+$/);
    expect(headers.has("retry-after")).toBe(false);
  }
  await own.stop();
});

test("a request refused for its origin is not counted: a foreign page must not use up its visitor's limit", async () => {
  for (let i = 0; i < 20; i++) {
    const { status, headers } = await home.again("POST", "/api/connect", undefined, {
      Origin: "http://evil.example",
    });
    expect([status, headers.get("x-ratelimit-remaining")]).toEqual([403, "5"]);
  }
  expect(await statusesOf(5, "POST", "/api/disconnect")).toEqual(times(5, 200));
});
