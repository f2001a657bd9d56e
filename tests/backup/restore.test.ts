import type { Database } from "bun:sqlite";
import { describe, expect } from "bun:test";
import { type Contents, checkedContents, contentsOf } from "../../src/backup/contents.ts";
import { holdingsOf } from "../../src/backup/holdings.ts";
import { liveBackup } from "../../src/backup/live.ts";
import { changesBy, type Permissions, restoreInto } from "../../src/backup/restore.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { type Part, reloadAll } from "../../src/base/part.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { MAX_ASSIGNED } from "../../src/devices/assignments.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { MAX_SERVERS } from "../../src/shared/config-files.ts";
import { Store, type StoredDevice } from "../../src/store/store.ts";
import type { Send } from "../../src/system/host.ts";
import { savedTunnelsIn } from "../../src/tunnel/connection.ts";
import { slow } from "../fast.ts";
import { Home } from "../http/home.ts";
import { mullvadAccount } from "../providers/mullvad/accounts.ts";
import { FakeProvider, NUMBER } from "../providers/mullvad/provider.ts";
import { inDirectory, NOW, PRIVATE, SERVER } from "../servers/example.ts";
import { inDirectory as inTunnelDirectory } from "../tunnel/directory.ts";
import { Gateway, ONE, stoodAlways } from "../tunnel/gateway.ts";

const { test } = slow;

const CAREFUL: Permissions = { replace: false, killswitchOff: false, direct: false };
const OTHER = { ...SERVER, location: "Elsewhere" };

function contents(settings: Record<string, string>, servers = [SERVER]): Contents {
  return { created: "2026-01-02T03:04:05.006Z", servers, settings };
}

function withStore(work: (store: Store) => void): void {
  inDirectory((directory) => {
    const store = Store.open(directory, NOW);
    work(store);
    store.close();
  });
}

/** Everything that a restore can change. */
const all = (store: Store) => ({ servers: store.servers(), settings: store.settings() });

test("a backup says blocked of exits that are damaged, as they are here", () => {
  withStore((store) => {
    store.write("default_exit", "a b");
    store.saveDevice({ id: "02:00:00:00:00:01", name: "tv", exit: "bad exit" });
    store.saveDevice({ id: "02:00:00:00:00:02", name: null, exit: "main,direct" });
    store.saveDevice({ id: "02:00:00:00:00:03", name: null, exit: "amsterdam,main,blocked" });
    const { settings, devices } = contentsOf(store, 0);
    expect(settings.default_exit).toBe("blocked");
    expect(devices).toEqual([
      { id: "02:00:00:00:00:01", name: "tv", exit: "blocked" },
      { id: "02:00:00:00:00:02", name: null, exit: "blocked" },
      { id: "02:00:00:00:00:03", name: null, exit: "amsterdam,main,blocked" },
    ]);
  });
});

