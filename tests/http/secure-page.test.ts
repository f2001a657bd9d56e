import { expect, test } from "bun:test";
import type { Settings } from "../../src/base/settings.ts";
import { Clients } from "../../src/http/clients.ts";
import { Gate } from "../../src/http/gate.ts";
import { pipelineFor } from "../../src/http/pipeline.ts";
import { cidrs } from "../fake/address.ts";

const DEVICE = "192.168.1.7";

function doorWith(auth: Settings["auth"], port: number | "down" | null = 5443) {
  const door = pipelineFor({
    ...{ names: ["gateway"], lan: () => cidrs("192.168.1.0/24", "fd00::/64"), interfaces: () => ["eth1"] },
    gate: new Gate(auth, { find: () => null, has: () => false, onRemoved: () => {} }),
    clients: new Clients((address) => address),
    bodies: { end: () => {} },
    unread: { keep: () => true },
    clock: { now: () => 0, monotonic: () => 0 },
    ...{ log: () => {}, fault: () => {}, saved: async () => {}, https: () => port },
  });
  return async (
    path: string,
    { peer = DEVICE, host = "gateway:5000", scheme = "http", method = "GET" } = {},
  ) => {
    const request = new Request(`${scheme}://${host}${path}`, { method, headers: { host } });
    const { status, headers } = await door(request, peer, () => new Response("served"));
    return status === 307 ? headers.get("location") : status;
  };
}

test("with tokens, the pages lead to HTTPS under the name that the browser has used", async () => {
  for (const auth of ["on", "write"] as const) {
    const ask = doorWith(auth);
    expect(await ask("/")).toBe("https://gateway:5443/");
    expect(await ask("/swagger")).toBe("https://gateway:5443/swagger");
    expect(await ask("/swagger/")).toBe("https://gateway:5443/swagger/");
    expect(await ask("/", { host: "192.168.1.2:5000" })).toBe("https://192.168.1.2:5443/");
    expect(await ask("/", { host: "[fd00::2]:5000", peer: "fd00::7" })).toBe("https://[fd00::2]:5443/");
    expect(await ask("/", { host: "[fd00::2]", peer: "fe80::7%eth1" })).toBe("https://[fd00::2]:5443/");
    expect(await ask("/", { host: "gateway.local" })).toBe("https://gateway.local:5443/");
    expect(await doorWith(auth, 443)("/")).toBe("https://gateway/");
  }
});

test("scripts are answered over HTTP as before, and so is what a page consists of", async () => {
  const ask = doorWith("write");
  for (const path of ["/api/status", "/health", "/ws", "/metrics", "/swagger/json", "/dashboard/main.js"])
    expect(await ask(path)).toBe(200);
  expect(await doorWith("on")("/api/status")).toBe(401);
});

test("nothing leads to HTTPS without tokens, without HTTPS, over HTTPS, or on this machine", async () => {
  expect(await doorWith("off")("/")).toBe(200);
  expect(await doorWith("on", null)("/")).toBe(200);
  expect(await doorWith("on")("/", { scheme: "https", host: "gateway:5443" })).toBe(200);
  for (const peer of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    expect(await doorWith("on")("/", { peer })).toBe(200);
});

test("while HTTPS does not listen, a page leads nowhere, and does not ask for a token over HTTP", async () => {
  const ask = doorWith("on", "down");
  expect([await ask("/"), await ask("/swagger"), await ask("/", { peer: "127.0.0.1" })]).toEqual([
    503, 503, 200,
  ]);
  expect(await ask("/health")).toBe(200);
  expect(await doorWith("off", "down")("/")).toBe(200);
});

test("a page of another site, or a stranger, is refused before it is led anywhere", async () => {
  const ask = doorWith("on");
  expect(await ask("/", { host: "evil.example" })).toBe(403);
  expect(await ask("/", { host: "gateway@evil.example" })).toBe(403);
  expect(await ask("/", { peer: "203.0.113.7" })).toBe(403);
});
