import { describe, expect, test } from "bun:test";
import { alertText } from "../../src/base/alert-rows.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { Accounts } from "../../src/providers/accounts.ts";
import { applyAccount } from "../../src/providers/apply-account.ts";
import { isManagedInUse } from "../../src/providers/in-use.ts";
import { VPN_PROVIDERS } from "../../src/providers/list.ts";
import { Registrations } from "../../src/providers/registrations.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { MANAGED, OWN_LIST, type Provider } from "../../src/servers/schema.ts";
import { Updates } from "../../src/servers/updates.ts";
import { Store } from "../../src/store/store.ts";
import type { HttpsRequest } from "../../src/system/host.ts";
import type { State } from "../../src/tunnel/state.ts";
import { PRESHARED, PRIVATE, PUBLIC, SERVER } from "../servers/example.ts";
import { inDirectory } from "../tunnel/directory.ts";
import { BASE, FakeProvider, NUMBER } from "./mullvad/provider.ts";
import { second } from "./second.ts";

const NOW = Date.UTC(2026, 0, 2);
const MULLVAD_LIST = "https://api.mullvad.net/www/relays/wireguard/";

function listWith(hostname: string): string {
  const place = { country: "Sweden", city: "Malmö", ipv4: "192.0.2.1", port: 51820 };
  return JSON.stringify({ servers: [{ hostname, ...place, public_key: PUBLIC }] });
}

class Scene {
  readonly mullvad = new FakeProvider();
  readonly asked: string[] = [];
  inUse = false;
  /** How many managed servers can be connected to, each time clients are told of a change. */
  readonly usable: number[] = [];
  readonly alerts: string[] = [];
  /** Whose servers the VPN account has, each time clients are told of a change of accounts. */
  readonly changes: string[] = [];
  readonly settings;
  readonly registrations: Registrations;
  readonly managed = new ManagedList({ missing: "nothing is taken up yet" });
  readonly updates: Updates;
  readonly accounts: Accounts;

  constructor(
    readonly store: Store,
    given: Parameters<typeof settingsFrom>[0],
    providers: Registrations["providers"],
  ) {
    this.settings = settingsFrom(given);
    this.registrations = new Registrations(store, this.settings, providers);
    const { settings, registrations, managed } = this;
    const catalogue = new Catalogue(store, managed);
    catalogue.onChange(() => this.usable.push(catalogue.usable().managed));
    const never = () => new Promise<void>(() => {});
    const host = { read: async () => PRIVATE, now: () => NOW, monotonic: () => 0, sleep: never };
    const log = { info: () => {}, warn: () => {} };
    this.updates = new Updates({ host, store, catalogue, log, onShrunk: () => {} }, settings.managedList);
    const apply = () => applyAccount({ settings, host, registrations, catalogue, updates: this.updates });
    const send = (request: HttpsRequest) => this.send(request);
    this.accounts = new Accounts({
      settings,
      store,
      registrations,
      send,
      clock: host,
      inUse: () => this.inUse,
      apply,
      alarm: (code, args) => void this.alerts.push(`${code}: ${alertText(code, args)}`),
      past: { forgetGone: () => {} },
      events: { publish: ({ payload }) => this.changes.push(payload.current) },
    });
  }

  names(): string[] {
    return this.managed.listed().map(({ name }) => name);
  }

  ownAddresses(): readonly string[] | undefined {
    return this.managed.servers()[0]?.config.interface.addresses;
  }

  /** The whole internet: the interfaces of Mullvad and of the second provider. */
  async send(request: HttpsRequest) {
    this.asked.push(request.url);
    const { url } = request;
    if (url.includes("second.test")) return { status: 200, headers: {}, body: listWith("second-1") };
    return this.mullvad.send({ ...request, url: url.replace("https://api.mullvad.net", BASE) });
  }
}