describe("a restore", () => {
  test("puts servers and settings in place; what the backup leaves out stays", () => {
    withStore((store) => {
      store.insert({ ...SERVER, name: "stays" });
      store.write("connection", "null");
      expect(restoreInto(store, contents({ provider: "custom" }), CAREFUL)).toEqual({
        servers: 1,
        replaced: 0,
        devices: 0,
        killswitch: "on",
      });
      expect(all(store)).toEqual({
        servers: [SERVER, { ...SERVER, name: "stays" }],
        settings: { connection: "null", killswitch: "on", provider: "custom" },
      });
    });
  });

  test("replaces a server only if that is permitted", () => {
    withStore((store) => {
      store.insert(OTHER);
      const before = all(store);
      expect(() => restoreInto(store, contents({}), CAREFUL)).toThrow(
        new GatewayError(
          "unable",
          "the restore would replace what is here: the server home (own); nothing was changed; pass --replace to allow that",
        ),
      );
      expect(all(store)).toEqual(before);
      const { replaced } = restoreInto(store, contents({}), { ...CAREFUL, replace: true });
      expect([replaced, store.servers()]).toEqual([1, [SERVER]]);
    });
  });

  test("adds its favourites to those that are here; one without any leaves them", () => {
    withStore((store) => {
      const favourites = (...names: string[]) =>
        JSON.stringify(names.map((server) => ({ provider: "managed", server })));
      store.write("favourites", favourites("a", "b"));
      restoreInto(store, contents({}), CAREFUL);
      expect(store.read("favourites")).toBe(favourites("a", "b"));
      restoreInto(store, contents({ favourites: favourites("c", "b") }, []), CAREFUL);
      expect(store.read("favourites")).toBe(favourites("a", "b", "c"));
    });
  });

  test("brings back one account beside that of another provider, and replaces the same one only if that is permitted", () => {
    withStore((store) => {
      const account = (token: string) =>
        JSON.stringify({
          account: "************2345",
          token,
          privateKey: SERVER.config.interface.privateKey,
          addresses: ["172.20.0.1/32"],
          created: "2026-01-02T00:00:00.000Z",
        });
      store.write("account", "of Mullvad");
      store.write("managed", "mullvad");
      const backup = contents({ "account ivpn": account("one"), managed: "ivpn" }, []);
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow(
        "replace what is here: the VPN account's provider;",
      );
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      restoreInto(store, backup, CAREFUL);
      expect(store.settings()).toMatchObject({
        account: "of Mullvad",
        "account ivpn": account("one"),
        managed: "ivpn",
      });
      const other = contents({ "account ivpn": account("two"), managed: "ivpn" }, []);
      expect(() => restoreInto(store, other, CAREFUL)).toThrow(
        "would replace what is here: the account IVPN;",
      );
      restoreInto(store, other, { ...CAREFUL, replace: true });
      expect(store.read("account ivpn")).toBe(account("two"));
    });
  });

  test("adds its devices' addresses to those that are here, and takes an address from another device", () => {
    withStore((store) => {
      const [tv, phone] = ["02:00:00:00:00:20", "02:00:00:00:00:30"];
      store.write("fixed_addresses", `${tv} 192.168.7.50,${phone} 192.168.7.40`);
      restoreInto(store, contents({}), CAREFUL);
      expect(store.read("fixed_addresses")).toBe(`${tv} 192.168.7.50,${phone} 192.168.7.40`);
      const other = "02:00:00:00:00:40";
      const given = contents({ fixed_addresses: `${tv} 192.168.7.51,${other} 192.168.7.40` }, []);
      expect(() => restoreInto(store, given, CAREFUL)).toThrow(
        `replace what is here: the fixed address ${tv}, the fixed address ${phone}; nothing`,
      );
      restoreInto(store, given, { ...CAREFUL, replace: true });
      expect(store.read("fixed_addresses")).toBe(`${tv} 192.168.7.51,${other} 192.168.7.40`);
    });
  });

  test("adds its schedules to those that are here, and what these have done stays", () => {
    withStore((store) => {
      const every = (hours: number) => ({ tunnel: "main", every_hours: hours });
      const text = (schedules: object) =>
        JSON.stringify(Object.entries(schedules).map(([name, one]) => ({ name, ...one })));
      store.write("schedules", text({ a: every(1), b: every(1) }));
      store.write("schedules_done", "{}");
      restoreInto(store, contents({}), CAREFUL);
      expect(store.read("schedules")).toBe(text({ a: every(1), b: every(1) }));
      const given = contents({ schedules: text({ b: every(2), c: every(2) }) }, []);
      expect(() => restoreInto(store, given, CAREFUL)).toThrow(
        "replace what is here: the schedule b; nothing",
      );
      restoreInto(store, given, { ...CAREFUL, replace: true });
      expect(store.read("schedules")).toBe(text({ a: every(1), b: every(2), c: every(2) }));
      expect(store.read("schedules_done")).toBe("{}");
    });
  });

  const RULE = {
    ...{ id: "3f9a1c", prefixes: ["203.0.113.0/24"], devices: [] },
    ...{ exit: "blocked", note: "" },
  };
  const PORT = { device: "02:00:00:00:00:20", protocol: "tcp", port: 6881 };
  test.each<[what: string, here: Record<string, string>, given: Record<string, string>, told: object]>([
    [
      "the default exit",
      { default_exit: "blocked" },
      { default_exit: "main" },
      { what: "default exit", name: "", before: "blocked", after: "main" },
    ],
    [
      "the provider",
      { provider: "imported" },
      { provider: "custom" },
      { what: "provider", name: "", before: "imported", after: "custom" },
    ],
    [
      "a schedule",
      { schedules: JSON.stringify([{ name: "nightly", tunnel: "main", at: "04:00" }]) },
      { schedules: JSON.stringify([{ name: "nightly", tunnel: "main", every_hours: 2 }]) },
      {
        ...{ what: "schedule", name: "nightly", before: "move the main tunnel at 04:00" },
        after: "move the main tunnel every 2 h",
      },
    ],
    [
      "a rule for destinations",
      { destinations: JSON.stringify([RULE]) },
      { destinations: JSON.stringify([{ ...RULE, exit: "main" }]) },
      {
        ...{ what: "rule for destinations", name: RULE.id },
        ...{ before: "203.0.113.0/24 by blocked", after: "203.0.113.0/24 by main" },
      },
    ],
    [
      "a forward",
      { forwards: JSON.stringify([PORT]) },
      { forwards: JSON.stringify([{ ...PORT, fixed: 51413 }]) },
      {
        ...{ what: "forward", name: `${PORT.device} tcp 6881` },
        ...{ before: "from a port of the provider", after: "from port 51413" },
      },
    ],
    [
      "a fixed address",
      { fixed_addresses: `${PORT.device} 192.168.7.50` },
      { fixed_addresses: `${PORT.device} 192.168.7.51` },
      { what: "fixed address", name: PORT.device, before: "192.168.7.50", after: "192.168.7.51" },
    ],
  ])("changes %s that is here only if that is permitted, and tells it before", (_, here, given, told) => {
    withStore((store) => {
      for (const [key, value] of Object.entries(here)) store.write(key, value);
      const before = all(store);
      const backup = contents(given, []);
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toEqual([{ ...told, replaces: true }] as never);
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow("would replace what is here");
      expect(all(store)).toEqual(before);
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(store.settings()).toMatchObject(given);
      // What has been restored is no change.
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toEqual([]);
      restoreInto(store, backup, CAREFUL);
    });
  });

  test("tells of a forward, a schedule and an exit that are new here, without a permission", () => {
    withStore((store) => {
      const given = {
        default_exit: "blocked",
        forwards: JSON.stringify([PORT]),
        schedules: JSON.stringify([{ name: "nightly", tunnel: "main", at: "04:00", days: ["mon"] }]),
      };
      const told = changesBy(holdingsOf(store), contents(given, []), CAREFUL);
      expect(told.map(({ what, name, before, after }) => [what, name, before, after])).toEqual([
        ["default exit", "", "main", "blocked"],
        ["forward", `${PORT.device} tcp 6881`, null, "from a port of the provider"],
        ["schedule", "nightly", null, "move the main tunnel at 04:00 on mon"],
      ]);
      restoreInto(store, contents(given, []), CAREFUL);
      expect(store.settings()).toMatchObject(given);
    });
  });

  test("keeps what has been learned here since: where a device is, and a server's address", () => {
    withStore((store) => {
      const forward = (address: string) => JSON.stringify([{ ...PORT, address }]);
      store.write("forwards", forward("192.168.7.50"));
      store.write("address vpn.example.net", "192.0.2.9");
      const given = { forwards: forward("192.168.7.40"), "address vpn.example.net": "192.0.2.1" };
      restoreInto(store, contents(given, []), CAREFUL);
      expect(store.settings()).toMatchObject({
        forwards: forward("192.168.7.50"),
        "address vpn.example.net": "192.0.2.9",
      });
    });
  });

  test("of a gateway where nobody has chosen an exit says main, so that it is told where another is chosen", () => {
    inDirectory((directory) => {
      const fresh = Store.open(directory, NOW);
      const backup = contentsOf(fresh, NOW);
      fresh.close();
      withStore((store) => {
        store.write("default_exit", "blocked");
        expect(() => restoreInto(store, backup, CAREFUL)).toThrow("the default exit;");
        restoreInto(store, backup, { ...CAREFUL, replace: true });
        expect(store.read("default_exit")).toBe("main");
      });
    });
  });

  test("with too many servers changes nothing", () => {
    withStore((store) => {
      const many = Array.from({ length: MAX_SERVERS + 1 }, (_, n) => ({ ...SERVER, name: `${n}` }));
      expect(() => restoreInto(store, contents({}, many), CAREFUL)).toThrow(
        `there would be more than ${MAX_SERVERS} among your own servers; nothing was changed`,
      );
      expect(store.servers()).toEqual([]);
    });
  });

  test.each<[where: string, prepare: (database: Database) => void, backup: Contents]>([
    ["at its second server", () => {}, contents({ provider: "imported" }, [SERVER, SERVER])],
    [
      "at its settings",
      (database) =>
        database.run(
          "CREATE TEMP TRIGGER fails BEFORE INSERT ON settings WHEN new.key = 'provider' BEGIN SELECT RAISE(ABORT, 'no'); END",
        ),
      contents({ killswitch: "off", provider: "imported" }),
    ],
    [
      "for want of room",
      (database) => database.run("PRAGMA max_page_count = 1"),
      contents(
        {},
        Array.from({ length: 200 }, (_, n) => ({ ...SERVER, name: `${n}` })),
      ),
    ],
  ])("that fails %s leaves everything as it was", (_, prepare, backup) => {
    withStore((store) => {
      store.insert(OTHER);
      store.write("provider", "custom");
      store.write("killswitch", "on");
      const before = all(store);
      prepare((store as unknown as { database: Database }).database);
      expect(() => restoreInto(store, backup, { replace: true, killswitchOff: true, direct: false })).toThrow(
        GatewayError,
      );
      expect(all(store)).toEqual(before);
    });
  });

  test.each([
    [null, "off", false, "on"],
    ["on", "off", false, "on"],
    ["off", "off", false, "off"],
    ["on", "off", true, "off"],
    [null, "on", true, "on"],
    ["off", "on", false, "on"],
    ["off", null, false, "on"],
  ] as const)(
    "where the kill switch is %p and was %p, with leave to take it down %p, makes it %p",
    (present, stored, killswitchOff, then) => {
      withStore((store) => {
        if (present !== null) store.write("killswitch", present);
        const backup = contents(stored === null ? {} : { killswitch: stored });
        expect(restoreInto(store, backup, { ...CAREFUL, killswitchOff, direct: false }).killswitch).toBe(
          then,
        );
        expect(store.read("killswitch") ?? "on").toBe(then);
      });
    },
  );
});

