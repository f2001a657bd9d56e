import { afterEach, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { HttpsListener } from "../../src/http/https-listener.ts";
import { followMessages } from "../../src/http/messages.ts";
import type { HttpsAnswer, PinnedRequest } from "../../src/system/host.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { FakeProvider, NUMBER } from "../providers/mullvad/provider.ts";
import { BODY as OWN, PUBLIC } from "../servers/example.ts";
import type { Home } from "./home.ts";
import { SecureHome, TIMEOUT_MS } from "./secure-home.ts";

const { test } = slow;

setDefaultTimeout(TIMEOUT_MS);

const BODY = JSON.stringify({ account_number: "1234 5678 9012 3456" });
const MULLVAD = "/api/accounts/mullvad";

let secure: SecureHome;
let home: Home;
let https: HttpsListener;
let provider: FakeProvider;
beforeEach(() => start());
afterEach(() => end());

async function start(port: number | null = 5443): Promise<void> {
  secure = await SecureHome.start("off", {
    files: { "/etc/resolv.conf": "nameserver 203.0.113.53\n" },
    port,
  });
  ({ home, https } = secure);
  provider = new FakeProvider();
  for (const name of ["api.mullvad.net", "www.privateinternetaccess.com"])
    home.host.names.set(name, [ip("203.0.113.5")]);
  home.host.https = asked;
}

const end = () => secure.stop();
const send: SecureHome["send"] = (...asked) => secure.send(...asked);
const alerts = () => secure.alerts();

/** What leaves the gateway comes to the provider. */
function asked({ url, method, headers, body }: PinnedRequest): Promise<HttpsAnswer> {
  return provider.send({ url, method, headers, ...(body !== undefined && { body }) });
}

test("login, account, another key and logout, each told in an alert and in an event without a secret", async () => {
  const events: string[] = [];
  followMessages(home.parts.events, (event) => void events.push(JSON.stringify(event)));
  const made = await send("POST", MULLVAD, BODY);
  const [device] = provider.devices.values();
  expect([made.status, made.json]).toEqual([
    200,
    {
      number: "************3456",
      device: "happy otter 50",
      public_key: device?.pubkey,
      addresses: ["10.64.0.50/32", "fd64::50/128"],
      created: "2026-01-02T03:04:05.000Z",
      paid_until: "2027-01-02T03:04:05.000Z",
      warnings: [expect.stringContaining("the account in the settings is used instead")],
    },
  ]);
  expect(made.headers.get("cache-control")).toBe("no-store");
  expect((await send("GET", MULLVAD)).json).toEqual(made.json);
  const rotated = await send("POST", `${MULLVAD}/rotate-key`);
  expect(rotated.json.public_key).toBe(device?.pubkey);
  expect(rotated.json.public_key).not.toBe(made.json.public_key);
  const out = await send("DELETE", MULLVAD);
  expect([out.status, out.json]).toEqual([200, { device: "happy otter 50", remains: null }]);
  expect(provider.devices.size).toBe(0);
  expect(await alerts()).toEqual([
    "The gateway was logged in at Mullvad, by 127.0.0.1.",
    "The gateway's key at Mullvad was replaced, by 127.0.0.1.",
    "The gateway was logged out at Mullvad, by 127.0.0.1.",
  ]);
  const updates = events.filter((event) => event.includes('"account_update"'));
  expect(updates.length).toBe(3);
  expect(JSON.parse(updates[0] ?? "").payload).toEqual({
    ...home.parts.accounts.managed(),
    choices: home.parts.accounts.managed().choices.map((each) => ({
      ...each,
      account: each.name === "list" || each.name === "mullvad",
    })),
  });
  const told = [...home.lines, ...home.faults, ...events, ...(await alerts())].join("\n");
  expect(told).not.toMatch(/1234 ?5678|[A-Za-z0-9+/]{43}=/);
});

test("a logout forgets where the tunnels led at the provider", async () => {
  await send("POST", MULLVAD, BODY);
  const { catalogue, store, host, accounts } = home.parts;
  await accounts.choose("mullvad");
  await catalogue.reloadManaged(host, "/etc/servers.json", store);
  const own = { ...OWN, name: "mine" };
  catalogue.addCustom(own);
  const targets = [
    { provider: "managed", server: "se-1" },
    { provider: "custom", server: own.name },
  ];
  for (const name of ["main", "tv"]) {
    await send("PUT", `/api/tunnels/${name}`, { targets: targets.slice(0, 1) });
    if (name === "main") await send("PUT", "/api/tunnels/main", { targets });
    await send("POST", `/api/tunnels/${name}/disconnect`);
  }
  const stored = () => [store.read("last_targets"), store.read("recent")].join();
  expect(stored()).toContain("se-1");
  expect((await send("DELETE", MULLVAD)).status).toBe(200);
  expect(stored()).not.toContain("se-1");
  const { tunnels } = (await send("GET", "/api/tunnels")).json;
  expect(tunnels.map(({ last }: { last?: object }) => last)).toEqual([
    { targets: targets.slice(1) },
    undefined,
  ]);
});

test("over plain HTTP the refusal names HTTPS, and comes before the body is read", async () => {
  const { json, headers } = await home.send("POST", MULLVAD, undefined, { Host: "localhost:5000" });
  expect(headers.get("connection")).toBe("close");
  expect(json).toEqual({
    success: false,
    error: `this is served by HTTPS only: use https://localhost:${https.listensAt}. Nothing was read here, but what was sent was not encrypted: if others can listen on this network, replace it`,
  });
  // The body never comes.
  const head = `POST ${MULLVAD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n`;
  expect((await home.raw(head)).status).toBe(403);
  expect(provider.asked).toEqual([]);
});

test("without HTTPS the refusal says how to turn it on, or where to read why it does not work", async () => {
  const refused = async () => (await home.send("POST", MULLVAD, BODY)).json.error;
  await https.stop();
  expect(await refused()).toContain(
    "it does not work at present; for the reason, on the gateway: sudo portcullis check",
  );
  await end();
  await start(null);
  expect(await refused()).toContain("to turn it on, on the gateway: sudo portcullis install --https on");
});

test("no other way to write a path leads to an account by HTTP", async () => {
  await home.parts.accounts.logIn("mullvad", [NUMBER]);
  for (const path of [
    "/api/accounts/mullva%64",
    "/api/%61ccounts/mullvad",
    "/api//accounts/mullvad",
    "/api/accounts/mullvad/",
    "/api/x/../accounts/mullvad",
    "/api/accounts/mullvad?x",
    "/api/accounts/mullvad#x",
    "http://localhost/api/accounts/mullvad",
    "https://localhost/api/accounts/mullvad",
  ]) {
    const { status, text } = await home.send("GET", path);
    expect({ path, isServed: status === 200 || text.includes("otter") }).toEqual({ path, isServed: false });
  }
});

test("a field that is missing, unknown or another provider's is named, no value is repeated, and nobody is asked", async () => {
  for (const [path, body, error] of [
    [MULLVAD, {}, "account_number is required"],
    [MULLVAD, { account_number: 1234567890123456 }, "account_number must be a string"],
    [MULLVAD, { account_number: "123456789012345" }, "Account number: must be 16 digits"],
    [MULLVAD, { password: NUMBER }, "password: Mullvad asks for account_number"],
    [MULLVAD, { number: NUMBER }, "unknown field number: the known ones are "],
    [MULLVAD, { [NUMBER]: "" }, "unknown field (a secret)"],
    ["/api/accounts/pia", { user_name: "p1234567" }, "password is required"],
    [
      "/api/accounts/pia",
      { user_name: "p1234567", password: "x".repeat(257) },
      "Password: must be 1 to 256 characters",
    ],
    ["/api/accounts/ivpn", { account_id: NUMBER }, "Account ID: must look like"],
    ["/api/accounts/list", {}, "provider must be mullvad, ivpn, pia or nordvpn"],
    [`/api/accounts/${NUMBER}`, {}, "provider must be"],
  ] as const) {
    await home.pass(60_000);
    const { status, json } = await send("POST", path, body);
    expect([status, json.error]).toEqual([400, expect.stringContaining(error)]);
    expect(json.error).not.toContain(NUMBER);
  }
  expect((await send("DELETE", `${MULLVAD}?forget=yes`)).json.error).toBe("forget must be true");
  expect(provider.asked).toEqual([]);
});

test("a seventh login within a minute is refused for as long as it takes, and nobody is asked", async () => {
  const wrong = JSON.stringify({ account_number: "0000000000000000" });
  for (let count = 0; count < 6; count += 1)
    expect((await send("POST", MULLVAD, wrong)).json.error).toBe(
      "the provider does not know this account number; check it for typing errors",
    );
  const asked = provider.asked.length;
  const { status, headers, json } = await send("POST", MULLVAD, BODY);
  expect([status, json.error]).toEqual([
    429,
    expect.stringMatching(/^too many logins: try again in \d\d seconds$/),
  ]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(50);
  expect(provider.asked.length).toBe(asked);
  await home.pass(60_000);
  expect((await send("POST", MULLVAD, BODY)).status).toBe(200);
});

test("the list is fetched by HTTPS too, and one with far fewer servers is refused", async () => {
  expect((await home.send("POST", "/api/managed/update")).status).toBe(403);
  const place = { country: "Sweden", city: "Malmö", ipv4: "192.0.2.1", port: 51820, public_key: PUBLIC };
  const put = (...names: string[]) =>
    home.host.files.set(
      "/etc/servers.json",
      JSON.stringify({ servers: names.map((hostname) => ({ hostname, ...place })) }),
    );
  put("se-1", "se-2", "se-3");
  const { status, json } = await send("POST", "/api/managed/update");
  expect([status, json]).toEqual([200, { changed: true, servers: 3, skipped: 0 }]);
  put("se-1");
  expect((await send("POST", "/api/managed/update")).json.error).toContain("has 1 server");
});

test("a client has three requests wait for a provider, and no more", async () => {
  await home.parts.accounts.logIn("mullvad", [NUMBER]);
  const held = Promise.withResolvers<void>();
  home.host.https = (request) => held.promise.then(() => asked(request));
  // They come by connections of their own, so any of them may be the fourth.
  const sent = [1, 2, 3, 4].map(() => send("GET", MULLVAD));
  const { status, json } = await Promise.race(sent);
  expect(json.error).toBe("earlier requests still wait for a provider; try again later");
  held.resolve();
  const statuses = (await Promise.all(sent)).map((each) => each.status);
  expect(statuses.toSorted()).toEqual([200, 200, 200, status]);
});

test("a provider that fails keeps the account unless it is to be forgotten", async () => {
  await home.parts.accounts.logIn("mullvad", [NUMBER]);
  provider.mishap("POST /token", null);
  expect((await send("DELETE", MULLVAD)).json.error).toContain("nothing was changed");
  provider.mishap("POST /token", null);
  expect((await send("DELETE", `${MULLVAD}?forget=true`)).json).toEqual({
    device: "happy otter 50",
    remains: expect.stringContaining("is still in the account"),
  });
  const { status, json } = await send("GET", MULLVAD);
  expect([status, json.error]).toEqual([404, expect.stringContaining("there is no account at Mullvad here")]);
});
