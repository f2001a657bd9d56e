import { afterEach, describe, expect, test } from "bun:test";
import { nordvpn } from "../../../src/providers/nordvpn/nordvpn.ts";
import type { HttpsAnswer } from "../../../src/system/host.ts";
import { publicKeyOf } from "../../../src/wireguard/key.ts";
import { PRIVATE } from "../../servers/example.ts";
import { failure, Home } from "../home.ts";
import { FakeNord, TOKEN } from "./site.ts";

const homes: Home[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) home.end();
});

function gateway() {
  const site = new FakeNord();
  const home = new Home(nordvpn, site.send);
  homes.push(home);
  return { site, home };
}

const SHOWN = {
  number: `${"*".repeat(60)}cdef`,
  device: "NordVPN key",
  public_key: publicKeyOf(PRIVATE),
  addresses: ["10.5.0.2/32"],
  created: "2026-01-02T00:00:00.000Z",
  paid_until: null,
  warnings: [],
};

test("an access token is exchanged for the account's key, and is not kept", async () => {
  const { home, site } = gateway();
  expect(await home.logIn(` ${TOKEN}\n`)).toEqual(SHOWN);
  expect(home.registrations.current()).toEqual({
    provider: nordvpn,
    registration: {
      name: "NordVPN key",
      privateKey: PRIVATE,
      addresses: ["10.5.0.2/32"],
      dns: ["103.86.96.100", "103.86.99.100"],
    },
  } as never);
  expect(await home.accounts.show(null)).toEqual(SHOWN);
  expect(site.asked).toEqual(["GET /v1/users/services/credentials"]);
  expect(home.files.includes(TOKEN)).toBe(false);
});

describe("a login fails in clear words, and stores nothing", () => {
  const of = (answer: Partial<HttpsAnswer> | null) => (site: FakeNord) =>
    site.mishap("GET /credentials", answer);
  test.each([
    ["a token of another form", "p1234567", () => {}, "Access token: must be 64 hexadecimal digits"],
    [
      "another token",
      "f".repeat(64),
      () => {},
      "NordVPN does not accept the access token, or the account is not paid for; make another token at https://my.nordaccount.com/dashboard/nordvpn/access-tokens/",
    ],
    ["too many attempts", TOKEN, of({ status: 429 }), "too many attempts; try again in a few minutes"],
    [
      "an internal error",
      TOKEN,
      of({ status: 500 }),
      "the provider has an internal problem (HTTP 500); try again later",
    ],
    [
      "a redirect",
      TOKEN,
      of({ status: 301 }),
      "the provider's answer is not understood (HTTP 301); try again later",
    ],
    ["no answer", TOKEN, of(null), "api.nordvpn.com cannot be asked: the connection was closed"],
    [
      "a web page",
      TOKEN,
      of({ body: "<html>" }),
      "the provider's answer contains no usable key; try again later",
    ],
    [
      "a key that is cut off",
      TOKEN,
      of({ body: `{"nordlynx_private_key":"${PRIVATE.slice(0, 43)}"}` }),
      "the provider's answer contains no usable key; try again later",
    ],
  ] as [string, string, (site: FakeNord) => void, string][])("%s", async (_, token, prepare, message) => {
    const { home, site } = gateway();
    prepare(site);
    expect([await failure(home.logIn(token)), home.stored]).toEqual([message, null]);
  });
});

test("the key cannot be rotated here, and a logout forgets it", async () => {
  const { home } = gateway();
  await home.logIn(TOKEN);
  expect(await failure(home.accounts.rotateKey(null))).toBe(
    "NordVPN assigns the key; to use the account's present key, log out, then log in again",
  );
  home.inUse = true;
  expect(await failure(home.accounts.logOut(null, false))).toContain("disconnect first");
  home.inUse = false;
  expect((await home.accounts.logOut(null, false)).remains).toBe(
    "NordVPN keeps the key; revoke the access token at https://my.nordaccount.com/dashboard/nordvpn/access-tokens/",
  );
  expect([home.stored, home.files.includes(PRIVATE)]).toEqual([null, false]);
});

test("a stored text with another token, key or field is not a registration", () => {
  const good = { token: SHOWN.number, privateKey: PRIVATE, created: SHOWN.created };
  const isRead = (value: object) => nordvpn.registrationIn(JSON.stringify(value)) !== null;
  expect(isRead(good)).toBe(true);
  for (const change of [
    { token: TOKEN },
    { privateKey: `${"A".repeat(43)}=` },
    { created: "\u001b" },
    { more: 1 },
  ])
    expect(isRead({ ...good, ...change })).toBe(false);
});