const TV = { id: "02:00:00:00:00:20", name: "TV", exit: "blocked" };
const PHONE = { id: "02:00:00:00:00:30", name: "Phone", exit: null };

describe("the devices of a backup", () => {
  const withDevices = (devices: StoredDevice[]) => ({ ...contents({}, []), devices });

  test("are restored beside those that are there; the default exit stays if the backup has none", () => {
    withStore((store) => {
      store.saveDevice(PHONE);
      store.write("default_exit", "blocked");
      expect(restoreInto(store, withDevices([TV]), CAREFUL).devices).toBe(1);
      expect([store.devices(), store.read("default_exit")]).toEqual([[TV, PHONE], "blocked"]);
    });
  });

  test("a default exit that is restored ends the state in which exits are lost", () => {
    withStore((store) => {
      store.write("default_exit", "blocked");
      store.write("exits_lost", "They were lost.");
      restoreInto(store, withDevices([TV]), CAREFUL);
      expect([store.read("default_exit"), store.read("exits_lost")]).toEqual(["blocked", "They were lost."]);
      restoreInto(store, { ...withDevices([TV]), settings: { default_exit: "blocked" } }, CAREFUL);
      expect([store.read("default_exit"), store.read("exits_lost")]).toEqual(["blocked", null]);
    });
  });

  test("replace others of the same id only if that is permitted", () => {
    withStore((store) => {
      const other = { ...TV, exit: "main" };
      store.saveDevice(other);
      restoreInto(store, withDevices([other]), CAREFUL);
      expect(() => restoreInto(store, withDevices([TV]), CAREFUL)).toThrow(
        "would replace what is here: the device TV (02:00:00:00:00:20); nothing was changed; pass --replace to allow that",
      );
      expect(store.devices()).toEqual([other]);
      restoreInto(store, withDevices([TV]), { ...CAREFUL, replace: true });
      expect(store.devices()).toEqual([TV]);
    });
  });

  test("that are too many change nothing", () => {
    withStore((store) => {
      store.saveDevice(PHONE);
      const many = Array.from({ length: MAX_ASSIGNED }, (_, n) => ({
        ...TV,
        id: `02:00:00:01:${(n >> 8).toString(16).padStart(2, "0")}:${(n & 255).toString(16).padStart(2, "0")}`,
      }));
      expect(() => restoreInto(store, withDevices(many), CAREFUL)).toThrow(
        "there would be more than 1000 devices with a name or an exit; nothing was changed",
      );
      expect(store.devices()).toEqual([PHONE]);
    });
  });

  test("have their exits in order, which is told before; one that is no order is refused", async () => {
    withStore((store) => {
      const given = { ...TV, exit: "amsterdam,main,blocked" };
      expect(changesBy(holdingsOf(store), withDevices([given]), CAREFUL)).toMatchObject([
        { what: "device", before: null, after: "named TV, exit amsterdam, then main, then blocked" },
      ]);
      restoreInto(store, withDevices([given]), CAREFUL);
      expect(store.devices()).toEqual([given]);
    });
    const text = JSON.stringify(withDevices([{ ...TV, exit: "blocked,main" }]));
    await expect(checkedContents(JSON.parse(text))).rejects.toThrow("is invalid");
  });

  test("stay, with the default exit, if the backup is older than devices", () => {
    withStore((store) => {
      store.saveDevice(TV);
      store.write("default_exit", "blocked");
      expect(restoreInto(store, contents({}), CAREFUL).devices).toBe(0);
      expect([store.devices(), store.read("default_exit")]).toEqual([[TV], "blocked"]);
    });
  });
});

