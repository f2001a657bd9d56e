import { describe, expect, test } from "bun:test";
import { type Contents, checkedContents } from "../../src/backup/contents.ts";
import { holdingsOf } from "../../src/backup/holdings.ts";
import { changesBy, type Permissions, restoreInto } from "../../src/backup/restore.ts";
import { changeText } from "../../src/base/saved.ts";
import { Store } from "../../src/store/store.ts";
import { MAX_ADDRESSES } from "../../src/tunnel/known-addresses.ts";
import { inDirectory, NOW, PRIVATE, PUBLIC, SERVER } from "../servers/example.ts";

const MAY: Permissions = { replace: true, killswitchOff: false, direct: false };
const CONNECTION = { provider: "custom", name: "home", since: 1 } as const;
const LAST = { targets: [{ provider: "custom", server: "home" }] };
const RULE = {
  id: "3f9a1c",
  names: ["a.example"],
  prefixes: ["203.0.113.0/24"],
  devices: [],
  exit: "main",
  note: "",
};
const PEER = { id: "10.128.0.2/32", public_key: PUBLIC, preshared_key: PRIVATE, lan: true };
const LONG = "x".repeat(900_000);

function contents(settings: Record<string, unknown>, more: Partial<Contents> = {}): Contents {
  const texts = Object.entries(settings).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return {
    ...{ created: "2026-01-02T03:04:05.006Z", servers: [], settings: Object.fromEntries(texts) },
    ...more,
  };
}

function named<T>(count: number, one: (name: string) => T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, one(`t${at}`)]));
}

function withStore<T>(work: (store: Store) => T): T {
  return inDirectory((directory) => {
    const store = Store.open(directory, NOW);
    try {
      return work(store);
    } finally {
      store.close();
    }
  });
}

/** What the preview says, which is then restored. */
function restored(store: Store, given: Contents): string[] {
  const told = changesBy(holdingsOf(store), given, MAY).map(changeText);
  restoreInto(store, given, MAY);
  expect(changesBy(holdingsOf(store), given, MAY)).toEqual([]);
  return told;
}

describe("a backup with more than the interface takes is refused:", () => {
  const { config } = SERVER;
  const many = { ...config, peer: { ...config.peer, allowedIps: Array(1_025).fill("10.0.0.0/8") } };
  const address = (name: string) => [`address ${name}.example`, "192.0.2.1"] as const;
  test.each<[what: string, contents: Contents]>([
    ["addresses", contents(Object.fromEntries(Object.keys(named(22_000, String)).map(address)))],
    ["an address of no name", contents({ "address ..": "192.0.2.1" })],
    ["an address of a name in another spelling", contents({ "address A.example": "192.0.2.1" })],
    ["last targets", contents({ last_targets: named(9, () => LAST) })],
    ["last targets of what can be no tunnel", contents({ last_targets: { "a b": LAST } })],
    [
      "a long target",
      contents({ last_targets: { main: { targets: [{ provider: "custom", server: LONG }] } } }),
    ],
    ["a long server", contents({ connection: { ...CONNECTION, name: LONG } })],
    ["a server that moves the cursor", contents({ connection: { ...CONNECTION, name: "a\u001b[2J" } })],
    ["a place that moves the cursor", contents({ connection: { ...CONNECTION, wanted: "a\u001b[2J" } })],
    [
      "a tunnel's long entry",
      contents({}, { tunnels: [{ name: "tv", connection: { ...CONNECTION, via: LONG } }] }),
    ],
    ["a date that there is not", contents({ connection: { ...CONNECTION, since: 1e300 } })],
    ["a server's networks", contents({}, { servers: [{ ...SERVER, config: many as never }] })],
    ["networks that nothing leads to", contents({ destinations: [{ ...RULE, prefixes: ["127.0.0.0/8"] }] })],
    ["a name of the home", contents({ destinations: [{ ...RULE, names: ["tv.home.arpa"] }] })],
    ["a note of two lines", contents({ destinations: [{ ...RULE, note: "a\nb" }] })],
    ["a name twice in a rule", contents({ destinations: [{ ...RULE, names: ["a.example", "a.example"] }] })],
    [
      "a forward to DNS",
      contents({ forwards: [{ device: "02:00:00:00:00:20", protocol: "tcp", port: 53 }] }),
    ],
    [
      "a list whose address has two lines",
      contents({ dns_lists: { lists: [{ url: "https://a.example/\nb" }] } }),
    ],
    ["a long setting", contents({ fixed_addresses: LONG })],
    [
      "devices",
      contents({}, { devices: Array(1_001).fill({ id: "02:00:00:00:00:20", name: "a", exit: null }) }),
    ],
  ])("%s", async (_, given) => {
    await expect(checkedContents(JSON.parse(JSON.stringify(given)))).rejects.toThrow("the backup is damaged");
  });

  test("but not what the gateway has itself", async () => {
    const given = contents({ connection: CONNECTION, last_targets: { main: LAST }, destinations: [RULE] });
    expect(await checkedContents(JSON.parse(JSON.stringify(given)))).toEqual(given);
  });
});

