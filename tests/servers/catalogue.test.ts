import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { Catalogue } from "../../src/servers/catalogue.ts";
import { configOf } from "../../src/servers/custom.ts";
import { ManagedList } from "../../src/servers/managed.ts";
import { MAX_STORED_BYTES, sizeOfAll } from "../../src/servers/room.ts";
import type { Provider, Server } from "../../src/servers/schema.ts";
import { Store } from "../../src/store/store.ts";
import { formatConfig } from "../../src/wireguard/config-text.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { BODY, CONFIG, inDirectory, NOW, SERVER } from "./example.ts";

const FILE = formatConfig(CONFIG);
const TAKEN = "name: is taken; remove that server first or choose another name";

/** Runs `work` with a catalogue on an empty store, and with a way to start the gateway again. */
function withCatalogue(
  work: (catalogue: Catalogue, again: () => Catalogue, store: () => Store) => void,
): void {
  inDirectory((directory) => {
    let store = Store.open(directory, NOW);
    const again = () => {
      store.close();
      store = Store.open(directory, NOW);
      return new Catalogue(store, new ManagedList({ missing: "there is none" }));
    };
    work(again(), again, () => store);
    store.close();
  });
}

test("a server that assigned its configuration keeps it, wherever its session has its endpoint", () => {
  withCatalogue((catalogue) => {
    const listed = { name: "one", label: "PIA", country: "Germany", city: "Berlin", ipv4: ip("192.0.2.1") };
    catalogue.relist({ format: "", skipped: 0, servers: [{ ...listed, port: 1337, publicKey: null }] });
    catalogue.useOwnEnd({ assigned: { dns: [] } });
    const assigned = { ...SERVER, name: "one", provider: "managed" as const, registers: true as const };
    expect(catalogue.reachedAt(assigned, { address: ip("192.0.2.1"), port: 1337 })).toEqual(assigned);
  });
});

test("the current provider is managed at first, and then the one chosen last", () => {
  withCatalogue((catalogue, again) => {
    expect(catalogue.current()).toBe("managed");
    for (const provider of ["custom", "imported", "managed", "custom"] as const) {
      catalogue.use(provider);
      expect([catalogue.current(), again().current()]).toEqual([provider, provider]);
      catalogue = again();
    }
  });
});

test("an unknown stored provider is ignored", () => {
  withCatalogue((_, again, store) => {
    store().write("provider", "__proto__");
    expect(again().current()).toBe("managed");
  });
});

test("a custom server is found by its name while custom is current, also after a restart", () => {
  withCatalogue((catalogue, again) => {
    catalogue.addCustom(BODY);
    expect(() => catalogue.find("home")).toThrow(
      "server: there is no server, country or city of this name among the VPN account's servers",
    );
    catalogue.use("custom");
    expect(catalogue.find("home")).toEqual(SERVER);
    expect(again().find("home")).toEqual(SERVER);
  });
});

test("an imported configuration has no place, and its warnings are returned", () => {
  withCatalogue((catalogue) => {
    catalogue.use("imported");
    const warnings = catalogue.importConfig({
      name: "mine",
      config: FILE.replace("[Peer]", "ListenPort = 1\n[Peer]"),
    });
    expect(warnings).toEqual(["line 5: ListenPort: has no effect; the gateway sets this itself"]);
    expect(catalogue.find("mine")).toEqual({
      ...SERVER,
      name: "mine",
      provider: "imported",
      label: "Imported",
    });
    expect(JSON.stringify(catalogue.tree())).toBe(
      '{"servers":{"Unknown":{"Unknown":[{"hostname":"mine","ipv4":"192.0.2.1","type":"WireGuard","provider":"Imported"}]}},"provider":"imported"}',
    );
  });
});

test("the tree shows the current provider only, all() shows every server", () => {
  withCatalogue((catalogue) => {
    catalogue.addCustom(BODY);
    catalogue.importConfig({ name: "mine", config: FILE });
    expect(JSON.stringify(catalogue.tree())).toBe('{"servers":{},"provider":"managed"}');
    expect(catalogue.servers("custom").map((server) => server.name)).toEqual(["home"]);
    expect(catalogue.all().map((server) => server.name)).toEqual(["home", "mine"]);
  });
});

test("the tree is the same object until something in it changes", () => {
  withCatalogue((catalogue) => {
    let last = catalogue.tree();
    const expectNew = (change: () => void) => {
      change();
      expect(catalogue.tree()).not.toBe(last);
      last = catalogue.tree();
      expect(catalogue.tree()).toBe(last);
    };
    expectNew(() => catalogue.use("custom"));
    expectNew(() => catalogue.addCustom(BODY));
    expect(Object.keys(last.servers)).toEqual(["Unknown"]);
    catalogue.use("custom");
    expect(() => catalogue.addCustom(BODY)).toThrow();
    expect(catalogue.tree()).toBe(last);
    expectNew(() => catalogue.remove("custom", "home"));
    expectNew(() => catalogue.use("imported"));
    expectNew(() => catalogue.importConfig({ name: "mine", config: FILE }));
  });
});