describe("the exit direct of a backup", () => {
  const direct = { ...TV, exit: "direct" };
  const withDirect = (devices: StoredDevice[]) => ({
    ...contents({}, []),
    settings: { direct: "on" },
    devices,
  });
  const MAY = { ...CAREFUL, direct: true };

  test("is restored only if that is permitted; otherwise the devices are named, and nothing changes", () => {
    withStore((store) => {
      const refusal = (who: string) =>
        `the backup lets ${who} leave directly, outside the tunnel; nothing was changed; pass --direct to restore that too`;
      expect(() => restoreInto(store, withDirect([direct, PHONE]), CAREFUL)).toThrow(refusal('"TV"'));
      expect(() => restoreInto(store, withDirect([PHONE]), CAREFUL)).toThrow(refusal("devices"));
      expect([store.devices(), store.read("direct")]).toEqual([[], null]);
      restoreInto(store, withDirect([direct]), MAY);
      expect([store.devices(), store.read("direct")]).toEqual([[direct], "on"]);
      // What it allows is allowed already.
      restoreInto(store, withDirect([direct]), CAREFUL);
      expect(() => restoreInto(store, withDirect([{ ...PHONE, exit: "direct" }]), CAREFUL)).toThrow(
        refusal('"Phone"'),
      );
    });
  });

  test("is restored for destinations only if that is permitted, too", () => {
    withStore((store) => {
      const rule = { id: "3f9a1c", prefixes: ["203.0.113.0/24"], devices: [], exit: "direct", note: "" };
      const destinations = JSON.stringify([rule]);
      const backup = { ...withDirect([]), settings: { direct: "on", destinations } };
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow(
        "the backup lets traffic to 203.0.113.0/24 leave directly, outside the tunnel",
      );
      expect(store.read("destinations")).toBeNull();
      restoreInto(store, backup, MAY);
      expect(store.read("destinations")).toBe(destinations);
      // It is there already.
      restoreInto(store, backup, CAREFUL);
    });
  });

  test("is not opened by what keeps a destination inside now: a narrower rule, or a blocked device", () => {
    const outside = { id: "aaaaaa", prefixes: ["203.0.113.0/24"], devices: [], exit: "direct", note: "" };
    const inside = { ...outside, id: "bbbbbb", prefixes: ["203.0.113.7/32", "203.0.113.8/32"], exit: "main" };
    const blocked = { ...PHONE, exit: "blocked" };
    const given = (rules: unknown[], devices: StoredDevice[] = []) => ({
      ...withDirect(devices),
      settings: { direct: "on", destinations: JSON.stringify(rules) },
    });
    const again = { ...inside, id: "cccccc", prefixes: ["203.0.113.7/32"], exit: "blocked" };
    const forPhone = { ...again, devices: [PHONE.id] };
    for (const [rules, devices, who] of [
      // The whole rule gives way, and with it what kept 203.0.113.8 inside.
      [[outside, again], [], "traffic to 203.0.113.8/32"],
      [[outside], [{ ...PHONE, exit: "main" }], '"Phone"'],
    ] as const)
      withStore((store) => {
        restoreInto(store, given([outside, inside], [blocked]), MAY);
        const before = [all(store), store.devices()];
        const careful = { ...CAREFUL, replace: true };
        expect(() => restoreInto(store, given([...rules], [...devices]), careful)).toThrow(
          `the backup lets ${who} leave directly, outside the tunnel`,
        );
        expect([all(store), store.devices()]).toEqual(before);
        // A rule for one device beside them opens nothing.
        restoreInto(store, given([outside, inside, forPhone], [blocked]), careful);
      });
  });

  test.each([
    ["a network", { network: "guest0" }, "the network guest0"],
    ["a device", { device: PHONE.id }, '"Phone"'],
  ])("is not opened by a schedule of %s that is blocked otherwise", (_, of, who) => {
    const rule = { id: "aaaaaa", prefixes: ["203.0.113.0/24"], devices: [], exit: "direct", note: "" };
    const nights = (exit: string, until: string) =>
      JSON.stringify([{ name: "nights", ...of, exit, at: "21:00", until }]);
    const given = (exit: string, schedules: string) => ({
      ...withDirect([{ ...PHONE, exit }]),
      settings: {
        ...{ direct: "on", destinations: JSON.stringify([rule]), schedules },
        networks: JSON.stringify([{ interface: "guest0", exit }]),
      },
    });
    const careful = { ...CAREFUL, replace: true };
    const refusal = `the backup lets ${who} at the times of the schedule "nights" leave directly`;
    withStore((store) => {
      restoreInto(store, given("blocked", "[]"), MAY);
      expect(() => restoreInto(store, given("blocked", nights("main", "23:00")), careful)).toThrow(refusal);
      expect(store.read("schedules")).toBe("[]");
      // It blocks as what it is over does.
      restoreInto(store, given("blocked", nights("blocked", "23:00")), careful);
    });
    withStore((store) => {
      restoreInto(store, given("main", nights("blocked", "23:00")), MAY);
      expect(() => restoreInto(store, given("main", nights("blocked", "22:00")), careful)).toThrow(refusal);
      expect(store.read("schedules")).toBe(nights("blocked", "23:00"));
      restoreInto(store, given("main", nights("blocked", "23:00")), careful);
    });
  });

  test("a rule that contradicts one of the backup gives way, and that is told before", () => {
    withStore((store) => {
      const rule = { prefixes: ["203.0.113.0/24"], devices: [], note: "" };
      store.write("destinations", JSON.stringify([{ id: "aaaaaa", ...rule, exit: "main", note: "" }]));
      const destinations = JSON.stringify([{ id: "bbbbbb", ...rule, exit: "blocked", note: "" }]);
      const backup = contents({ destinations }, []);
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toMatchObject([
        { name: "aaaaaa", before: "203.0.113.0/24 by main", after: null, replaces: true },
        { name: "bbbbbb", before: null, after: "203.0.113.0/24 by blocked", replaces: false },
      ]);
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow("would replace what is here");
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(JSON.parse(store.read("destinations") ?? "")).toMatchObject([{ id: "bbbbbb" }]);
    });
  });

  test("adds its lists of blocked names to those that are here, and one of the same address gives way", () => {
    withStore((store) => {
      const [ads, video] = ["https://lists.example/ads", "https://lists.example/video"];
      const text = (lists: object[], exceptions: string[]) => JSON.stringify({ lists, exceptions });
      store.write("dns_lists", text([{ url: ads }, { url: video, devices: [PHONE.id] }], ["a.example"]));
      const dns_lists = text([{ url: ads, on: false }], ["b.example"]);
      const backup = contents({ dns_lists }, []);
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toEqual([
        ...[{ what: "list of blocked names", name: ads, before: "for all devices" }].map((each) => ({
          ...{ ...each, after: "for all devices, off", replaces: true },
        })),
        {
          ...{ what: "name that no list blocks", name: "b.example", before: null, after: "open" },
          replaces: false,
        },
      ]);
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow(
        `would replace what is here: the list of blocked names ${ads};`,
      );
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(JSON.parse(store.read("dns_lists") ?? "")).toEqual({
        lists: [
          { url: ads, on: false },
          { url: video, devices: [PHONE.id] },
        ],
        exceptions: ["b.example", "a.example"],
      });
      expect(contentsOf(store, 0).settings.dns_lists).toBe(store.read("dns_lists") ?? "");
    });
  });

  test("blocks resolvers by HTTPS if the backup or what is here does, and says so", () => {
    const on = JSON.stringify({ lists: [], block_doh: true });
    const off = JSON.stringify({ lists: [] });
    for (const [here, there, isNew] of [
      [off, on, true],
      [on, off, false],
      [on, on, false],
    ] as const)
      withStore((store) => {
        store.write("dns_lists", here);
        const backup = contents({ dns_lists: there }, []);
        const what = "block of resolvers that answer by HTTPS";
        const change = { what, name: "their names", before: null, after: "blocked", replaces: false };
        expect(changesBy(holdingsOf(store), backup, CAREFUL)).toEqual(isNew ? [change] : []);
        restoreInto(store, backup, CAREFUL);
        expect(JSON.parse(store.read("dns_lists") ?? "").block_doh).toBe(true);
      });
  });

  test("has the names that may have addresses of the home, and adds them to those here", () => {
    withStore((store) => {
      store.write("dns_lists", JSON.stringify({ lists: [], private_names: ["a.example"] }));
      const given = JSON.stringify({ lists: [], private_names: ["plex.direct", "a.example"] });
      const backup = contents({ dns_lists: given }, []);
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toMatchObject([
        { what: "name that may have addresses of the home", name: "plex.direct", after: "open" },
      ]);
      restoreInto(store, backup, CAREFUL);
      expect(JSON.parse(store.read("dns_lists") ?? "").private_names).toEqual(["plex.direct", "a.example"]);
    });
  });

  test("stays allowed here, where devices may have it, if the backup does not allow it", () => {
    withStore((store) => {
      restoreInto(store, withDirect([direct]), MAY);
      restoreInto(store, { ...contents({}, []), devices: [PHONE] }, CAREFUL);
      expect([store.devices(), store.read("direct")]).toEqual([[direct, PHONE], "on"]);
    });
  });

  test("is refused in a backup that does not allow it, and as the default exit", async () => {
    await expect(checkedContents({ ...withDirect([direct]), settings: {} })).rejects.toThrow(
      "a device has the exit direct, which is not allowed in it",
    );
    const settings = { direct: "on", default_exit: "direct" };
    await expect(checkedContents({ ...withDirect([direct]), settings })).rejects.toThrow(
      'the setting "default_exit" is invalid',
    );
    expect(await checkedContents(withDirect([direct]))).toEqual(withDirect([direct]));
  });
});