function scene(
  work: (home: Scene) => Promise<void>,
  given: Parameters<typeof settingsFrom>[0] = {},
  providers: Registrations["providers"] = [...VPN_PROVIDERS, second],
): Promise<void> {
  return inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    store.saveList(MULLVAD_LIST, { etag: "", fetched: NOW, content: listWith("mullvad-1") });
    const home = new Scene(store, given, providers);
    await home.managed.load({ read: async () => null }, MULLVAD_LIST, store);
    await work(home);
    store.close();
  });
}

test("managed servers use the registration, and have none after a logout", () =>
  scene(async ({ accounts, managed }) => {
    const { addresses } = await accounts.logIn(null, [NUMBER]);
    expect(managed.servers()[0]?.config.interface).toMatchObject({ addresses, dns: ["10.64.0.1"] });
    await accounts.logOut(null, false);
    expect([managed.servers(), managed.listed()]).toMatchObject([[], [{ name: "mullvad-1" }]]);
  }));

test("clients are told when a login or a logout changes how many managed servers can be used", () =>
  scene(async ({ accounts, usable }) => {
    await accounts.logIn(null, [NUMBER]);
    await accounts.logOut(null, false);
    expect(usable).toEqual([1, 0]);
  }));

test("an account in the settings stays in use, and a login says so", () =>
  scene(
    async (home) => {
      expect((await home.accounts.logIn(null, [NUMBER])).warnings).toEqual([
        "the account in the settings is used instead: --managed-key-file and --managed-address; to use this account: portcullis use mullvad",
      ]);
      expect(home.ownAddresses()).toEqual(["192.0.2.7/32"]);
    },
    { managedKeyFile: "/key", managedAddress: "192.0.2.7/32" },
  ));

describe("a second provider needs a folder and a line in the lists, and nothing else", () => {
  test("its account can be logged in to, used with its own list, and logged out of", () =>
    scene(async (home) => {
      const { accounts, registrations, updates } = home;
      const shown = await accounts.logIn("second", [" me ", "secret"]);
      expect(shown.device).toBe("gateway-1");
      expect(registrations.current()).toMatchObject({
        provider: second,
        registration: { name: "gateway-1" },
      });
      // The former provider's servers do not know this account.
      expect(home.names()).toEqual([]);
      await updates.update((request) => home.send(request), { force: false });
      expect([home.names(), home.ownAddresses()]).toEqual([["second-1"], ["10.5.0.2/32"]]);
      expect(home.managed.servers()[0]?.config.interface).toMatchObject({
        privateKey: PRESHARED,
        dns: ["10.5.0.1"],
      });
      expect((await accounts.show(null)).device).toBe("gateway-1");
      expect(await accounts.logOut(null, false)).toEqual({ device: "gateway-1", remains: null });
      expect(registrations.current()).toEqual({ provider: VPN_PROVIDERS[0], registration: null });
      await expect(accounts.show(null)).rejects.toThrow(
        "there is no account here; log in with: portcullis account login",
      );
      expect(home.asked).toEqual(["https://api.second.test/login", "https://second.test/servers"]);
    }));

  test("addresses in the settings are the first provider's and do not replace its own", () =>
    scene(
      async (home) => {
        await home.accounts.logIn("second", ["me", "secret"]);
        await home.updates.update((request) => home.send(request), { force: false });
        expect(home.asked).toEqual(["https://api.second.test/login", "https://second.test/servers"]);
      },
      { managedApi: "https://other.test", managedList: "/list.json" },
    ));

  test("a second login at the same provider is refused", () =>
    scene(async ({ accounts }) => {
      await accounts.logIn("mullvad", [NUMBER]);
      await expect(accounts.logIn(null, [NUMBER])).rejects.toThrow(
        'there already is an account at Mullvad here, with the registration "happy otter 50"; log out first: portcullis account logout --provider mullvad',
      );
    }));

  test("a damaged registration with one provider does not hide a valid one with the other", () =>
    scene(async ({ accounts, store, registrations }) => {
      store.write("account", "{");
      expect(registrations.current()).toEqual({ provider: VPN_PROVIDERS[0], registration: "damaged" });
      await accounts.logIn("second", ["me", "secret"]);
      expect(registrations.current().provider).toBe(second);
    }));

  test("an unknown provider is refused with the known names, and is not repeated", () =>
    scene(async ({ accounts }) => {
      await expect(accounts.logIn(NUMBER, [])).rejects.toThrow(
        "provider: unknown name; known providers: mullvad (Mullvad), ivpn (IVPN), pia (Private Internet Access), nordvpn (NordVPN), second (Second VPN)",
      );
    }));
});

