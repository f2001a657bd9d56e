import { afterEach, describe, expect, test } from "bun:test";
import { pia } from "../../../src/providers/pia/pia.ts";
import type { HttpsAnswer } from "../../../src/system/host.ts";
import { publicKeyOf } from "../../../src/wireguard/key.ts";
import { ips } from "../../fake/address.ts";
import { PUBLIC } from "../../servers/example.ts";
import { failure, Home } from "../home.ts";
import { BERLIN, FakePia, PASSWORD, USER } from "./site.ts";

const HOUR_MS = 3_600_000;

const homes: Home[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) home.end();
});

function gateway() {
  const site = new FakePia();
  const home = new Home(pia, site.send);
  homes.push(home);
  return { site, home, connect: () => home.connections.register(BERLIN, site.send) };
}

async function loggedIn() {
  const all = gateway();
  await all.home.logIn(USER, PASSWORD);
  all.site.asked.length = 0;
  return all;
}

describe("logging in", () => {
  test("checks the password, and shows the account without it", async () => {
    const { home, site } = gateway();
    expect(await home.logIn(` ${USER} `, PASSWORD)).toEqual({
      number: "****4567",
      device: "PIA account ****4567",
      public_key: null,
      addresses: [],
      created: "2026-01-02T00:00:00.000Z",
      paid_until: "2027-01-02T00:00:00.000Z",
      warnings: [],
    });
    expect(site.asked).toEqual(["POST /api/client/v2/token", "GET /api/client/v2/account"]);
    expect(home.registrations.current()).toMatchObject({ provider: pia });
  });

  test.each([
    ["no user name", "", PASSWORD, "User name: must look like p1234567"],
    ["a user name of two words", "p1 2", PASSWORD, "User name: must look like p1234567"],
    ["no password", USER, "", "Password: must be 1 to 256 characters without control characters"],
    [
      "a password with a control character",
      USER,
      "a\u0007",
      "Password: must be 1 to 256 characters without control characters",
    ],
  ])("%s is refused before PIA is asked", async (_, name, password, message) => {
    const { home, site } = gateway();
    expect([await failure(home.logIn(name, password)), site.asked]).toEqual([message, []]);
  });

  test.each([
    [
      "a wrong password",
      (site: FakePia) => (site.password = "x"),
      "PIA does not accept the user name or the password; check both",
    ],
    [
      "an account that has expired",
      (site: FakePia) => (site.isActive = false),
      "the account has expired; renew it at https://www.privateinternetaccess.com/",
    ],
    [
      "too many attempts",
      (site: FakePia) => site.mishap("POST /token", { status: 429, headers: { "retry-after": "30" } }),
      "too many attempts; try again in 30 seconds",
    ],
    [
      "an internal error",
      (site: FakePia) => site.mishap("POST /token", { status: 502 }),
      "the provider has an internal problem (HTTP 502); try again later",
    ],
    [
      "a redirect",
      (site: FakePia) => site.mishap("POST /token", { status: 302 }),
      "the provider's answer is not understood (HTTP 302); try again later",
    ],
    [
      "no answer",
      (site: FakePia) => site.mishap("POST /token", null),
      "www.privateinternetaccess.com cannot be asked: the connection was closed",
    ],
    [
      "a web page",
      (site: FakePia) => site.mishap("POST /token", { body: "<html>" }),
      "the provider's answer contains no usable access token; try again later",
    ],
    [
      "a token of two lines",
      (site: FakePia) => site.mishap("POST /token", { body: '{"token":"a\\nb"}' }),
      "the provider's answer contains no usable access token; try again later",
    ],
  ] as [string, (site: FakePia) => void, string][])(
    "after %s nothing is stored",
    async (_, prepare, message) => {
      const { home, site } = gateway();
      prepare(site);
      expect([await failure(home.logIn(USER, PASSWORD)), home.stored]).toEqual([message, null]);
    },
  );

  test("succeeds if only the date of payment is missing", async () => {
    const { home, site } = gateway();
    site.mishap("GET /account", { status: 500 });
    expect(await home.logIn(USER, PASSWORD)).toMatchObject({
      paid_until: null,
      warnings: ["incomplete: the provider has an internal problem (HTTP 500); try again later"],
    });
  });
});