describe("the tunnels of a backup", () => {
  const leadsTo = (name: string) => ({ provider: "custom" as const, name, wanted: "Sweden", since: 1 });
  const TUNNELS = [
    { name: "tv", connection: leadsTo("home") },
    { name: "work", connection: null },
  ];
  const rows = (store: Store) =>
    [...savedTunnelsIn(store.settings())].map(([name, { slot, connection }]) => [
      name,
      slot,
      connection?.name,
    ]);

  test("get free slots here; the tunnels that are here stay", () => {
    withStore((store) => {
      store.write("tunnel other", JSON.stringify({ slot: 1, connection: leadsTo("x") }));
      store.write("tunnel work", JSON.stringify({ slot: 5, connection: null }));
      restoreInto(store, { ...contents({}), tunnels: TUNNELS }, CAREFUL);
      expect(rows(store)).toEqual([
        ["other", 1, "x"],
        ["tv", 2, "home"],
        ["work", 5, undefined],
      ]);
    });
  });

  test("are what a backup of here holds, and an older backup has none", () => {
    withStore((store) => {
      expect(contentsOf(store, NOW)).not.toHaveProperty("tunnels");
      restoreInto(store, { ...contents({}), tunnels: TUNNELS }, CAREFUL);
      expect(contentsOf(store, NOW).tunnels).toEqual(TUNNELS);
      restoreInto(store, contents({}, []), CAREFUL);
      expect(contentsOf(store, NOW).tunnels).toEqual(TUNNELS);
    });
  });

  test("replace one that leads elsewhere only if that is permitted", () => {
    withStore((store) => {
      store.write("tunnel tv", JSON.stringify({ slot: 3, connection: leadsTo("x") }));
      const backup = { ...contents({}), tunnels: TUNNELS };
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow(
        "would replace what is here: the tunnel tv; nothing was changed; pass --replace to allow that",
      );
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(rows(store)[0]).toEqual(["tv", 3, "home"]);
    });
  });

  test("are the same only by the same two hops, and a restore tells of both", () => {
    withStore((store) => {
      const twoHops = {
        provider: "managed" as const,
        name: "se-1",
        via: "nl-1",
        wanted_via: "Netherlands",
        since: 1,
      };
      const backup = { ...contents({}, []), tunnels: [{ name: "tv", connection: twoHops }] };
      const { via: _, wanted_via: __, ...direct } = twoHops;
      store.write("tunnel tv", JSON.stringify({ slot: 3, connection: direct }));
      expect(() => restoreInto(store, backup, CAREFUL)).toThrow("what is here: the tunnel tv;");
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toContainEqual({
        ...{ what: "tunnel", name: "tv", before: "se-1 (account)", replaces: true },
        after: "se-1 via nl-1 (account, for se-1 via Netherlands)",
      });
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(contentsOf(store, NOW).tunnels).toEqual(backup.tunnels);
      restoreInto(store, backup, CAREFUL);
    });
  });

  test("are the same only if they are reached in the same way", () => {
    withStore((store) => {
      const plain = { provider: "managed" as const, name: "se-1", since: 1 };
      const relayed = { ...plain, transport: "udp2tcp" as const };
      const backup = { ...contents({}, []), tunnels: [{ name: "tv", connection: relayed }] };
      store.write("tunnel tv", JSON.stringify({ slot: 3, connection: plain }));
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toContainEqual({
        ...{ what: "tunnel", name: "tv", before: "se-1 (account)", replaces: true },
        after: "se-1 (account, udp2tcp)",
      });
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(contentsOf(store, NOW).tunnels).toEqual(backup.tunnels);
      const keyed = { ...plain, quantum: "require" as const };
      const other = { ...contents({}, []), tunnels: [{ name: "tv", connection: keyed }] };
      expect(changesBy(holdingsOf(store), other, CAREFUL)).toContainEqual({
        ...{ what: "tunnel", name: "tv", before: "se-1 (account, udp2tcp)", replaces: true },
        after: "se-1 (account, keys safe from quantum computers: require)",
      });
      restoreInto(store, other, { ...CAREFUL, replace: true });
      expect(contentsOf(store, NOW).tunnels).toEqual(other.tunnels);
    });
  });

  test("are the same only if they have the same targets, which a restore brings back", () => {
    withStore((store) => {
      const one = { provider: "managed" as const, name: "se-1", since: 1 };
      const targets = [
        { provider: "managed" as const, server: "se-1" },
        { provider: "custom" as const, server: "work", transport: "plain" as const },
      ];
      const backup = {
        ...contents({}, []),
        tunnels: [
          {
            name: "tv",
            connection: {
              ...one,
              order: {
                ...{ targets, at: 0, back_after_minutes: 5, back_when_quiet: true as const },
                move_when: ["slow" as const, "lossy" as const],
              },
            },
          },
        ],
      };
      store.write("tunnel tv", JSON.stringify({ slot: 3, connection: one }));
      expect(changesBy(holdingsOf(store), backup, CAREFUL)).toContainEqual({
        ...{ what: "tunnel", name: "tv", before: "se-1 (account)", replaces: true },
        after:
          "se-1 (account); the first that works of: se-1 (account), work (own, plain), back after 5 min at a quiet time, left when slow or lossy",
      });
      restoreInto(store, backup, { ...CAREFUL, replace: true });
      expect(contentsOf(store, NOW).tunnels).toEqual(backup.tunnels);
    });
  });

  test("are refused if there would be too many, or if a name is invalid or there twice", async () => {
    withStore((store) => {
      for (let slot = 1; slot < 7; slot++)
        store.write(`tunnel t${slot}`, JSON.stringify({ slot, connection: null }));
      expect(() => restoreInto(store, { ...contents({}), tunnels: TUNNELS }, CAREFUL)).toThrow(
        "there would be more than 8 tunnels; nothing was changed",
      );
      expect(store.servers()).toEqual([]);
    });
    for (const names of [["main"], ["TV"], ["direct"], ["a", "a"]]) {
      const tunnels = names.map((name) => ({ name, connection: null }));
      await expect(checkedContents({ ...contents({}), tunnels })).rejects.toThrow("the backup is damaged");
    }
  });
});