describe("with accounts at two providers", () => {
  /** Logged in at Mullvad first, then at the second provider, with a list of each. */
  const both = (work: (home: Scene) => Promise<void>) =>
    scene(async (home) => {
      await home.accounts.logIn("mullvad", [NUMBER]);
      await home.accounts.logIn("second", ["me", "secret"]);
      await home.updates.update((request) => home.send(request), { force: false });
      await work(home);
    });

  test("the later login decides, and a choice changes servers, key and list at once, with the lists that are stored", () =>
    both(async (home) => {
      expect([home.names(), home.ownAddresses()]).toEqual([["second-1"], ["10.5.0.2/32"]]);
      await home.accounts.choose("mullvad");
      expect([home.names(), home.ownAddresses()?.[0]]).toEqual([["mullvad-1"], "10.64.0.50/32"]);
      await home.accounts.choose("second" as never);
      expect([home.names(), home.ownAddresses()]).toEqual([["second-1"], ["10.5.0.2/32"]]);
    }));

  test("each is shown and logged out of by its name; without a name it is the current one", () =>
    both(async ({ accounts, registrations }) => {
      expect((await accounts.show(null)).device).toBe("gateway-1");
      expect(await accounts.show("mullvad")).toMatchObject({
        device: "happy otter 50",
        warnings: [
          "the VPN account's servers are those of Second VPN; to use this account: portcullis use mullvad",
        ],
      });
      expect((await accounts.logOut("mullvad", false)).device).toBe("happy otter 50");
      await expect(accounts.show("mullvad")).rejects.toThrow(
        "there is no account at Mullvad here; log in with: portcullis account login --provider mullvad",
      );
      expect(registrations.current()).toMatchObject({ provider: second });
    }));

  test("while a tunnel uses one, the choice stays, and only the other can be logged in to and out of", () =>
    scene(async (home) => {
      await home.accounts.logIn("second", ["me", "secret"]);
      home.inUse = true;
      expect((await home.accounts.logIn("mullvad", [NUMBER])).warnings).toEqual([
        "the VPN account's servers are those of Second VPN; to use this account: portcullis use mullvad",
      ]);
      expect(home.ownAddresses()).toBeUndefined();
      expect(home.registrations.current().provider).toBe(second);
      await expect(home.accounts.choose("mullvad")).rejects.toMatchObject({
        code: "bad_request",
        message: "name: a tunnel uses a server of managed; disconnect first",
      });
      await home.accounts.choose("second" as never);
      await expect(home.accounts.logOut(null, false)).rejects.toThrow("disconnect first");
      await home.accounts.logOut("mullvad", false);
      expect(home.registrations.current().provider).toBe(second);
    }));

  test("clients see what can be chosen, and whether there is an account", () =>
    both(async ({ accounts }) => {
      const { current, choices } = accounts.managed();
      expect(current).toBe("second" as never);
      expect(choices.map(({ name, label, account }) => [name, label, account])).toEqual([
        ["mullvad", "Mullvad", true],
        ["ivpn", "IVPN", false],
        ["pia", "Private Internet Access", false],
        ["nordvpn", "NordVPN", false],
        ["second" as never, "Second VPN", true],
        ["list", "a list of your own", false],
      ]);
    }));

  test("clients see what a login asks for", () =>
    both(async ({ accounts }) => {
      const { choices } = accounts.managed();
      expect(
        choices.map(({ credentials }) =>
          credentials.map(({ field, optional }) => `${field}${optional ? "?" : ""}`),
        ),
      ).toEqual([
        ["account_number"],
        ["account_id", "two_factor_code?"],
        ["user_name", "password"],
        ["access_token"],
        ["user_name", "password"],
        [],
      ]);
    }));

  test("each change of an account is told, with who has made it and without any secret", () =>
    both(async (home) => {
      expect(home.changes).toEqual(["mullvad", "mullvad", "second"]);
      await home.accounts.rotateKey("mullvad", "the token phone");
      await home.accounts.logOut("mullvad", false, "192.168.1.20");
      await home.accounts.show("second");
      expect(home.alerts).toEqual([
        "account_changed: The gateway was logged in at Mullvad, by root.",
        "account_changed: The gateway was logged in at Second VPN, by root.",
        "account_changed: The gateway's key at Mullvad was replaced, by the token phone.",
        "account_changed: The gateway was logged out at Mullvad, by 192.168.1.20.",
      ]);
      expect(home.changes.length).toBe(5);
    }));
});