describe("a connection", () => {
  test("gets a new key, which the server has, and what the server assigns", async () => {
    const { site, connect } = await loggedIn();
    const [first, second] = [await connect(), await connect()];
    const { privateKey } = first.interface;
    expect(first as unknown).toEqual({
      interface: {
        privateKey,
        addresses: ["10.4.128.2/32"],
        dns: ["10.0.0.243", "10.0.0.242"],
        searchDomains: [],
      },
      peer: {
        publicKey: PUBLIC,
        // Whatever address the answer names.
        endpoint: { host: "192.0.2.24", port: 1337 },
        allowedIps: ["0.0.0.0/0", "::/0"],
      },
    });
    expect(second.interface.privateKey).not.toBe(privateKey);
    expect([...site.keys.keys()]).toEqual(
      [first, second].map(({ interface: own }) => publicKeyOf(own.privateKey)),
    );
    expect(site.asked).toEqual(["GET /addKey", "GET /addKey"]);
  });

  test("uses the operator's resolvers if there are some", async () => {
    const { home, site } = await loggedIn();
    const own = { ...BERLIN.config.interface, dns: ips("192.0.2.53") };
    const server = { ...BERLIN, config: { ...BERLIN.config, interface: own } };
    expect((await home.connections.register(server, site.send)).interface.dns as string[]).toEqual([
      "192.0.2.53",
    ]);
  });

  test("renews the token before it expires, and after a restart", async () => {
    const { home, site, connect } = await loggedIn();
    for (const hours of [0, 22, 2, 22, 2]) {
      home.now += hours * HOUR_MS;
      site.now += hours * HOUR_MS;
      await connect();
    }
    expect(site.asked.filter((line) => line.startsWith("POST"))).toHaveLength(2);
  });

  test("gets a new token if the server refuses the old one, once", async () => {
    const { home, site, connect } = await loggedIn();
    site.revoke();
    await connect();
    expect(site.asked).toEqual(["GET /addKey", "POST /api/client/v2/token", "GET /addKey"]);
    site.asked.length = 0;
    for (let times = 0; times < 2; times++)
      site.mishap("GET /addKey", { body: '{"status":"ERROR","message":"no"}' });
    expect(await failure(connect())).toBe(
      "berlin424 refused the gateway's key; check whether the account is paid: sudo portcullis account show --provider pia",
    );
    expect(site.asked).toHaveLength(3);
    site.revoke();
    site.password = "another";
    expect(await failure(connect())).toBe("PIA does not accept the user name or the password; check both");
    expect(home.stored).not.toBeNull();
  });

  const good = {
    status: "OK",
    server_key: PUBLIC,
    server_port: 1337,
    peer_ip: "10.4.128.9",
    dns_servers: ["10.0.0.243"],
  };

  test.each([
    ["as documented, as a proof of what follows", good, null],
    [
      "a port as text, and the length of the prefix",
      { ...good, server_port: "1338", peer_ip: "10.4.128.9/32" },
      null,
    ],
    ["more than documented", { ...good, server_vip: "10.4.128.1", colour: "red" }, null],
    ["a port beyond all ports", { ...good, server_port: "65536" }, "key"],
    ["port 0", { ...good, server_port: 0 }, "key"],
    ["a key of zeros", { ...good, server_key: `${"A".repeat(43)}=` }, "key"],
    ["no key", { ...good, server_key: undefined }, "key"],
    ["an address that is a command", { ...good, peer_ip: "10.4.128.9\nlink del eth0" }, "address"],
    ["an IPv6 address", { ...good, peer_ip: "fd00::1" }, "address"],
    ["no resolver", { ...good, dns_servers: [] }, "key"],
    ["a resolver that is none", { ...good, dns_servers: ["dns.test; reboot"] }, "key"],
    ["a web page", "<html>", "key"],
    ["an array", [], "key"],
  ] as [string, unknown, string | null][])("with an answer that is %s", async (_, value, fault) => {
    const { site, connect } = await loggedIn();
    site.mishap("GET /addKey", body(value));
    expect(await failure(connect())).toBe(
      fault && `the provider's answer contains no usable ${fault}; try again later`,
    );
  });

  test("fails in clear words without an account", async () => {
    const { home, connect } = gateway();
    expect(await failure(connect())).toBe("berlin424 needs an account at its provider");
    home.store.write("managed", "pia");
    expect(await failure(connect())).toBe(
      "there is no readable account at PIA here; type: sudo portcullis account login --provider pia",
    );
  });
});

describe("the account", () => {
  test("is shown with until when it is paid, or why that is unknown", async () => {
    const { home, site } = await loggedIn();
    site.isActive = false;
    expect(await home.accounts.show(null)).toMatchObject({
      paid_until: "2027-01-02T00:00:00.000Z",
      warnings: ["the account is not active, and no server accepts it"],
    });
    site.mishap("GET /account", body({ active: true, expiration_time: 1e15 }));
    expect((await home.accounts.show(null)).warnings).toEqual([
      "incomplete: the provider's answer contains no usable account; try again later",
    ]);
  });

  test("has no key that could be replaced", async () => {
    const { home } = await loggedIn();
    expect(await failure(home.accounts.rotateKey(null))).toBe(
      "each connection to PIA gets a new key; connect again for another one",
    );
  });

  test("is forgotten by a logout, without a request, and with its password in the files", async () => {
    const { home, site } = await loggedIn();
    home.inUse = true;
    expect(await failure(home.accounts.logOut(null, false))).toContain("disconnect first");
    home.inUse = false;
    expect(await home.accounts.logOut(null, false)).toEqual({
      device: "PIA account ****4567",
      remains: "PIA's servers remove the key of the last connection by themselves",
    });
    expect([home.stored, site.asked, home.files.includes(USER), home.files.includes(PASSWORD)]).toEqual([
      null,
      [],
      false,
      false,
    ]);
  });
});

test("no error, and nothing that is shown, contains the password or the token", async () => {
  const { home, site, connect } = await loggedIn();
  const shown = [JSON.stringify(await home.accounts.show(null)), JSON.stringify(home.accounts.managed())];
  for (const answer of [
    null,
    { status: 500 },
    { status: 403 },
    { status: 403 },
    { body: "{" },
  ] as (Partial<HttpsAnswer> | null)[]) {
    site.mishap("GET /addKey", answer);
    shown.push((await failure(connect())) ?? "");
  }
  for (const secret of [PASSWORD.trim(), ...site.tokens.keys()])
    expect(shown.join("\n")).not.toContain(secret);
});

function body(value: unknown) {
  return { body: typeof value === "string" ? value : JSON.stringify(value) };
}
