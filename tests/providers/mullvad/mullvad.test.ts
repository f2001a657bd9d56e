import { describe, expect, test } from "bun:test";
import { MullvadApi } from "../../../src/providers/mullvad/api.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import { cidrs } from "../../fake/address.ts";
import { BASE, EXPIRY, FakeProvider, NUMBER } from "./provider.ts";

const KEY = generateKeyPair().publicKey;

function opened(provider: FakeProvider) {
  return new MullvadApi(BASE, provider.send).open(NUMBER);
}

test("an account can be opened, and its device added, shown, given another key and removed", async () => {
  const provider = new FakeProvider();
  const account = await opened(provider);
  const made = await account.add(KEY);
  expect(made).toEqual({
    id: made.id,
    name: "happy otter 50",
    publicKey: KEY,
    addresses: cidrs("10.64.0.50/32", "fd64::50/128"),
    created: "2026-01-02T03:04:05.000Z",
  });
  expect(await account.device(made.id)).toEqual(made);
  expect((await account.devices()).map(({ id }) => id)).toEqual([made.id]);
  expect(await account.paidUntil()).toBe(EXPIRY);
  const next = generateKeyPair().publicKey;
  expect(await account.replaceKey(made.id, next)).toEqual({ ...made, publicKey: next });
  await account.remove(made.id);
  await account.remove(made.id);
  expect(await account.device(made.id)).toBeNull();
  expect(provider.asked.slice(0, 3)).toEqual([
    "POST /auth/v1/token",
    "POST /accounts/v1/devices",
    `GET /accounts/v1/devices/${made.id}`,
  ]);
});

test("a base address may have a path and end in a slash", async () => {
  const urls: string[] = [];
  const api = new MullvadApi("https://provider.test/mirror//", async ({ url }) => {
    urls.push(url);
    return { status: 500, headers: {}, body: "" };
  });
  await expect(api.open(NUMBER)).rejects.toThrow();
  expect(urls).toEqual(["https://provider.test/mirror/auth/v1/token"]);
});

describe("each refusal says what to do, and repeats nothing of the request", () => {
  test.each([
    [400, "INVALID_ACCOUNT", "the provider does not know this account number; check it for typing errors"],
    [
      400,
      "MAX_DEVICES_REACHED",
      "the account has the maximum number of registrations; remove one at https://mullvad.net/account/devices, then try again",
    ],
    [400, "PUBKEY_IN_USE", "the provider already knows the new key; try again, which makes another one"],
    [
      401,
      "INVALID_ACCESS_TOKEN",
      "the provider does not accept the access token that it just issued; try again later",
    ],
    [429, "THROTTLED", "too many attempts; try again in a few minutes"],
    [418, "TEAPOT", "the provider refused: TEAPOT (HTTP 418)"],
    [418, "constructor", "the provider refused: constructor (HTTP 418)"],
    [400, "a\u001b[2J", "the provider's answer is not understood (HTTP 400); check --managed-api"],
    [503, "SERVICE_UNAVAILABLE", "the provider has an internal problem (HTTP 503); try again later"],
    [302, "MOVED", "the provider's answer is not understood (HTTP 302); check --managed-api"],
  ])("%d %s", async (status, code, sentence) => {
    const provider = new FakeProvider();
    provider.refuse("POST /token", status, code);
    expect(await opened(provider).catch((error: Error) => error.message)).toBe(sentence);
  });

  test("a wait that the provider asks for is passed on", async () => {
    const provider = new FakeProvider();
    provider.refuse("POST /token", 429, "THROTTLED", { "retry-after": "90" });
    await expect(opened(provider)).rejects.toThrow("too many attempts; try again in 90 seconds");
  });

  test("the newer form of errors is understood", async () => {
    const provider = new FakeProvider();
    provider.mishap("POST /token", {
      status: 400,
      headers: { "content-type": "application/problem+json" },
      body: '{"type":"INVALID_ACCOUNT","title":"Invalid account"}',
    });
    await expect(opened(provider)).rejects.toThrow("the provider does not know this account number");
  });

  test("a missing answer is reported with its reason", async () => {
    const provider = new FakeProvider();
    provider.mishap("POST /token", null);
    await expect(opened(provider)).rejects.toThrow(
      "provider.test cannot be asked: the connection was closed",
    );
  });
});