describe("a restore writes what it has told, and nothing else:", () => {
  test("known addresses, as far as there is room", () => {
    withStore((store) => {
      store.write("address here.example", "192.0.2.9");
      store.atomically(() => {
        for (let at = 0; at < MAX_ADDRESSES - 2; at++) store.write(`address a${at}.example`, "192.0.2.1");
      });
      const given = contents({
        ...{ "address here.example": "192.0.2.1", "address b.example": "192.0.2.2" },
        "address c.example": "192.0.2.3",
      });
      const told = changesBy(holdingsOf(store), given, MAY).map(changeText);
      expect(told).toEqual(["known address of b.example: new, 192.0.2.2"]);
      restoreInto(store, given, MAY);
      expect(store.read("address here.example")).toBe("192.0.2.9");
      expect([store.read("address b.example"), store.read("address c.example")]).toEqual(["192.0.2.2", null]);
    });
  });

  test("last targets and wishes for keys, of the tunnels that there are then", () => {
    withStore((store) => {
      const tunnels = [{ name: "tv", connection: null }];
      const given = contents(
        { last_targets: { main: LAST, tv: LAST, gone: LAST }, quantum: { tv: "on", gone: "require" } },
        { tunnels },
      );
      expect(restored(store, given)).toEqual([
        "keys safe from quantum computers, tunnel tv: new, on",
        "tunnel tv: new, no server",
        "last targets of tunnel main: new, home (own)",
        "last targets of tunnel tv: new, home (own)",
      ]);
      expect(JSON.parse(store.read("last_targets") ?? "")).toEqual({ main: LAST, tv: LAST });
    });
  });

  test("no key or endpoint that stands behind the name of a provider's server", () => {
    withStore((store) => {
      const { label, country, city, location, config } = SERVER;
      const assigned = { label, country, city, location, config };
      const led = { ...CONNECTION, provider: "managed" as const, name: "se-1", assigned };
      const given = contents({ connection: led }, { tunnels: [{ name: "tv", connection: led }] });
      expect(restored(store, given)).toEqual([
        "tunnel main: no server → se-1 (account)",
        "tunnel tv: new, se-1 (account)",
      ]);
      expect(Object.values(store.settings()).join()).not.toContain(PRIVATE);
    });
  });

  test("a part that its words do not have", () => {
    withStore((store) => {
      restored(store, contents({ destinations: [RULE], remote_devices: [PEER] }));
      const other = { ...PEER, preshared_key: PUBLIC };
      const rule = { ...RULE, prefixes: ["198.51.100.0/24"] };
      expect(restored(store, contents({ destinations: [rule], remote_devices: [other] }))).toEqual([
        `rule for destinations 3f9a1c: a.example and 1 more by main → a.example and 1 more by main, other details`,
        `remote device ${PEER.id}: key ${PUBLIC.slice(0, 8)}… → key ${PUBLIC.slice(0, 8)}…, other details`,
      ]);
      expect(store.read("destinations")).toContain("198.51.100.0/24");
    });
  });

  test("no key for both a device away from home and a linked home", () => {
    withStore((store) => {
      restored(store, contents({ remote_devices: [PEER] }));
      const before = store.settings();
      const home = {
        ...{ name: "parents", id: "0123456789abcdef", offered: true, public_key: PUBLIC, endpoint: null },
        ...{ prefixes: ["192.168.66.0/24"], exit: null, devices: [] },
      };
      expect(() => restored(store, contents({ homes: [home] }))).toThrow(
        `the linked home parents and the device away from home ${PEER.id} would have one key; nothing was changed`,
      );
      expect(store.settings()).toEqual(before);
    });
  });

  test("nothing of what is the same to people", () => {
    withStore((store) => {
      restored(store, contents({ connection: CONNECTION, failover: "on" }));
      const before = store.settings();
      expect(restored(store, contents({ connection: { ...CONNECTION, since: 2 }, failover: "on" }))).toEqual(
        [],
      );
      expect(store.settings()).toEqual(before);
    });
  });

  test("one list of an address, however it is spelled", () => {
    withStore((store) => {
      restored(store, contents({ dns_lists: { lists: [{ url: "https://a.example/" }] } }));
      const given = contents({ dns_lists: { lists: [{ url: "https://A.example", on: false }] } });
      expect(restored(store, given)).toEqual([
        "list of blocked names https://a.example/: for all devices → for all devices, off",
      ]);
    });
  });
});
