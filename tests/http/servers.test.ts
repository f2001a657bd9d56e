import { afterAll, beforeEach, expect } from "bun:test";
import { readList } from "../../src/servers/lists/list.ts";
import type { ServerTree } from "../../src/servers/schema.ts";
import { treeOf } from "../../src/servers/tree.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

/** 20,000 servers, as a list of our own format has them. */
function manyServers(): string {
  const servers = Array.from({ length: 20_000 }, (_, n) => ({
    hostname: `server-${n}`,
    country: `Country ${n % 60}`,
    city: `City ${n % 300}`,
    ipv4: `198.51.${n >> 8}.${n % 256}`,
    port: 51820,
    public_key: Buffer.alloc(32, `key ${n}`).toString("base64"),
  }));
  return JSON.stringify({ servers });
}

const LIST = manyServers();
const LISTING = { servers: treeOf(readList(LIST).servers), provider: "managed" };
const OTHER = { servers: {}, provider: "custom" };

const home = await Home.start({}, { "/etc/servers.json": LIST });
const { catalogue } = home.parts;
afterAll(() => home.stop());
beforeEach(() => catalogue.use("managed"));

const ask = (headers: Record<string, string> = {}) => home.send("GET", "/api/servers", undefined, headers);

test("20,000 servers are answered whole, the same each time, under one strong ETag", async () => {
  const [first, second] = [await ask(), await ask()];
  expect(first.status).toBe(200);
  expect(first.headers.get("content-type")).toBe("application/json");
  expect(first.text === JSON.stringify(LISTING)).toBeTrue();
  expect(first.headers.get("etag")).toMatch(/^"[A-Za-z0-9_-]{43}"$/);
  expect(second.text === first.text).toBeTrue();
  expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
});

test("a new list is checked country by country, between which others have their turn", async () => {
  catalogue.use("custom");
  catalogue.use("managed");
  const order: string[] = [];
  for (const [country, cities] of Object.entries(catalogue.tree().servers)) {
    const [city = ""] = Object.keys(cities);
    const records = cities[city];
    const get = () => {
      if (order.at(-1) !== country) order.push(country);
      return records;
    };
    Object.defineProperty(cities, city, { get, enumerable: true });
  }
  let turn = setImmediate(function next() {
    if (order.at(-1) !== "turn") order.push("turn");
    turn = setImmediate(next);
  });
  expect((await ask()).text === JSON.stringify(LISTING)).toBeTrue();
  clearImmediate(turn);
  expect(order.filter((each) => each === "turn").length).toBeGreaterThanOrEqual(60);
});

test("the text is made once for as long as the list is the same", async () => {
  catalogue.use("custom");
  let reads = 0;
  const get = (): ServerTree => {
    reads++;
    return {};
  };
  Object.defineProperty(catalogue.tree(), "servers", { get, enumerable: true });
  expect((await ask()).text).toBe('{"servers":{},"provider":"custom"}');
  const once = reads;
  for (let i = 0; i < 3; i++) expect((await ask()).status).toBe(200);
  expect([once > 0, reads]).toEqual([true, once]);
});

test("who has it already gets 304 without a body, with the ETag, the caching and the limits", async () => {
  const etag = (await ask()).headers.get("etag") ?? "";
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, ` ${etag} ,"x"`, "*"]) {
    const { status, text, headers } = await ask({ "If-None-Match": known });
    expect({ known, status, text }).toEqual({ known, status: 304, text: "" });
    expect(headers.get("etag")).toBe(etag);
    expect(headers.get("cache-control")).toBe("private, no-cache");
    expect(headers.get("x-ratelimit-remaining")).toBe("9");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("who has another one gets the whole list", async () => {
  const etag = (await ask()).headers.get("etag") ?? "";
  for (const known of ["", '"x"', etag.slice(1, -1), etag.toLowerCase(), `${etag}x`, "W/*", '"*"']) {
    const { status, text } = await ask({ "If-None-Match": known });
    expect({ known, status }).toEqual({ known, status: 200 });
    expect(text === JSON.stringify(LISTING)).toBeTrue();
  }
});

test("a list that changed has another ETag, and the former one no longer answers 304", async () => {
  const etag = (await ask()).headers.get("etag") ?? "";
  catalogue.use("custom");
  const changed = await ask({ "If-None-Match": etag });
  expect([changed.status, changed.json]).toEqual([200, OTHER]);
  catalogue.use("managed");
  expect((await ask({ "If-None-Match": etag })).status).toBe(304);
});

test("a list that does not fit its schema is an internal error, and no key leaves through it", async () => {
  const record = {
    hostname: "a",
    ipv4: "",
    type: "WireGuard" as const,
    provider: "Custom",
    publicKey: "secret",
  };
  catalogue.use("custom");
  catalogue.tree().servers.Sweden = { Stockholm: [record] };
  const { status, text } = await ask();
  expect([status, text]).toEqual([500, '{"success":false,"error":"internal error"}']);
  expect(home.faults.at(-1)).toContain("the answer does not fit its schema");
  expect(home.faults.at(-1)).not.toContain("secret");
});