test("where tunnels led last is in a backup, and a restore adds it where there is none, and says so before", async () => {
  const targets = (...servers: string[]) =>
    servers.map((server) => ({ provider: "managed" as const, server }));
  const order = {
    ...{ targets: targets("se-1", "Norway"), back_after_minutes: 5 },
    ...{ back_when_quiet: true as const, move_when: ["lossy" as const] },
  };
  const lasts = { main: order, tv: { targets: targets("se-2") } };
  let backup: Contents | undefined;
  withStore((store) => {
    store.write("last_targets", JSON.stringify(lasts));
    backup = contentsOf(store, NOW);
    expect(backup.settings.last_targets).toBe(JSON.stringify(lasts));
  });
  const given = await checkedContents(backup);
  withStore((store) => {
    store.write("last_targets", JSON.stringify({ tv: { targets: targets("here") } }));
    expect(
      changesBy(holdingsOf(store), given, CAREFUL).filter(({ what }) => what.startsWith("last")),
    ).toEqual([
      {
        ...{ what: "last targets of tunnel", name: "main", before: null, replaces: false },
        after:
          "the first that works of: se-1 (account), Norway (account), back after 5 min at a quiet time, left when lossy",
      },
    ]);
    restoreInto(store, given, CAREFUL);
    const { main, tv } = JSON.parse(store.read("last_targets") ?? "");
    expect([main, tv]).toEqual([order, { targets: targets("here") }]);
  });
  for (const odd of ["null", "[]", '{"TV":{"targets":[]}}', '{"main":{"targets":[]}}', '{ "main": 1 }'])
    await expect(checkedContents(contents({ last_targets: odd }))).rejects.toThrow(
      'the setting "last_targets" is invalid',
    );
});

