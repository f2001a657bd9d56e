import { afterAll, beforeEach, expect } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { publicKeyOf } from "../../src/wireguard/key.ts";
import { slow } from "../fast.ts";
import { BODY, CONFIG } from "../servers/example.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
const { catalogue, controller } = home.parts;
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());
beforeEach(() => catalogue.use("managed"));

test("POST /api/provider/{provider} switches and names the new provider", async () => {
  for (const provider of ["custom", "imported", "managed"] as const) {
    const { status, json } = await send("POST", `/api/provider/${provider}`);
    expect({ status, json }).toEqual({ status: 200, json: { success: true, provider } });
    expect((await send("GET", "/api/providers")).json.current).toBe(provider);
  }
});

test("/api/managed names whose servers managed has, and changes that while no tunnel uses one", async () => {
  const { json } = await send("GET", "/api/managed");
  expect(json.current).toBe("list");
  expect(json.choices).toContainEqual({
    ...{ name: "list", label: "a list of your own", account: true },
    credentials: [],
  });
  expect(json.choices).toContainEqual({
    ...{ name: "mullvad", label: "Mullvad", account: false },
    credentials: [{ field: "account_number", title: "Account number", optional: false }],
  });
  const put = (name: string) => send("PUT", "/api/managed", { name });
  expect(await put("mullvad")).toMatchObject({ status: 200, json: { success: true } });
  expect((await send("GET", "/api/managed")).json.current).toBe("mullvad");
  expect(await send("POST", "/api/connect", '{"server":"se-1"}')).toMatchObject({ status: 400 });
  await put("list");
  await send("POST", "/api/connect", '{"server":"se-1"}');
  expect(await put("mullvad")).toMatchObject({
    status: 400,
    json: { success: false, error: "name: a tunnel uses a server of managed; disconnect first" },
  });
  await send("POST", "/api/disconnect");
  expect(await put("nobody")).toMatchObject({ status: 400 });
});

test("a country or a city with the name of a prototype's property is a place like any other", async () => {
  catalogue.addCustom({ ...BODY, name: "a", location: "constructor, __proto__" });
  catalogue.addCustom({ ...BODY, name: "b", location: "__proto__, constructor" });
  catalogue.use("custom");
  const { status, text } = await send("GET", "/api/servers");
  const record = (name: string) =>
    `[{"hostname":"${name}","ipv4":"192.0.2.1","type":"WireGuard","provider":"Custom"}]`;
  expect(status).toBe(200);
  expect(text).toBe(
    `{"servers":{"__proto__":{"constructor":${record("a")}},"constructor":{"__proto__":${record("b")}}},"provider":"custom"}`,
  );
  for (const name of ["a", "b"]) catalogue.remove("custom", name);
});

test("POST /api/disconnect says what the kill switch means for the internet", async () => {
  const blocked = await send("POST", "/api/disconnect");
  expect(blocked.json).toEqual({ success: true, message: "Disconnected - No internet (kill switch active)" });
  await home.parts.operatorSwitch.turn(false);
  const open = await send("POST", "/api/disconnect");
  expect(open.json).toEqual({ success: true, message: "Disconnected" });
  await home.parts.operatorSwitch.turn(true);
});

test("POST /api/disconnect takes an empty object, as clients send it that always send JSON", async () => {
  expect((await send("POST", "/api/disconnect", "{}")).status).toBe(200);
});

test("POST /api/custom/add keeps exactly what was sent", async () => {
  const { status, text } = await send("POST", "/api/custom/add", { ...BODY, mtu: 1420 });
  expect({ status, text }).toEqual({ status: 200, text: '{"success":true}' });
  expect(catalogue.servers("custom")).toEqual([
    {
      ...PLACELESS,
      name: "home",
      provider: "custom",
      label: "Custom",
      config: { ...CONFIG, interface: { ...CONFIG.interface, mtu: 1420 } },
    },
  ]);
  catalogue.remove("custom", "home");
});

