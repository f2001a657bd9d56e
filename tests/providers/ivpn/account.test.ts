import { afterEach, describe, expect, test } from "bun:test";
import { ivpn } from "../../../src/providers/ivpn/ivpn.ts";
import { type IvpnRegistration, registrationFrom } from "../../../src/providers/ivpn/registration.ts";
import { publicKeyOf } from "../../../src/wireguard/key.ts";
import { PRESHARED } from "../../servers/example.ts";
import { failure, Home } from "../home.ts";
import { FakeIvpn, ID } from "./site.ts";

const homes: Home[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) home.end();
});

function gateway() {
  const site = new FakeIvpn();
  const home = new Home(ivpn, site.send);
  homes.push(home);
  return { site, home };
}

async function loggedIn() {
  const all = gateway();
  await all.home.logIn(ID, "");
  all.site.asked.length = 0;
  return all;
}

function registration(home: Home): IvpnRegistration {
  const found = registrationFrom(home.stored ?? "");
  if (found === null) throw new Error("there is no registration");
  return found;
}

/** Whether IVPN has the gateway's key and address, in its only session. */
function agrees(home: Home, site: FakeIvpn): boolean {
  const [[token, session] = ["", null]] = site.sessions;
  const own = registration(home);
  return (
    site.sessions.size === 1 &&
    token === own.token &&
    session?.key === publicKeyOf(own.privateKey) &&
    `${session.address}/32` === own.addresses[0]
  );
}

const LEFT = "an unused session may be left in the account: https://www.ivpn.net/account/";