test("a list of one's own is chosen over an account, and the account over the key in the settings", () =>
  scene(
    async ({ accounts, managed, ...home }) => {
      await accounts.logIn(null, [NUMBER]);
      expect(accounts.managed().current).toBe("list");
      await accounts.choose("mullvad");
      expect(managed.servers()[0]?.config.interface.addresses[0] as string).toBe("10.64.0.50/32");
      await accounts.choose("list");
      expect(managed.servers()[0]?.config.interface.addresses as string[]).toEqual(["192.0.2.7/32"]);
      expect(home.store.read("managed")).toBe("list");
    },
    { managedKeyFile: "/key", managedAddress: "192.0.2.7/32" },
  ));

test("without an account, the chosen provider's login is what is missing", () =>
  scene(async ({ accounts, managed, store }) => {
    store.saveList("https://api.ivpn.net/v5/servers.json", {
      etag: "",
      fetched: NOW,
      content: listWith("ivpn-1"),
    });
    await accounts.choose("ivpn");
    expect(() => managed.find("ivpn-1")).toThrow(
      "server: this server needs a VPN account; type: sudo portcullis account login --provider ivpn",
    );
    await accounts.choose("list");
    expect(() => managed.find("mullvad-1")).toThrow("set --managed-key-file and --managed-address");
  }));

test("the names of the interface are those of the providers, and list", () => {
  expect(MANAGED).toEqual([...VPN_PROVIDERS.map(({ name }) => name), OWN_LIST] as typeof MANAGED);
});

describe("the account is in use while a managed tunnel is up, is being brought up, or will come back", () => {
  const managed = { ...SERVER, provider: "managed" as const };
  const connected = (server: typeof SERVER) =>
    ({ name: "connected", since: 0, session: { server } }) as unknown as State;
  const DISCONNECTED: State = { name: "disconnected" };

  test.each([
    ["connected to a managed server", connected(managed), null, true],
    ["connected to a server of one's own", connected(SERVER), null, false],
    ["dialling a managed server", { name: "connecting", server: managed, former: null }, null, true],
    [
      "on the way back to a managed server",
      { name: "reconnecting", server: managed, session: null, dead: true, since: 0 },
      null,
      true,
    ],
    ["failed to reach a managed server", { name: "failed", server: managed }, null, false],
    ["a managed server is remembered", DISCONNECTED, "managed", true],
    ["another server is remembered", DISCONNECTED, "custom", false],
    ["nothing", DISCONNECTED, null, false],
  ] as [string, State, Provider | null, boolean][])("%s", (_, state, remembered, used) => {
    const connection = () => remembered && { provider: remembered, name: "x", since: 0 };
    expect(isManagedInUse([{ name: "any", controller: { state } }], { connection })).toBe(used);
  });
});