test("what is required of the keys of tunnels is in a backup, and of both the stricter holds after a restore", () => {
  withStore((store) => {
    store.write("quantum", '{"main":"require"}');
    const backup = contentsOf(store, NOW);
    expect(backup.settings.quantum).toBe('{"main":"require"}');
    store.write("quantum", '{"main":"on","tv":"require"}');
    expect(changesBy(holdingsOf(store), backup, CAREFUL)).toContainEqual({
      ...{ what: "keys safe from quantum computers, tunnel", name: "main" },
      ...{ before: "on", after: "require", replaces: false },
    });
    restoreInto(store, backup, CAREFUL);
    expect(store.read("quantum")).toBe('{"main":"require","tv":"require"}');
    restoreInto(store, contents({ quantum: '{"tv":"on"}' }), CAREFUL);
    expect(store.read("quantum")).toBe('{"main":"require","tv":"require"}');
  });
});

test("a connection that was restored keeps its wish for keys when it ends", () =>
  inTunnelDirectory(async (directory) => {
    const { savedState, store } = await Gateway.started(directory);
    const connection = { provider: "custom", name: "one", quantum: "require", since: 1 };
    store.write("connection", JSON.stringify(connection));
    savedState.reload();
    expect(savedState.quantum("main")).toBe("require");
    savedState.saveConnection(null);
    expect(savedState.quantum("main")).toBe("require");
  }));