describe("logging in", () => {
  test("makes a session with a new key, and keeps neither the account ID nor the code", async () => {
    const { home, site } = gateway();
    site.code = "123456";
    const shown = await home.logIn(` ${ID.toLowerCase()}\t`, "123 456");
    expect(shown).toEqual({
      number: "************2345",
      device: "IVPN session",
      public_key: publicKeyOf(registration(home).privateKey),
      addresses: ["172.20.0.1/32"],
      created: "2026-01-02T00:00:00.000Z",
      paid_until: "2027-01-02T00:00:00.000Z",
      warnings: [],
    });
    expect([agrees(home, site), home.changes]).toEqual([true, 1]);
    home.store.scrub();
    expect([home.files.includes(ID), home.files.includes("123456")]).toEqual([false, false]);
  });

  test.each([
    ["an account ID of another form", "1234567890123456", "", "Account ID: must look like i-ABCD-EFGH-IJKL"],
    ["no account ID", "", "", "Account ID: must look like i-ABCD-EFGH-IJKL"],
    ["a code with letters", ID, "12345a", "Two-factor code: must be 6 to 8 digits, or empty"],
  ])("%s is refused before IVPN is asked, and not repeated", async (_, id, code, message) => {
    const { home, site } = gateway();
    expect(await failure(home.logIn(id, code))).toBe(message);
    expect(site.asked).toEqual([]);
  });

  test.each([
    ["an older account ID is accepted", "ivpnAbCd1234"],
    ["so is a shorter one", "ivpnAbCd123"],
  ])("%s", async (_, id) => {
    const { home } = gateway();
    expect(await failure(home.logIn(id, ""))).toBe(
      "IVPN does not know this account ID; check it for typing errors",
    );
  });

  test.each([
    [
      "another account",
      (site: FakeIvpn) => site.mishap("POST /new", body({ status: 401 })),
      "IVPN does not know this account ID; check it for typing errors",
    ],
    [
      "too many devices",
      (site: FakeIvpn) => (site.limit = 0),
      "the account is logged in on the maximum number of devices; log out one of them in its app or at https://www.ivpn.net/account/, then try again",
    ],
    [
      "not paid",
      (site: FakeIvpn) => (site.isActive = false),
      "the account is not active; pay for it at https://www.ivpn.net/account/, then try again",
    ],
    [
      "a captcha",
      (site: FakeIvpn) => (site.wantsCaptcha = true),
      "after failed logins IVPN asks for a captcha, which cannot be shown here; wait an hour, or log in once with IVPN's app from this network, then try again",
    ],
    [
      "a second factor",
      (site: FakeIvpn) => (site.code = "123456"),
      "the account has two-factor authentication; log in again, and enter the code after the account ID",
    ],
    [
      "an unknown code",
      (site: FakeIvpn) => site.mishap("POST /new", body({ status: 799 })),
      "the provider refused: code 799",
    ],
    [
      "too many attempts",
      (site: FakeIvpn) => site.mishap("POST /new", { status: 429, headers: { "retry-after": "60" } }),
      "too many attempts; try again in 60 seconds",
    ],
  ] as [string, (site: FakeIvpn) => void, string][])(
    "%s is refused in clear words, and nothing is stored",
    async (_, prepare, message) => {
      const { home, site } = gateway();
      prepare(site);
      expect(await failure(home.logIn(ID, ""))).toBe(message);
      expect([home.stored, home.changes, site.sessions.size]).toEqual([null, 0, 0]);
    },
  );

  test("a wrong code is refused as one", async () => {
    const { home, site } = gateway();
    site.code = "123456";
    expect(await failure(home.logIn(ID, "654321"))).toBe(
      "the two-factor code is wrong or too old; log in again with a new one",
    );
  });

  test.each([
    ["no answer", null, "api.ivpn.net cannot be asked: the connection was closed"],
    [
      "an internal error",
      { status: 503 },
      "the provider has an internal problem (HTTP 503); try again later",
    ],
    ["a web page", { body: "<html>" }, "the provider's answer is not understood (HTTP 200); try again later"],
    ["no token", body({ status: 200 }), "the provider's answer contains no usable session; try again later"],
    [
      "a token that is two lines",
      body({ ...session(), token: "a\nb" }),
      "the provider's answer contains no usable session; try again later",
    ],
    [
      "a date beyond all calendars",
      body({ ...session(), service_status: { is_active: true, active_until: 1e16 } }),
      "the provider's answer contains no usable session; try again later",
    ],
  ])("after %s, the message says that a session may be left", async (_, answer, message) => {
    const { home, site } = gateway();
    site.mishap("POST /new", answer, true);
    expect(await failure(home.logIn(ID, ""))).toBe(`${message}; ${LEFT}`);
    expect([home.stored, site.sessions.size]).toEqual([null, 1]);
  });

  test.each([
    ["a refused key", { status: 500 }],
    ["an address that is a command", { status: 200, ip_address: "172.20.0.1\nlink del eth0" }],
    ["an IPv6 address", { status: 200, ip_address: "fd00::1" }],
    ["no address", { status: 200 }],
  ])("a session with %s is ended again", async (_, wireguard) => {
    const { home, site } = gateway();
    site.mishap("POST /new", body({ ...session(), wireguard }));
    expect(await failure(home.logIn(ID, ""))).toBe("IVPN did not accept the new key; try again");
    expect([site.asked, home.stored]).toEqual([["POST /v4/session/new", "POST /v4/session/delete"], null]);
  });

  test("a session that cannot be stored is ended again", async () => {
    const { home, site } = gateway();
    home.store.close();
    expect(await failure(home.logIn(ID, ""))).not.toBeNull();
    expect(site.sessions.size).toBe(0);
  });
});

describe("showing the account", () => {
  test("asks IVPN until when it is paid", async () => {
    const { home, site } = await loggedIn();
    expect((await home.accounts.show(null)).paid_until).toBe("2027-01-02T00:00:00.000Z");
    site.isActive = false;
    expect((await home.accounts.show(null)).warnings).toEqual([
      "the account is not active, and no server answers",
    ]);
    expect(site.asked).toEqual(["POST /v4/session/status", "POST /v4/session/status"]);
  });

  test("says that the session is gone, or that IVPN does not answer", async () => {
    const { home, site } = await loggedIn();
    site.mishap("POST /status", null);
    expect(await home.accounts.show(null)).toMatchObject({
      paid_until: null,
      warnings: ["incomplete: api.ivpn.net cannot be asked: the connection was closed"],
    });
    site.sessions.clear();
    expect((await home.accounts.show(null)).warnings).toEqual([
      "the registration was removed from the account; log out, then log in again",
    ]);
  });
});

