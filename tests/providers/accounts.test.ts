import { describe, expect, test } from "bun:test";
import { Accounts } from "../../src/providers/accounts.ts";
import { isManagedInUse } from "../../src/providers/in-use.ts";
import { VPN_PROVIDERS } from "../../src/providers/list.ts";
import type { VpnProvider } from "../../src/providers/provider.ts";
import { Registrations } from "../../src/providers/registrations.ts";
import { takeUpAccount } from "../../src/providers/take-up.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import type { Provider } from "../../src/servers/schema.ts";
import { Updates } from "../../src/servers/updates.ts";
import { settingsFrom } from "../../src/settings.ts";
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
  /** How many managed servers can be connected to, each time clients are told of a change. */
  readonly usable: number[] = [];
  readonly settings;
  readonly registrations: Registrations;
  readonly managed = new ManagedList({ missing: "nothing is taken up yet" });
  readonly updates: Updates;
  readonly accounts: Accounts;

  constructor(
    readonly store: Store,
    given: Parameters<typeof settingsFrom>[0],
    providers: readonly VpnProvider[],
  ) {
    this.settings = settingsFrom(given);
    this.registrations = new Registrations(store, providers);
    const { settings, registrations, managed } = this;
    const catalogue = new Catalogue(store, managed);
    catalogue.onChange(() => this.usable.push(catalogue.usable().managed));
    const never = () => new Promise<void>(() => {});
    const host = { read: async () => PRIVATE, now: () => NOW, monotonic: () => 0, sleep: never };
    const log = { info: () => {}, warn: () => {} };
    this.updates = new Updates({ host, store, catalogue, log, onShrunk: () => {} }, settings.managedList);
    const takeUp = () => takeUpAccount({ settings, host, registrations, catalogue, updates: this.updates });
    const send = (request: HttpsRequest) => this.send(request);
    this.accounts = new Accounts({ settings, store, registrations, send, host, inUse: () => false, takeUp });
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
  providers: readonly VpnProvider[] = [...VPN_PROVIDERS, second],
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
    await accounts.logOut(false);
    expect([managed.servers(), managed.listed()]).toMatchObject([[], [{ name: "mullvad-1" }]]);
  }));

test("clients are told when a login or a logout changes how many managed servers can be used", () =>
  scene(async ({ accounts, usable }) => {
    await accounts.logIn(null, [NUMBER]);
    await accounts.logOut(false);
    expect(usable).toEqual([1, 0]);
  }));

test("an account in the settings stays in use, and a login says so", () =>
  scene(
    async (home) => {
      expect((await home.accounts.logIn(null, [NUMBER])).warnings).toEqual([
        "the account in the settings is used instead: --managed-key-file and --managed-address",
      ]);
      expect(home.ownAddresses()).toEqual(["192.0.2.7/32"]);
    },
    { managedKeyFile: "/key", managedAddress: "192.0.2.7/32" },
  ));

describe("a second provider needs a folder and a line in the list, and nothing else", () => {
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
      expect((await accounts.show()).device).toBe("gateway-1");
      expect(await accounts.logOut(false)).toEqual({ device: "gateway-1", remains: null });
      expect(registrations.current()).toBeNull();
      expect(home.asked).toEqual(["https://api.second.test/login", "https://second.test/servers"]);
    }));

  test("addresses in the settings replace its own", () =>
    scene(
      async (home) => {
        await home.accounts.logIn("second", ["me", "secret"]);
        expect(home.asked).toEqual(["https://other.second.test/login"]);
        expect(home.names()).toEqual(["mullvad-1"]);
      },
      { managedApi: "https://other.second.test", managedList: "/list.json" },
    ));

  test("with an account at one provider, a login at the other is refused", () =>
    scene(async ({ accounts, registrations }) => {
      await accounts.logIn("mullvad", [NUMBER]);
      await expect(accounts.logIn("second", ["me", "secret"])).rejects.toThrow(
        'there already is an account here, with the registration "happy otter 50"; log out first',
      );
      expect(registrations.current()?.provider.name).toBe("mullvad");
    }));

  test("a damaged registration with one provider does not hide a valid one with the other", () =>
    scene(async ({ accounts, store, registrations }) => {
      store.write("account", "{");
      expect(registrations.current()).toEqual({ provider: VPN_PROVIDERS[0], registration: "damaged" });
      await accounts.logIn("second", ["me", "secret"]);
      expect(registrations.current()?.provider).toBe(second);
    }));

  test("an unknown provider is refused with the known names, and is not repeated", () =>
    scene(async ({ accounts }) => {
      await expect(accounts.logIn(NUMBER, [])).rejects.toThrow(
        "provider: unknown name; known providers: mullvad (Mullvad), ivpn (IVPN), second (Second VPN)",
      );
    }));
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
      { name: "reconnecting", server: managed, session: null, since: 0 },
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