describe("names", () => {
  test("a taken name is refused within its provider, and nothing is overwritten", () => {
    withCatalogue((catalogue) => {
      catalogue.addCustom(BODY);
      const other = { ...BODY, endpoint: "192.0.2.9:1" };
      expect(() => catalogue.addCustom(other)).toThrow(new GatewayError("bad_request", TAKEN));
      catalogue.importConfig({ name: "home", config: FILE });
      expect(() => catalogue.importConfig({ name: "home", config: FILE })).toThrow(TAKEN);
      expect(catalogue.servers("custom")).toEqual([SERVER]);
    });
  });

  test.each(["__proto__", "constructor", "...", "%2e", "'; DROP TABLE servers; --", "日本", "Köln"])(
    "%s can be added, found after a restart, and removed",
    (name) => {
      withCatalogue((catalogue, again) => {
        catalogue.use("custom");
        expect(() => catalogue.find(name)).toThrow("there is no server, country or city of this name");
        catalogue.addCustom({ ...BODY, name });
        const later = again();
        expect(later.find(name).name).toBe(name);
        later.importConfig({ name, config: FILE });
        later.remove("custom", name);
        expect(later.servers("imported").map((server) => server.name)).toEqual([name]);
        later.remove("imported", name);
        expect(again().all()).toEqual([]);
      });
    },
  );

  test("a name that is not in NFC is refused by every function", () => {
    withCatalogue((catalogue) => {
      const name = "Ko\u0308ln";
      const fault = "is not in Unicode normalization form C";
      expect(() => catalogue.addCustom({ ...BODY, name })).toThrow(`name: ${fault}`);
      expect(() => catalogue.importConfig({ name, config: FILE })).toThrow(`name: ${fault}`);
      expect(() => catalogue.remove("custom", name)).toThrow(`name: ${fault}`);
      expect(() => catalogue.find(name)).toThrow(`server: ${fault}`);
    });
  });

  test("removing an unknown name is not_found, and an imported server is not a custom one", () => {
    withCatalogue((catalogue) => {
      catalogue.addCustom(BODY);
      expect(() => catalogue.remove("imported", "home")).toThrow(
        new GatewayError("not_found", "name: there is no server of this name among the imported servers"),
      );
      catalogue.importConfig({ name: "mine", config: FILE });
      expect(() => catalogue.remove("custom", "mine")).toThrow(
        new GatewayError("not_found", "name: there is no server of this name among your own servers"),
      );
    });
  });
});

test("listeners are called for each change with the number of servers, and for nothing else", () => {
  withCatalogue((catalogue) => {
    const heard: [Provider, number][] = [];
    catalogue.onChange((provider, count) => heard.push([provider, count]));
    catalogue.use("custom");
    catalogue.addCustom(BODY);
    expect(() => catalogue.addCustom(BODY)).toThrow();
    catalogue.addCustom({ ...BODY, name: "work" });
    catalogue.importConfig({ name: "mine", config: FILE });
    expect(() => catalogue.remove("custom", "nothing")).toThrow();
    catalogue.remove("custom", "home");
    catalogue.remove("imported", "mine");
    expect(heard).toEqual([
      ["custom", 1],
      ["custom", 2],
      ["imported", 1],
      ["custom", 1],
      ["imported", 0],
    ]);
  });
});

test("an imported server keeps its new place and its keys, also after a restart", () => {
  withCatalogue((catalogue, again) => {
    catalogue.importConfig({ name: "mine", config: FILE });
    const before = catalogue.server("imported", "mine");
    catalogue.placeImported("mine", "Gothenburg, Sweden");
    const placed = { country: "Sweden", city: "Gothenburg", location: "Gothenburg, Sweden" };
    expect(again().servers("imported")).toEqual([{ ...(before as Server), ...placed }]);
    expect(catalogue.servers("imported")).toEqual(again().servers("imported"));
    expect(() => catalogue.placeImported("yours", "Sweden")).toThrow("name: there is no server of this name");
  });
});

slow.test(
  "the total size of stored servers is limited, and removing one makes room again, also after a restart",
  () => {
    withCatalogue((catalogue, again) => {
      const allowed = Array.from(
        { length: 1_024 },
        (_, at) => `fd00::aaaa:bbbb:cccc:dddd:${(at + 4096).toString(16)}/128`,
      );
      const large = { ...BODY, allowed_ips: allowed.join(",") };
      const full =
        "name: there is no room for it: your own servers and the imported ones may take 8388608 bytes together; remove some first";
      let count = 0;
      const fill = () => {
        for (;;) {
          catalogue.addCustom({ ...large, name: `large ${count}` });
          count += 1;
        }
      };
      expect(fill).toThrow(new GatewayError("bad_request", full));
      // Far more of the largest servers than anyone has, and a provider's whole archive besides.
      expect(count).toBeGreaterThan(150);
      catalogue = again();
      expect(fill).toThrow(full);
      expect(() => catalogue.importConfig({ name: "mine", config: formatConfig(configOf(large)) })).toThrow(
        full,
      );
      catalogue.remove("custom", "large 0");
      catalogue.addCustom({ ...large, name: "large 0" });
      expect(fill).toThrow(full);
    });
  },
  180_000,
);

slow.test(
  "a thousand usual servers are far below the limit",
  () => {
    withCatalogue((catalogue) => {
      for (let at = 0; at < 1_000; at++) catalogue.addCustom({ ...BODY, name: `home ${at}` });
      expect(sizeOfAll(catalogue.all())).toBeLessThan(MAX_STORED_BYTES / 10);
    });
  },
  180_000,
);

test("if the disk refuses a write, nothing is added, removed or switched", () => {
  withCatalogue((catalogue, _, store) => {
    catalogue.addCustom(BODY);
    const { database } = store() as unknown as { database: import("bun:sqlite").Database };
    database.run("PRAGMA query_only = ON");
    for (const attempt of [
      () => catalogue.addCustom({ ...BODY, name: "work" }),
      () => catalogue.remove("custom", "home"),
      () => catalogue.use("custom"),
    ]) {
      expect(attempt).toThrow("The database could not be written");
    }
    expect([catalogue.current(), catalogue.servers("custom")]).toEqual(["managed", [SERVER]]);
  });
});