describe("a new key", () => {
  test("comes with a new address", async () => {
    const { home, site } = await loggedIn();
    const before = registration(home).privateKey;
    expect((await home.accounts.rotateKey(null)).addresses).toEqual(["172.20.0.2/32"]);
    expect([agrees(home, site), registration(home).privateKey === before, home.changes]).toEqual([
      true,
      false,
      2,
    ]);
  });

  test.each([
    ["IVPN took", true],
    ["never reached IVPN", false],
  ])("whose answer is lost, and which %s, is sent again by the next attempt", async (_, done) => {
    const { home, site } = await loggedIn();
    site.mishap("POST /set", null, done);
    expect(await failure(home.accounts.rotateKey(null))).toBe(
      "api.ivpn.net cannot be asked: the connection was closed; it is unknown which key the provider has, and connecting may fail; try again",
    );
    expect((await home.accounts.show(null)).warnings).toEqual([
      "a key rotation is unfinished; finish it with: portcullis account rotate-key",
    ]);
    const { newKey = "" } = registration(home);
    // A refusal says nothing of the key that was sent before.
    site.mishap("POST /set", body({ status: 702 }));
    expect(await failure(home.accounts.rotateKey(null))).toStartWith("the account is not active");
    await home.accounts.rotateKey(null);
    expect([agrees(home, site), registration(home).privateKey === newKey]).toEqual([true, true]);
  });

  test("that IVPN refuses is forgotten", async () => {
    const { home, site } = await loggedIn();
    const before = home.stored;
    site.mishap("POST /set", body({ status: 702 }));
    expect(await failure(home.accounts.rotateKey(null))).toStartWith("the account is not active");
    expect(JSON.parse(home.stored ?? "")).toEqual(JSON.parse(before ?? ""));
  });

  test("is refused while a tunnel uses the old one", async () => {
    const { home, site } = await loggedIn();
    home.inUse = true;
    expect(await failure(home.accounts.rotateKey(null))).toContain("disconnect first");
    expect(site.asked).toEqual([]);
  });
});

describe("logging out", () => {
  test("ends the session and leaves no secret in the files", async () => {
    const { home, site } = await loggedIn();
    const { token, privateKey } = registration(home);
    expect(await home.accounts.logOut(null, false)).toEqual({ device: "IVPN session", remains: null });
    expect([site.sessions.size, home.stored, home.changes]).toEqual([0, null, 2]);
    expect([home.files.includes(token), home.files.includes(privateKey)]).toEqual([false, false]);
  });

  test("succeeds if the session is already gone", async () => {
    const { home, site } = await loggedIn();
    site.sessions.clear();
    expect((await home.accounts.logOut(null, false)).remains).toBeNull();
  });

  test("changes nothing if IVPN does not answer, unless the account is to be forgotten", async () => {
    const { home, site } = await loggedIn();
    site.mishap("POST /delete", null);
    expect(await failure(home.accounts.logOut(null, false))).toBe(
      "api.ivpn.net cannot be asked: the connection was closed; nothing was changed; pass --forget to remove the account here only",
    );
    site.mishap("POST /delete", null);
    expect(await home.accounts.logOut(null, true)).toEqual({
      device: "IVPN session",
      remains:
        "the session is still in the account, because api.ivpn.net cannot be asked: the connection was closed; remove it at https://www.ivpn.net/account/",
    });
    expect([home.stored, site.sessions.size]).toEqual([null, 1]);
  });
});

describe("a stored text that is unsafe is not a registration", () => {
  const GOOD = {
    account: "************2345",
    token: "abc",
    privateKey: PRESHARED,
    addresses: ["172.20.0.1/32"],
    created: "2026-01-02T00:00:00.000Z",
  };
  test.each([
    ["as written, as a proof of what follows", GOOD, true],
    ["a token of two lines", { ...GOOD, token: "a\nb" }, false],
    ["a key of zeros", { ...GOOD, privateKey: `${"A".repeat(43)}=` }, false],
    ["an address that is none", { ...GOOD, addresses: ["172.20.0.999/32"] }, false],
    ["an account with an escape", { ...GOOD, account: "\u001b" }, false],
    ["an unknown field", { ...GOOD, more: 1 }, false],
  ])("%s", (_, value, good) => {
    expect(ivpn.registrationIn(JSON.stringify(value)) !== null).toBe(good);
  });
});

function session() {
  return {
    status: 200,
    token: "abc",
    service_status: { is_active: true, active_until: 1 },
    wireguard: { status: 200, ip_address: "172.20.0.1" },
  };
}

function body(value: object) {
  return { body: JSON.stringify(value) };
}
