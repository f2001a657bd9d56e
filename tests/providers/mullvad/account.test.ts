import { afterEach, describe, expect } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../../src/base/errors.ts";
import { type MullvadRegistration, registrationFrom } from "../../../src/providers/mullvad/registration.ts";
import { Store } from "../../../src/store/store.ts";
import { publicKeyOf } from "../../../src/wireguard/key.ts";
import { cidr } from "../../fake/address.ts";
import { slow } from "../../fast.ts";
import { mullvadAccount } from "./accounts.ts";
import { EXPIRY, FakeProvider, NUMBER } from "./provider.ts";

const { test } = slow;

const NOW = Date.UTC(2026, 0, 2);

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function gateway({ inUse = false } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "portcullis-account-"));
  ends.push(() => rmSync(directory, { recursive: true, force: true }));
  const store = Store.open(directory, NOW);
  const provider = new FakeProvider();
  const used = { inUse };
  let changes = 0;
  const account = mullvadAccount(store, provider.send, {
    inUse: () => used.inUse,
    takeUp: async () => void changes++,
  });
  return {
    directory,
    store,
    provider,
    account,
    used,
    changes: () => changes,
    stored: () => store.read("account"),
  };
}

type Gateway = ReturnType<typeof gateway>;

function registration({ stored }: Gateway): MullvadRegistration {
  const found = registrationFrom(stored() ?? "");
  if (found === null) throw new Error("there is no registration");
  return found;
}

/** The account's only device, as the provider has it. */
function provided({ provider }: Gateway) {
  expect(provider.devices.size).toBe(1);
  return [...provider.devices.values()][0] as NonNullable<ReturnType<FakeProvider["put"]>>;
}

/** Whether the provider has the gateway's key. */
function agrees(on: Gateway): boolean {
  return provided(on).pubkey === publicKeyOf(registration(on).privateKey);
}

async function loggedIn(options = {}): Promise<Gateway> {
  const all = gateway(options);
  await all.account.logIn(NUMBER);
  all.provider.asked.length = 0;
  return all;
}