describe("a restore while the service runs", () => {
  /** A gateway, and its backup. */
  async function live(
    directory: string,
    parts: Partial<Parameters<typeof liveBackup>[0]> = {},
    others: (gateway: Gateway) => Part[] = () => [],
  ) {
    const gateway = await Gateway.started(directory);
    const { store, tunnels, savedState, host, operatorSwitch } = gateway;
    const catalogue = new Catalogue(store, new ManagedList({ missing: "there is none" }));
    const loads: number[] = [];
    const backup = liveBackup({
      ...{ store, tunnels, savedState, host },
      accounts: { beside: (work) => work() },
      reload: () =>
        reloadAll([
          {
            name: "kill switch",
            reload: () => operatorSwitch.reload(),
            reloaded: () => operatorSwitch.reloaded(),
          },
          {
            name: "the rest",
            reload: () => {
              tunnels.takeUpSaved();
              catalogue.reload();
              gateway.qualitySettings.reload();
              tunnels.qualityChanged();
              loads.push(store.devices().length);
            },
          },
          ...others(gateway),
        ]),
      ...parts,
    });
    return { gateway, catalogue, backup, loads };
  }

  test("turns the kill switch off only if that is permitted", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, catalogue, backup } = await live(directory);
      const stands = async () => (await gateway.status()).killswitch_active;
      const off = contents({ killswitch: "off", provider: "custom" });
      expect((await backup.restore(off, CAREFUL)).killswitch).toBe("on");
      expect([catalogue.current(), catalogue.servers(), await stands()]).toEqual(["custom", [SERVER], true]);
      expect(stoodAlways(gateway.host)).toBe(true);
      const may = { replace: true, killswitchOff: true, direct: false };
      expect((await backup.restore(off, may)).killswitch).toBe("off");
      expect(await stands()).toBe(false);
      await backup.restore(contents({}), may);
      expect(await stands()).toBe(true);
    }));

  test("tells what it will change, also while a tunnel is up, and changes nothing by that", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup, loads } = await live(directory);
      await gateway.controller.connect(ONE);
      const before = all(gateway.store);
      const given = { ...contents({ connection: "null" }), devices: [TV] };
      expect((await backup.plan(given, CAREFUL)).changes).toEqual([
        {
          ...{ what: "tunnel", name: "main", before: `${ONE.name} (own)` },
          ...{ after: "no server", replaces: true },
        },
        {
          ...{ what: "device", name: `TV (${TV.id})`, before: null },
          ...{ after: "named TV, exit blocked", replaces: false },
        },
        {
          ...{ what: "server", name: "home (own)", before: null },
          ...{ after: "192.0.2.1:51820", replaces: false },
        },
      ]);
      expect([all(gateway.store), loads]).toEqual([before, []]);
      await expect(backup.plan({ ...contents({}), servers: [{}] }, CAREFUL)).rejects.toThrow(
        "the backup is damaged",
      );
    }));

  test("takes up how quality is measured, at once and whole", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory);
      const { qualitySettings, tunnels, store } = gateway;
      const { quality } = tunnels.uplink;
      for (let asked = 0; asked < 10; asked++) quality.add(20);
      const here = { ...qualitySettings.choice, lossyPercent: 7 };
      qualitySettings.set(here);
      expect(quality.shown?.state).toBe("good");
      const there = "on, every 30 s, slow from 15 ms, lossy from 5 %";
      await backup.restore(contents({ quality: there }), { ...CAREFUL, replace: true });
      expect(quality.shown?.state).toBe("slow");
      qualitySettings.set({ ...qualitySettings.choice, lossyPercent: 6 });
      expect(store.read("quality")).toBe("on, every 30 s, slow from 15 ms, lossy from 6 %");
    }));

  test("hands the devices to the kill switch", () =>
    inTunnelDirectory(async (directory) => {
      const { backup, loads } = await live(directory);
      expect(await backup.restore({ ...contents({}), devices: [TV] }, CAREFUL)).toMatchObject({ devices: 1 });
      expect([loads, backup.take().devices]).toEqual([[1], [TV]]);
    }));

  test("is refused while there is a tunnel, and if its contents are invalid", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory);
      const odd = { ...contents({}), servers: [{}] };
      await expect(backup.restore(odd, CAREFUL)).rejects.toThrow("the backup is damaged");
      await gateway.controller.connect(ONE);
      await expect(backup.restore(contents({}), CAREFUL)).rejects.toThrow(
        "a tunnel is up or being brought up; disconnect first: portcullis disconnect",
      );
      expect(gateway.store.servers()).toEqual([]);
    }));

  test("makes the tunnels of the backup, and waits until none is up", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory);
      const { tunnels } = gateway;
      const given = { ...contents({}), tunnels: [{ name: "work", connection: null }] };
      const { controller } = await tunnels.opened("tv");
      await controller.connect(ONE);
      await expect(backup.restore(given, CAREFUL)).rejects.toThrow(
        "a tunnel is up or being brought up; disconnect first: portcullis tunnel tv disconnect",
      );
      await controller.disconnect();
      await backup.restore(given, CAREFUL);
      expect(tunnels.all().map(({ name }) => name)).toEqual(["main", "tv", "work"]);
    }));

  test("gives no tunnel the slot of one that is left of a failed connect", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory);
      const { tunnels } = gateway;
      await tunnels.opened("left");
      await backup.restore({ ...contents({}), tunnels: [{ name: "work", connection: null }] }, CAREFUL);
      expect(tunnels.all().map(({ name, slot }) => [name, slot.number])).toEqual([
        ["main", 0],
        ["work", 1],
      ]);
    }));

  test("is not undone by what a client changes while it is taken up", async () => {
    const home = await Home.start();
    home.host.patient = false;
    const device = "02:00:00:00:00:20";
    const night = { name: "night", device, exit: "blocked", at: "21:00", until: "07:00" };
    const rule = {
      id: "3f9a1c",
      prefixes: ["203.0.113.0/24"],
      devices: [],
      exit: "blocked",
      note: "restored",
    };
    const given = contents({ schedules: JSON.stringify([night]), destinations: JSON.stringify([rule]) }, []);
    const { first, second } = home.parts.stages;
    const { schedules, destinations } = home.parts;
    // It comes as soon as all have begun.
    const client = {
      name: "client",
      reload: () =>
        Promise.all([
          schedules.put("early", { tunnel: "main", at: "04:00" }),
          destinations.add({ prefixes: ["198.51.100.0/24"], exit: "blocked", note: "a client's" }),
        ]),
    };
    const reload = () => reloadAll([...first, ...second, client]);
    await liveBackup({ ...home.parts, reload }).restore(given, CAREFUL);
    expect(schedules.list().schedules.map(({ name }) => name)).toEqual(["early", "night"]);
    expect(
      destinations
        .list()
        .destinations.map(({ note }) => note)
        .toSorted(),
    ).toEqual(["a client's", "restored"]);
    await home.stop();
  });

  test("waits for a new key that a provider is being told, which would overwrite the restored registration", () =>
    inTunnelDirectory(async (directory) => {
      const mullvad = new FakeProvider();
      const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const send: Send = async (request) => {
        if (request.method === "PUT") {
          begun.resolve();
          await answered.promise;
        }
        return mullvad.send(request);
      };
      const { gateway, backup } = await live(directory, {
        accounts: { beside: (work) => account.beside(work) },
      });
      const account = mullvadAccount(gateway.store, send);
      await account.logIn(NUMBER);
      const here = JSON.parse(gateway.store.read("account") ?? "");
      const there = JSON.stringify({ ...here, id: "another", name: "calm owl", privateKey: PRIVATE });
      const rotation = account.rotateKey();
      await begun.promise;
      const restore = backup.restore(contents({ account: there }, []), { ...CAREFUL, replace: true });
      for (let turns = 0; turns < 20; turns += 1) await nextTurn();
      answered.resolve();
      await Promise.all([rotation, restore]);
      expect(gateway.store.read("account")).toBe(there);
    }));

  const REFUSED: Part = {
    name: "exits",
    reload: () => {
      throw new GatewayError("kernel_refused", "no exits");
    },
  };
  const OFF = { replace: true, killswitchOff: true, direct: false };

  test("turns the kill switch off once everything else is taken up, and on before that", () =>
    inTunnelDirectory(async (directory) => {
      const stood: boolean[] = [];
      const { gateway, backup } = await live(directory, {}, ({ operatorSwitch }) => [
        {
          name: "exits",
          reload: async () => {
            // A part that loads the kill switch, as devices do, must not open it.
            await gateway.devices.reload();
            stood.push(operatorSwitch.isOn, (await gateway.status()).killswitch_active);
          },
        },
      ]);
      await backup.restore(contents({ killswitch: "off" }), OFF);
      expect([...stood, (await gateway.status()).killswitch_active]).toEqual([true, true, false]);
      await backup.restore(contents({}), OFF);
      expect(stood.slice(2)).toEqual([true, true]);
    }));

  test("leaves the kill switch on, over a restart too, if a part of it is refused", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory, {}, () => [REFUSED]);
      await expect(backup.restore(contents({ killswitch: "off" }), OFF)).rejects.toThrow("no exits");
      expect([(await gateway.status()).killswitch_active, gateway.store.read("killswitch")]).toEqual([
        true,
        "on",
      ]);
    }));

  test("is taken up as far as possible if the kernel refuses a part of it", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory, {}, () => [REFUSED]);
      await gateway.operatorSwitch.turn(false);
      await expect(backup.restore(contents({}), CAREFUL)).rejects.toThrow("no exits");
      expect((await gateway.status()).killswitch_active).toBe(true);
    }));

  test("is not undone by state that could not be saved before it", () =>
    inTunnelDirectory(async (directory) => {
      const { gateway, backup } = await live(directory);
      const { database } = gateway.store as unknown as { database: Database };
      await gateway.controller.connect(ONE);
      database.run("PRAGMA query_only = ON");
      await expect(gateway.controller.disconnect()).rejects.toThrow("a restart would lose");
      const connection = JSON.stringify({ provider: "custom", name: "home", since: 1 });
      await expect(backup.restore(contents({ connection }), CAREFUL)).rejects.toThrow(
        "The database could not be written: the state directory is read-only.",
      );
      database.run("PRAGMA query_only = OFF");
      await backup.restore(contents({ connection }), CAREFUL);
      gateway.savedState.save();
      expect([gateway.savedState.connection()?.name, gateway.store.read("connection")]).toEqual([
        "home",
        connection,
      ]);
    }));
});