const PLACELESS = { country: "Unknown", city: "Unknown", location: "" };

const REMOVALS = [
  ["custom", "/api/custom/remove"],
  ["imported", "/api/import"],
] as const;

test.each(REMOVALS)("DELETE of a server of %s gets every legal name right", async (provider, path) => {
  const names = ["home", "zu Hause", "東京 1", "100%", "%25", "%2e", "...", "__proto__", "constructor"];
  for (const name of [...names, "a+b", "a?b#c", "a\\b", "é", "🙂", "a;b", "a:b", "*", "\uFFFD"]) {
    addTwice(name);
    const { status, text } = await send("DELETE", `${path}/${encodeURIComponent(name)}`);
    expect({ name, status, text }).toEqual({ name, status: 200, text: '{"success":true}' });
    // The other provider's server of that name stays.
    const other = provider === "custom" ? "imported" : "custom";
    expect([catalogue.servers(provider), catalogue.servers(other).map((server) => server.name)]).toEqual([
      [],
      [name],
    ]);
    catalogue.remove(other, name);
  }
});

function addTwice(name: string): void {
  catalogue.addCustom({ ...BODY, name });
  catalogue.importConfig({ name, config: formatConfig(CONFIG) });
}

test.each(REMOVALS)("two dots, encoded or not, are no name of %s", async (_, path) => {
  for (const sent of ["..", "%2e%2e", "%2E.", ".%2e"]) {
    const { status, json } = await send("DELETE", `${path}/${sent}`);
    expect([status, json.error]).toEqual([400, "name: cannot be part of a URL path"]);
  }
});

test("POST /api/import answers warnings only when there are some", async () => {
  const body = (name: string, more = "") =>
    JSON.stringify({ name, config: `${more}${formatConfig(CONFIG)}` });
  expect((await send("POST", "/api/import", body("a"))).text).toBe('{"success":true}');
  expect((await send("POST", "/api/import", body("b", "[Interface]\nTable = off\n"))).json).toEqual({
    success: true,
    warnings: ["line 2: Table: has no effect; the gateway sets this itself"],
  });
});

test("GET /api/keypair answers a pair that no cache keeps", async () => {
  const { json, headers } = await send("GET", "/api/keypair");
  expect(Object.keys(json)).toEqual(["private_key", "public_key"]);
  expect(json.public_key).toBe(publicKeyOf(json.private_key));
  expect(headers.get("cache-control")).toBe("no-store");
});

test("GET /health answers healthy in plain text", async () => {
  const { status, text, headers } = await send("GET", "/health");
  expect({ status, text }).toEqual({ status: 200, text: "healthy" });
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
});

test("GET /health answers 500 and one line of plain text when the promise cannot be kept", async () => {
  home.host.onEvent = (command) => {
    if (command.startsWith("nft -e")) throw new GatewayError("unable", "nft: syntax error,\nline 1");
  };
  expect((await send("POST", "/api/connect", '{"server":"se-1"}')).status).toBe(500);
  const { status, text, headers } = await send("GET", "/health");
  expect({ status, text }).toEqual({
    status: 500,
    text: "the network could not be configured: nft: syntax error, line 1",
  });
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  home.host.onEvent = () => {};
  await home.parts.tunnels.supervisor.look();
  await controller.repair();
  expect((await send("GET", "/health")).text).toBe("healthy");
});

test("GET /health says that the rules are gone, and that all is well once they are back", async () => {
  home.host.removeTable();
  const { status, text } = await send("GET", "/health");
  expect({ status, text }).toEqual({
    status: 500,
    text: "the kill switch's rules are not in the kernel, or another program has altered them",
  });
  expect((await send("GET", "/health")).text).toBe("healthy");
});

test("a query does not keep a path from being found, and the log does not hold it", async () => {
  expect((await send("GET", "/api/status?token=abc")).status).toBe(200);
  expect(home.lines.at(-1)).toBe("GET /api/status 200");
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