describe("an undocumented answer is refused", () => {
  const device = {
    id: "6a1f1e1c-0000-4000-8000-000000000000",
    name: "happy otter",
    pubkey: KEY,
    hijack_dns: false,
    created: "2026-01-02T03:04:05+00:00",
    ipv4_address: "10.64.0.9/32",
    ipv6_address: "fc00:bbbb::9/128",
  };

  test.each([
    ["nothing", ""],
    ["a web page", "<html><body>Welcome to the hotel</body></html>"],
    ["no object", "[]"],
    ["null", "null"],
    ["no token", '{"expiry":"2026-01-01"}'],
    ["an empty token", '{"access_token":""}'],
    ["a token that is two headers", '{"access_token":"a\\r\\nHost: b"}'],
    ["a token of a megabyte", `{"access_token":"${"a".repeat(1_000_000)}"}`],
    ["a huge body", `{"access_token":"a","x":"${"a".repeat(300_000)}"}`],
  ])("a token: %s", async (_, body) => {
    const provider = new FakeProvider();
    provider.mishap("POST /token", { body });
    await expect(opened(provider)).rejects.toThrow(
      "the provider's answer contains no usable access token; try again later",
    );
  });

  test.each([
    ["as documented, as a proof of what follows", {}, null],
    ["more than documented", { ports: [], colour: "red" }, null],
    ["no id", { id: undefined }, "device"],
    ["an id that is a path", { id: "../../accounts/me" }, "device"],
    ["an id that is dots", { id: ".." }, "device"],
    ["a name that moves the cursor", { name: "a\u001b[2J" }, "device"],
    ["a name that turns the line around", { name: "a\u202eb" }, "device"],
    ["an address without its length", { ipv4_address: "10.64.0.9" }, "device"],
    ["an address that is none", { ipv4_address: "10.64.0.999/32" }, "device"],
    ["an address that is a command", { ipv4_address: "10.64.0.9/32\nlink del eth0" }, "device"],
    ["an IPv6 address for an IPv4 one", { ipv4_address: "fc00::1/128" }, "device"],
    ["no IPv6 address", { ipv6_address: undefined }, "device"],
    ["a date that is none", { created: "soon" }, "device"],
    ["no key", { pubkey: 1 }, "device"],
  ])("a device: %s", async (_, change, fault) => {
    const provider = new FakeProvider();
    const account = await opened(provider);
    provider.mishap("POST /devices", { status: 201, body: JSON.stringify({ ...device, ...change }) });
    const made = await account.add(KEY).then(
      () => null,
      (error: Error) => error.message,
    );
    expect(made).toBe(fault && `the provider's answer contains no usable ${fault}; try again later`);
  });

  test("another device than was asked for", async () => {
    const provider = new FakeProvider();
    const account = await opened(provider);
    const other = { ...device, pubkey: generateKeyPair().publicKey };
    provider.mishap("POST /devices", { status: 201, body: JSON.stringify(other) });
    await expect(account.add(KEY)).rejects.toThrow("another key than the request");
  });

  test("an account and a list of devices", async () => {
    const provider = new FakeProvider();
    const account = await opened(provider);
    provider.mishap("GET /accounts/me", { body: '{"expiry":"one day"}' });
    await expect(account.paidUntil()).rejects.toThrow("contains no usable account");
    provider.mishap("GET /devices", { body: '{"devices":[]}' });
    await expect(account.devices()).rejects.toThrow("contains no usable list of devices");
  });

  test("an unknown path is not taken for a device that is gone", async () => {
    const provider = new FakeProvider();
    const account = await opened(provider);
    provider.mishap("DELETE /x", { status: 404, body: "<html>not found</html>" });
    await expect(account.remove("x")).rejects.toThrow("is not understood (HTTP 404)");
  });
});
