import { afterAll, beforeEach, expect, test } from "bun:test";
import { start } from "./wire.ts";

const { gateway, send, stop, lines } = start();
afterAll(stop);
beforeEach(() => {
  gateway.current = "managed";
  gateway.connected = "";
  gateway.killSwitch = true;
  gateway.warnings = [];
  gateway.trouble = null;
  gateway.custom.clear();
});

const SERVER = {
  name: "home",
  endpoint: "192.0.2.7:51820",
  public_key: "public",
  private_key: "private",
  address: "10.0.0.2/32",
};

test("GET /api/status answers the Status itself, without success", async () => {
  const { status, headers, json } = await send("GET", "/api/status");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toStartWith("application/json");
  expect(json).toEqual(await gateway.status());
});

test("GET /api/providers answers all providers and the current one", async () => {
  const { json } = await send("GET", "/api/providers");
  expect(json).toEqual({ providers: ["managed", "custom", "imported"], current: "managed" });
});

test("POST /api/provider/{provider} switches and names the new provider", async () => {
  for (const provider of ["custom", "imported", "managed"] as const) {
    const { status, json } = await send("POST", `/api/provider/${provider}`);
    expect({ status, json }).toEqual({ status: 200, json: { success: true, provider } });
    expect(gateway.current).toBe(provider);
  }
});

test("GET /api/servers answers the tree and the provider it belongs to", async () => {
  const { json } = await send("GET", "/api/servers");
  const record = { hostname: "se-1", ipv4: "192.0.2.1", type: "WireGuard", provider: "Managed" };
  expect(json).toEqual({ servers: { Sweden: { Stockholm: [record] } }, provider: "managed" });
});

test("a country or a city with the name of a prototype's property is a place like any other", async () => {
  const servers = JSON.parse('{"__proto__":{"constructor":[]},"constructor":{"__proto__":[]}}');
  gateway.servers = () => ({ servers, provider: "custom" });
  const { status, text } = await send("GET", "/api/servers");
  expect(status).toBe(200);
  expect(text).toBe(JSON.stringify({ servers, provider: "custom" }));
});

test("POST /api/connect answers success and nothing else", async () => {
  const { status, text } = await send("POST", "/api/connect", '{"server":"se-1"}');
  expect({ status, text }).toEqual({ status: 200, text: '{"success":true}' });
  expect(gateway.connected).toBe("se-1");
});

test("POST /api/disconnect says what the kill switch means for the internet", async () => {
  const blocked = await send("POST", "/api/disconnect");
  expect(blocked.json).toEqual({ success: true, message: "Disconnected - No internet (kill switch active)" });
  gateway.killSwitch = false;
  const open = await send("POST", "/api/disconnect");
  expect(open.json).toEqual({ success: true, message: "Disconnected" });
});

test("POST /api/disconnect takes an empty object, as clients send it that always send JSON", async () => {
  expect((await send("POST", "/api/disconnect", "{}")).status).toBe(200);
});

test("POST /api/custom/add hands on exactly what was sent", async () => {
  const { status, text } = await send("POST", "/api/custom/add", JSON.stringify({ ...SERVER, mtu: 1420 }));
  expect({ status, text }).toEqual({ status: 200, text: '{"success":true}' });
  expect(gateway.custom.get("home")).toEqual({ ...SERVER, mtu: 1420 });
});

const REMOVALS = [
  ["custom", "/api/custom/remove"],
  ["imported", "/api/import"],
] as const;

test.each(REMOVALS)("DELETE of a server of %s gets every legal name right", async (provider, path) => {
  const names = ["home", "zu Hause", "東京 1", "100%", "%25", "%2e", "..", ".", "__proto__", "constructor"];
  for (const name of [...names, "a+b", "a?b#c", "a\\b", "é", "🙂", "a;b", "a:b", "*", "\uFFFD"]) {
    gateway.custom.clear();
    gateway.imported.clear();
    gateway.custom.set(name, { ...SERVER, name });
    gateway.imported.set(name, { name, config: "" });
    const { status, text } = await send("DELETE", `${path}/${encodeURIComponent(name)}`);
    expect({ name, status, text }).toEqual({ name, status: 200, text: '{"success":true}' });
    expect(gateway.removed.at(-1)).toBe(name);
    // The other provider's server of that name stays.
    expect([gateway.custom.has(name), gateway.imported.has(name)]).toEqual([
      provider === "imported",
      provider === "custom",
    ]);
  }
});

test.each(REMOVALS)("two dots, encoded or not, reach the gateway as a name of %s", async (_, path) => {
  for (const sent of ["..", "%2e%2e", "%2E.", ".%2e"]) {
    gateway.custom.set("..", { ...SERVER, name: ".." });
    gateway.imported.set("..", { name: "..", config: "" });
    expect((await send("DELETE", `${path}/${sent}`)).status).toBe(200);
  }
});

test("POST /api/import answers warnings only when there are some", async () => {
  const body = JSON.stringify({ name: "a", config: "[Interface]\n" });
  expect((await send("POST", "/api/import", body)).text).toBe('{"success":true}');
  gateway.warnings = ["Table has no effect"];
  expect((await send("POST", "/api/import", body)).json).toEqual({
    success: true,
    warnings: ["Table has no effect"],
  });
});

test("GET /api/keypair answers a pair that no cache keeps", async () => {
  const { json, headers } = await send("GET", "/api/keypair");
  expect(json).toEqual(gateway.keyPair());
  expect(headers.get("cache-control")).toBe("no-store");
});

test("GET /health answers healthy in plain text", async () => {
  const { status, text, headers } = await send("GET", "/health");
  expect({ status, text }).toEqual({ status: 200, text: "healthy" });
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
});

test("GET /health answers 500 and one line of plain text when the promise cannot be kept", async () => {
  gateway.trouble = "the firewall\nis gone";
  const { status, text, headers } = await send("GET", "/health");
  expect({ status, text }).toEqual({ status: 500, text: "the firewall is gone" });
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
});

test("a query does not keep a path from being found, and the log does not hold it", async () => {
  expect((await send("GET", "/api/status?token=abc")).status).toBe(200);
  expect(lines.at(-1)).toBe("GET /api/status 200");
});

test("content types are compared as RFC 9110 says: without case, with charset=utf-8", async () => {
  const types = ["Application/JSON", "application/json; charset=utf-8", 'application/json;charset="UTF-8"'];
  for (const type of types) {
    const { status } = await send("POST", "/api/connect", '{"server":"se-1"}', { "Content-Type": type });
    expect({ type, status }).toEqual({ type, status: 200 });
  }
});

test("every answer forbids sniffing, framing and loading anything", async () => {
  for (const path of ["/api/status", "/health", "/nothing", "/swagger/json"]) {
    const { headers } = await send("GET", path);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
  }
});