describe("logging in", () => {
  test("registers a key with the provider, and shows the registration without secrets", async () => {
    const all = gateway();
    const shown = await all.account.logIn(NUMBER);
    expect(agrees(all)).toBe(true);
    expect(shown).toEqual({
      number: "************3456",
      device: "happy otter 50",
      public_key: provided(all).pubkey,
      addresses: ["10.64.0.50/32", "fd64::50/128"],
      created: "2026-01-02T03:04:05.000Z",
      paid_until: EXPIRY,
      warnings: [],
    });
    expect(all.changes()).toBe(1);
    expect(JSON.stringify(shown)).not.toContain(registration(all).privateKey);
  });

  test("a second time is refused without a request to the provider", async () => {
    const all = await loggedIn();
    const before = registration(all);
    await expect(all.account.logIn(NUMBER)).rejects.toThrow(
      'there already is an account at Mullvad here, with the registration "happy otter 50"; log out first',
    );
    expect([all.provider.asked, registration(all)]).toEqual([[], before]);
  });

  test("twice at once makes one registration", async () => {
    const all = gateway();
    const both = await Promise.allSettled([all.account.logIn(NUMBER), all.account.logIn(NUMBER)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(agrees(all)).toBe(true);
  });

  test("in two processes at once leaves one registration, here and at the provider", async () => {
    const all = gateway();
    const other = mullvadAccount(Store.open(all.directory, NOW), all.provider.send);
    const both = await Promise.allSettled([all.account.logIn(NUMBER), other.logIn(NUMBER)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(agrees(all)).toBe(true);
  });

  test("that the provider refuses stores nothing", async () => {
    const all = gateway();
    all.provider.maxDevices = 0;
    await expect(all.account.logIn(NUMBER)).rejects.toThrow("the maximum number of registrations");
    await expect(all.account.logIn("0000000000000000")).rejects.toThrow("does not know this account");
    expect([all.stored(), all.changes(), all.provider.devices.size]).toEqual([null, 0, 0]);
  });

  test.each([
    ["an answer that is lost", null],
    ["an answer that is cut", { status: 201, body: '{"id":' }],
    ["trouble at the provider", { status: 502, body: "<html>" }],
  ])("%s leaves no unknown registration", async (_, answer) => {
    const all = gateway();
    all.provider.mishap("POST /devices", answer, true);
    await expect(all.account.logIn(NUMBER)).rejects.toThrow("provider");
    expect([all.stored(), all.provider.devices.size]).toEqual([null, 0]);
  });

  test("a registration that cannot be stored is removed again; other devices stay", async () => {
    const all = gateway();
    const other = all.provider.put("someone else's");
    all.store.write = () => {
      throw new GatewayError("unable", "The database could not be written: the disk is full.");
    };
    await expect(all.account.logIn(NUMBER)).rejects.toThrow("the disk is full");
    expect([...all.provider.devices.keys()]).toEqual([other.id]);
  });

  test("if not even that is possible, the message says where to look", async () => {
    const all = gateway();
    all.provider.mishap("POST /devices", null, true);
    all.provider.mishap("GET /devices", null);
    await expect(all.account.logIn(NUMBER)).rejects.toThrow(
      "provider.test cannot be asked: the connection was closed; an unused registration may be left in the account: https://mullvad.net/account/devices",
    );
    expect(all.stored()).toBeNull();
  });

  test("a stored value that is not a registration counts as none", async () => {
    const all = gateway();
    all.store.write("account", '{"number":"1"}');
    await expect(all.account.show()).rejects.toThrow("cannot be read and is not used");
    await all.account.logIn(NUMBER);
    expect(agrees(all)).toBe(true);
  });
});

describe("showing", () => {
  test("without an account says how to log in", async () => {
    await expect(gateway().account.show()).rejects.toThrow(
      "there is no account here; log in with: portcullis account login",
    );
  });

  test("without an answer from the provider shows what is known, and says so", async () => {
    const all = await loggedIn();
    all.provider.mishap("POST /token", null);
    expect(await all.account.show()).toMatchObject({
      device: "happy otter 50",
      paid_until: null,
      warnings: ["incomplete: provider.test cannot be asked: the connection was closed"],
    });
  });

  test("reports a registration that was removed", async () => {
    const all = await loggedIn();
    all.provider.devices.clear();
    const { paid_until, warnings } = await all.account.show();
    expect(paid_until).toBe(EXPIRY);
    expect(warnings).toEqual(["the registration was removed from the account; log out, then log in again"]);
  });

  test("reports a key that was replaced at the provider", async () => {
    const all = await loggedIn();
    provided(all).pubkey = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
    expect((await all.account.show()).warnings).toEqual([
      "the provider has another key for this registration, so connecting fails; replace it with: portcullis account rotate-key",
    ]);
  });

  test("adopts the provider's new address or name", async () => {
    const all = await loggedIn();
    provided(all).ipv4_address = "10.64.0.99/32";
    expect((await all.account.show()).addresses).toEqual(["10.64.0.99/32", "fd64::50/128"]);
    expect([registration(all).addresses[0], all.changes()]).toEqual([cidr("10.64.0.99/32"), 2]);
  });
});

describe("logging out", () => {
  test("removes the registration at the provider and every trace of it here", async () => {
    const all = await loggedIn();
    const { privateKey, id } = registration(all);
    expect(await all.account.logOut(false)).toEqual({ device: "happy otter 50", remains: null });
    expect([all.stored(), all.provider.devices.size, all.changes()]).toEqual([null, 0, 2]);
    for (const file of readdirSync(all.directory)) {
      const bytes = readFileSync(join(all.directory, file), "latin1");
      for (const secret of [privateKey, id, NUMBER]) expect(bytes).not.toContain(secret);
    }
  });

  test("of a registration that is already gone succeeds", async () => {
    const all = await loggedIn();
    all.provider.devices.clear();
    expect(await all.account.logOut(false)).toEqual({ device: "happy otter 50", remains: null });
    expect(all.stored()).toBeNull();
  });

  test.each(["POST /token", "DELETE"])("without an answer to %s changes nothing", async (on) => {
    const all = await loggedIn();
    all.provider.mishap(on === "DELETE" ? `DELETE /${registration(all).id}` : on, null);
    await expect(all.account.logOut(false)).rejects.toThrow(
      "provider.test cannot be asked: the connection was closed; nothing was changed; pass --forget to remove the account here only",
    );
    expect(agrees(all)).toBe(true);
  });

  test("with --forget needs no answer, and says what remains", async () => {
    const all = await loggedIn();
    all.provider.mishap("POST /token", null);
    expect(await all.account.logOut(true)).toEqual({
      device: "happy otter 50",
      remains:
        'the registration "happy otter 50" is still in the account, because provider.test cannot be asked: the connection was closed; remove it at https://mullvad.net/account/devices',
    });
    expect([all.stored(), all.provider.devices.size]).toEqual([null, 1]);
  });

  test("while a tunnel uses the account is refused, with --forget too", async () => {
    const all = await loggedIn();
    all.used.inUse = true;
    for (const forget of [false, true])
      await expect(all.account.logOut(forget)).rejects.toThrow("disconnect first");
    expect([all.provider.asked, agrees(all)]).toEqual([[], true]);
  });

  test("makes room for another login", async () => {
    const all = await loggedIn();
    await all.account.logOut(false);
    await all.account.logIn(NUMBER);
    expect(agrees(all)).toBe(true);
  });
});

describe("another key", () => {
  test("replaces the former one in the same registration", async () => {
    const all = await loggedIn();
    const before = registration(all);
    const shown = await all.account.rotateKey();
    const after = registration(all);
    expect([after.id, after.name, agrees(all)]).toEqual([before.id, before.name, true]);
    expect(after.privateKey).not.toBe(before.privateKey);
    expect([shown.public_key, shown.warnings]).toEqual([publicKeyOf(after.privateKey), []]);
    expect(after).not.toHaveProperty("newKey");
    expect(all.changes()).toBe(2);
    for (const file of readdirSync(all.directory))
      expect(readFileSync(join(all.directory, file), "latin1")).not.toContain(before.privateKey);
  });

  test("comes with the addresses that the provider assigns to it", async () => {
    const all = await loggedIn();
    provided(all).ipv4_address = "10.64.0.99/32";
    expect((await all.account.rotateKey()).addresses[0]).toBe("10.64.0.99/32");
  });

  test("while a tunnel uses the account is refused", async () => {
    const all = await loggedIn();
    all.used.inUse = true;
    await expect(all.account.rotateKey()).rejects.toThrow("disconnect first");
    expect(all.provider.asked).toEqual([]);
  });

  test("that the provider refuses changes nothing", async () => {
    const all = await loggedIn();
    const before = registration(all);
    all.provider.refuse("PUT /pubkey", 429, "THROTTLED");
    await expect(all.account.rotateKey()).rejects.toThrow("too many attempts");
    expect([registration(all), agrees(all)]).toEqual([before, true]);
  });

  test.each([true, false])("that may have arrived (%p) is clarified at once", async (arrived) => {
    const all = await loggedIn();
    const before = registration(all);
    all.provider.mishap("PUT /pubkey", null, arrived);
    const rotated = await all.account.rotateKey().then(
      () => true,
      () => false,
    );
    expect(rotated).toBe(arrived);
    expect(agrees(all)).toBe(true);
    expect(registration(all).privateKey === before.privateKey).toBe(!arrived);
    expect(registration(all)).not.toHaveProperty("newKey");
  });

  test.each([true, false])(
    "that may have arrived (%p) stays open while the provider does not answer",
    async (arrived) => {
      const all = await loggedIn();
      all.provider.mishap("PUT /pubkey", null, arrived);
      all.provider.mishap(`GET /${registration(all).id}`, null);
      await expect(all.account.rotateKey()).rejects.toThrow(
        "it is unknown which key the provider has, and connecting may fail; try again",
      );
      expect(registration(all)).toHaveProperty("newKey");
      all.provider.mishap("POST /token", null);
      expect((await all.account.show()).warnings).toContain(
        "a key rotation is unfinished; finish it with: portcullis account rotate-key",
      );
      expect((await all.account.show()).warnings).toEqual([]);
      expect(agrees(all)).toBe(true);
      expect(registration(all)).not.toHaveProperty("newKey");
    },
  );

  test.each([true, false])("is finished by the next rotation (arrived: %p)", async (arrived) => {
    const all = await loggedIn();
    const { privateKey } = registration(all);
    all.provider.mishap("PUT /pubkey", null, arrived);
    all.provider.mishap(`GET /${registration(all).id}`, null);
    await expect(all.account.rotateKey()).rejects.toThrow();
    await all.account.rotateKey();
    expect(agrees(all)).toBe(true);
    expect(registration(all).privateKey).not.toBe(privateKey);
    expect(registration(all)).not.toHaveProperty("newKey");
  });

  test("that the provider accepted but the disk did not is still here after a crash", async () => {
    const all = await loggedIn();
    const write = all.store.write.bind(all.store);
    let writes = 0;
    all.store.write = (key, value) => {
      if (++writes > 1) throw new GatewayError("unable", "The database could not be written.");
      write(key, value);
    };
    await expect(all.account.rotateKey()).rejects.toThrow("could not be written");
    all.store.write = write;
    expect(agrees(all)).toBe(false);
    await all.account.show();
    expect(agrees(all)).toBe(true);
  });

  test("of a registration that is gone says so, and keeps what it had", async () => {
    const all = await loggedIn();
    const before = registration(all);
    all.provider.devices.clear();
    await expect(all.account.rotateKey()).rejects.toThrow("log out, then log in again");
    expect(registration(all)).toEqual(before);
  });
});

test.each([200, 302, 400, 401, 404, 429, 500])(
  "no message after HTTP %d contains the number, a key or the token",
  async (status) => {
    for (const on of ["POST /token", "GET /accounts/me", "PUT /pubkey", "POST /devices", "DELETE"]) {
      const all = await loggedIn();
      const { privateKey, id } = registration(all);
      const { token } = all.provider;
      const body = JSON.stringify({
        code: `${NUMBER} ${token} ${privateKey}`,
        detail: NUMBER,
        name: privateKey,
      });
      const spoil = () => all.provider.mishap(on === "DELETE" ? `DELETE /${id}` : on, { status, body });
      const { account } = all;
      const said: string[] = [];
      for (const work of [
        () => account.show(),
        () => account.rotateKey(),
        () => account.logOut(false),
        () => account.logOut(true),
        () => account.logIn(NUMBER),
      ]) {
        spoil();
        said.push(await work().then(JSON.stringify, (error: Error) => error.message));
      }
      for (const secret of [NUMBER, token, privateKey]) expect(said.join()).not.toContain(secret);
    }
  },
);
