import fc from "fast-check";
import { CUSTOM_EXAMPLE, IMPORT_EXAMPLE } from "../../src/http/own-servers.ts";
import { request } from "../http/wire.ts";

/** A request with a valid HTTP head and any contents. */
export interface Shot {
  method: string;
  path: string;
  body?: string | Uint8Array;
  headers: Record<string, string>;
}

const PATHS = [
  "/api/status",
  "/api/providers",
  "/api/servers",
  "/api/keypair",
  "/api/connect",
  "/api/disconnect",
  "/api/custom/add",
  "/api/import",
  "/health",
  "/swagger",
  "/swagger/json",
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "PROPFIND"];
const NAMES = ["a", "b", "é", "__proto__", "..", "%2e", "a b", "x".repeat(40), "漢字", "null"];

/** Requests of a client; names begin with the prefix, so that clients share none. */
export function shots(prefix: string): fc.Arbitrary<Shot> {
  const name = fc.constantFrom(...NAMES).map((each) => prefix + each);
  const add = name.map((each) => ({ ...CUSTOM_EXAMPLE, name: each }));
  const file = name.map((each) => ({ ...IMPORT_EXAMPLE, name: each }));
  const reads = fc.constantFrom("status", "providers", "servers", "keypair");
  const exits = fc.constantFrom("box-vpn-1", "box-vpn-2", "nobody");
  const providers = fc.constantFrom("managed", "custom", "imported", "other", "%00");
  return fc.oneof(
    { weight: 5, arbitrary: add.map((body) => post("/api/custom/add", body)) },
    { weight: 4, arbitrary: name.map((each) => plain("DELETE", removal("custom/remove", each))) },
    { weight: 2, arbitrary: name.map((each) => plain("DELETE", removal("import", each))) },
    { weight: 3, arbitrary: file.map((body) => post("/api/import", body)) },
    { weight: 4, arbitrary: altered(add, prefix).map((body) => post("/api/custom/add", body)) },
    { weight: 3, arbitrary: altered(file, prefix).map((body) => post("/api/import", body)) },
    { weight: 3, arbitrary: brokenText(add).map((body) => ({ ...post("/api/custom/add", {}), body })) },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...PATHS), fc.uint8Array({ maxLength: 300 })).map(rubbish),
    },
    { weight: 3, arbitrary: reads.map((each) => plain("GET", `/api/${each}`)) },
    { weight: 3, arbitrary: anywhere },
    { weight: 1, arbitrary: providers.map((each) => plain("POST", `/api/provider/${each}`)) },
    { weight: 1, arbitrary: exits.map((server) => post("/api/connect", { server })) },
    { weight: 1, arbitrary: fc.constant(plain("POST", "/api/disconnect")) },
  );
}

/** The name that a shot would add or remove, or null. */
export function nameOf({ method, path, body }: Shot): string | null {
  const [, name] = /^\/api\/(?:custom\/remove|import)\/([^?]*)/.exec(path) ?? [];
  if (method === "DELETE" && name !== undefined) return decodeURIComponent(name);
  const adds = method === "POST" && /^\/api\/(custom\/add|import)(\?|$)/.test(path);
  return adds ? JSON.parse(Buffer.from(body ?? "").toString()).name : null;
}

/** Mostly malformed HTTP: noise, and harmless requests with a few bytes altered. */
export const bytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  fc
    .tuple(
      fc.constantFrom(
        request("GET", "/api/status"),
        request("POST", "/api/connect", '{"server":"nobody"}'),
        request("POST", "/api/import", `{"name":"a","config":"${"x".repeat(200)}"}`),
        request("DELETE", "/api/custom/remove/nobody"),
        request("POST", "/api/connect", "2\r\n{}\r\n0\r\n\r\n", { "Transfer-Encoding": "chunked" }),
      ),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      fc.nat(500),
    )
    .map(([whole, changes, length]) => {
      const copy = Uint8Array.from(whole);
      for (const [at, byte] of changes) copy[at % copy.length] = byte;
      return copy.slice(0, length);
    }),
);

/** Unfinished requests. */
export const beginnings: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    fc.constantFrom(
      request("GET", "/health"),
      request("POST", "/api/import", "x".repeat(60_000)),
      request("POST", "/api/connect", "ffff\r\nxxxx", { "Transfer-Encoding": "chunked" }),
    ),
    fc.double({ min: 0, max: 0.99, noNaN: true }),
  )
  .map(([whole, part]) => whole.slice(0, Math.floor(whole.length * part)));

const header = fc.tuple(
  fc.constantFrom(
    "Host",
    "Origin",
    "Content-Type",
    "Sec-Fetch-Site",
    "Accept",
    "Range",
    "Cookie",
    "If-None-Match",
  ),
  fc.string({ maxLength: 60 }).map((text) => text.trim()),
);

const anywhere: fc.Arbitrary<Shot> = fc
  .tuple(
    fc.constantFrom(...METHODS),
    fc.oneof(
      fc.constantFrom(...PATHS),
      fc.webPath().map((path) => `/${path.replace(/^\//, "")}`),
      fc.string().map((text) => `/api/${encodeURI(text)}`),
    ),
    fc.array(header, { maxLength: 3 }),
  )
  .map(([method, path, headers]) => ({ method, path, headers: Object.fromEntries(headers) }));

function altered<T extends { name: string }>(body: fc.Arbitrary<T>, prefix: string): fc.Arbitrary<object> {
  const fields = Object.keys({ ...CUSTOM_EXAMPLE, ...IMPORT_EXAMPLE, mtu: 0, preshared_key: "", "": "" });
  return fc
    .tuple(body, fc.constantFrom(...fields), fc.oneof(fc.jsonValue(), fc.string()))
    .map(([whole, field, value]) => ({
      ...whole,
      [field]:
        field === "name" ? prefix + (typeof value === "string" ? value : JSON.stringify(value)) : value,
    }));
}

/** JSON with some text removed and some inserted. */
function brokenText(body: fc.Arbitrary<object>): fc.Arbitrary<string> {
  return fc
    .tuple(body, fc.nat(300), fc.nat(20), fc.string({ maxLength: 20 }))
    .map(([whole, at, length, text]) => {
      const json = JSON.stringify(whole);
      return json.slice(0, at) + text + json.slice(at + length);
    });
}

function rubbish([path, body]: [string, Uint8Array]): Shot {
  return { method: "POST", path, body, headers: {} };
}

function post(path: string, body: object): Shot {
  return { method: "POST", path, body: JSON.stringify(body), headers: {} };
}

function plain(method: string, path: string): Shot {
  return { method, path, headers: {} };
}

function removal(from: string, name: string): string {
  return `/api/${from}/${encodeURIComponent(name)}`;
}
