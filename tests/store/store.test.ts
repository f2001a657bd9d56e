import { Database } from "bun:sqlite";
import { describe, expect, onTestFinished } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../src/base/errors.ts";
import { copyInMemory } from "../../src/store/database.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory, NOW, SERVER } from "../servers/example.ts";
import { inDirectory as inTunnelDirectory } from "../tunnel/directory.ts";

const { test } = slow;

const ASIDE = "portcullis.damaged-2026-01-02T03:04:05.006Z.db";
const SET_ASIDE = `The database was damaged; it is kept as ${ASIDE} and an empty one is in its place.`;
const DAMAGED = `${SET_ASIDE} The names and exits of devices are as they were.`;

const OTHER_KEY = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";

const fileOf = (directory: string) => join(directory, "portcullis.db");
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** A directory with a database of one server and one setting. */
function withStored<T>(work: (directory: string) => T): T {
  return inDirectory((directory) => {
    const store = Store.open(directory, NOW);
    store.insert(SERVER);
    store.write("provider", "custom");
    store.close();
    return work(directory);
  });
}

/** Opens the store, and closes it again. */
function opened<T>(directory: string, look: (store: Store) => T): T {
  const store = Store.open(directory, NOW);
  try {
    return look(store);
  } finally {
    store.close();
  }
}

test("a server is never replaced by another one of its name; a new place keeps the rest of it", () => {
  withStored((directory) => {
    opened(directory, (store) => {
      expect(() => store.insert({ ...SERVER, label: "other" })).toThrow(GatewayError);
      expect(store.servers()).toEqual([SERVER]);
      store.place({ ...SERVER, label: "other", country: "Sweden" });
      expect(store.servers()).toEqual([{ ...SERVER, country: "Sweden" }]);
    });
  });
});

test("stored data is there after opening again", () => {
  withStored((directory) => {
    opened(directory, (store) => {
      expect(store.alert).toBeNull();
      expect(store.servers()).toEqual([SERVER]);
      expect([store.read("provider"), store.read("nothing")]).toEqual(["custom", null]);
      store.write("provider", "managed");
      store.remove("custom", "home");
    });
    opened(directory, (store) => expect([store.servers(), store.read("provider")]).toEqual([[], "managed"]));
  });
});

test("whoever writes or forgets settings, that is published, once for all that one work has written", async () => {
  await inTunnelDirectory(async (directory) => {
    const heard: string[][] = [];
    const store = Store.open(directory, NOW, { publish: ({ payload }) => heard.push([...payload.keys]) });
    store.atomically(() => {
      for (const key of ["provider", "failover", "provider"]) store.write(key, "on");
      store.saveDevice({ id: "02:00:00:00:00:20", name: "TV", exit: null });
    });
    expect(heard).toEqual([]);
    await Promise.resolve();
    store.forget("failover");
    await Promise.resolve();
    expect(heard).toEqual([["provider", "failover"], ["failover"]]);
    store.close();
  });
});

test("a database of the first version is upgraded with its data", () => {
  withStored((directory) => {
    const history = ["subjects", "minutes", "hours", "quality_minutes", "quality_hours"].map(
      (each) => `history_${each}`,
    );
    for (const table of ["lists", "devices", "events", ...history])
      change(fileOf(directory), `DROP TABLE ${table}`);
    change(fileOf(directory), "PRAGMA user_version = 1");
    opened(directory, (store) => {
      expect([store.alert, store.servers(), store.read("provider")]).toEqual([null, [SERVER], "custom"]);
      store.saveList("https://list.test/", { etag: "", fetched: NOW, content: "[]" });
    });
    opened(directory, (store) => expect(store.list("https://list.test/")?.content).toBe("[]"));
  });
});

/** As the version before devices wrote it. */
const VERSION_2 = await Bun.file(join(import.meta.dir, "version-2.db.gz")).bytes();

test("a database that the version before devices has written is upgraded with its data", () => {
  inDirectory((directory) => {
    writeFileSync(fileOf(directory), Bun.gunzipSync(VERSION_2));
    opened(directory, (store) => {
      expect([store.alert, store.servers(), store.devices()]).toEqual([null, [SERVER], []]);
      expect(store.settings()).toEqual({
        connection: JSON.stringify({ provider: "custom", name: "home", since: NOW }),
        provider: "custom",
      });
      expect(store.list("https://list.test/")).toEqual({ etag: '"a"', fetched: NOW, content: "[]" });
      store.saveDevice({ id: "02:00:00:00:00:20", name: "TV", exit: null });
    });
    opened(directory, (store) => expect(store.devices()).toHaveLength(1));
  });
});

test("a database of a newer version is refused and stays as it is", () => {
  withStored((directory) => {
    change(fileOf(directory), "CREATE TABLE added (a)");
    change(fileOf(directory), "PRAGMA user_version = 99");
    const before = readFileSync(fileOf(directory));
    for (let times = 0; times < 2; times += 1)
      expect(() => Store.open(directory, NOW)).toThrow(
        new GatewayError(
          "unable",
          `The database is of a newer version of Portcullis and stays as it is. Install that version again, or move ${fileOf(directory)} away to begin with an empty one and start the service: sudo systemctl start portcullis`,
        ),
      );
    expect(readFileSync(fileOf(directory)).equals(before)).toBeTrue();
    expect(readdirSync(directory).filter((name) => name.includes("damaged"))).toEqual([]);
  });
});

test("a device is kept with its name and exit, and forgotten without both", () => {
  inDirectory((directory) => {
    const tv = { id: "02:00:00:00:00:20", name: "TV", exit: "blocked" };
    const phone = { id: "02:00:00:00:00:30", name: null, exit: "main" };
    opened(directory, (store) => {
      store.saveDevice({ ...tv, exit: null });
      store.saveDevice(phone);
      store.saveDevice(tv);
    });
    opened(directory, (store) => {
      expect(store.devices()).toEqual([tv, phone]);
      store.saveDevice({ ...tv, name: null, exit: null });
      store.saveDevice({ ...tv, name: null, exit: null });
      expect(store.devices()).toEqual([phone]);
    });
  });
});

test("a list is kept with the time of its fetch, until five others were fetched later", () => {
  inDirectory((directory) => {
    const list = { etag: '"a"', fetched: NOW, content: "[1]".repeat(10_000) };
    opened(directory, (store) => {
      expect(store.list("https://a.test/")).toBeNull();
      store.saveList("https://a.test/", list);
      store.confirmList("https://a.test/", NOW + 5);
      store.confirmList("https://b.test/", NOW + 9);
    });
    opened(directory, (store) => {
      expect(store.list("https://a.test/")).toEqual({ ...list, fetched: NOW + 5 });
      for (const later of ["b", "c", "d", "e"])
        store.saveList(`https://${later}.test/`, { ...list, fetched: NOW + 6 });
      expect(store.list("https://a.test/")).toEqual({ ...list, fetched: NOW + 5 });
      store.saveList("https://f.test/", { ...list, fetched: NOW + 7 });
      expect([store.list("https://a.test/"), store.list("https://b.test/")]).toEqual([
        null,
        { ...list, fetched: NOW + 6 },
      ]);
      store.saveList("https://b.test/", list);
      expect([store.list("https://b.test/"), store.list("https://c.test/")?.etag]).toEqual([list, '"a"']);
    });
    change(fileOf(directory), "UPDATE lists SET content = x'00'");
    opened(directory, (store) => expect(store.list("https://b.test/")).toBeNull());
  });
});

test("written data survives a process that is killed", () => {
  inDirectory((directory) => {
    const script = `
      const { Store } = await import(${JSON.stringify(join(import.meta.dir, "../../src/store/store.ts"))});
      const store = Store.open(${JSON.stringify(directory)}, 0);
      store.insert(${JSON.stringify(SERVER)});
      process.kill(process.pid, "SIGKILL");`;
    const { signalCode } = Bun.spawnSync([process.execPath, "-e", script]);
    expect(signalCode).toBe("SIGKILL");
    expect(opened(directory, (store) => [store.alert, store.servers()])).toEqual([null, [SERVER]]);
  });
});

test("only the owner may read the directory and the files in it, whatever their modes were before", () => {
  inDirectory((parent) => {
    const directory = join(parent, "a", "b");
    opened(directory, (store) => store.write("a", "b"));
    chmodSync(directory, 0o755);
    chmodSync(fileOf(directory), 0o644);
    opened(directory, (store) => {
      store.insert(SERVER);
      expect(modeOf(directory)).toBe("700");
      expect(
        readdirSync(directory)
          .toSorted()
          .map((name) => `${name} ${modeOf(join(directory, name))}`),
      ).toEqual(["exits.db 600", "portcullis.db 600", "portcullis.db-shm 600", "portcullis.db-wal 600"]);
    });
  });
});

describe("a removed private key is gone from the disk", () => {
  const CONFIG = { ...SERVER.config, interface: { ...SERVER.config.interface, privateKey: OTHER_KEY } };
  const KEYS = [SERVER.config.interface.privateKey, OTHER_KEY];

  const randomKey = () => crypto.getRandomValues(new Uint8Array(32)).toBase64();
  /** What this process has handed to the kernel for files. */
  const bytesWritten = () => Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);

  /** The files that hold each of the two keys. */
  const holding = (directory: string) =>
    KEYS.map((key) =>
      readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(key)),
    );

  test("at once, for a service that is killed closes nothing", () => {
    withStored((directory) => {
      opened(directory, (store) => {
        expect(holding(directory)).toEqual([["portcullis.db"], []]);
        const others = Array.from({ length: 40 }, (_, index) => ({ ...SERVER, name: `other ${index}` }));
        // More than a page's worth, so that SQLite moves rows from page to page.
        for (const other of others) store.insert({ ...other, config: CONFIG });
        store.remove("custom", "home");
        expect(holding(directory)).toEqual([[], ["portcullis.db"]]);
        expect(store.servers()).toHaveLength(40);
      });
    });
  });

  test("within a minute where another one was removed just before: the whole file is not written for each", async () => {
    await inTunnelDirectory(async (directory) => {
      opened(directory, (store) => store.insert(SERVER));
      const store = Store.open(directory, NOW);
      store.insert({ ...SERVER, name: "other", config: CONFIG });
      const files = () => readdirSync(directory).map((name) => statSync(join(directory, name)).size);
      store.remove("custom", "home");
      const scrubbed = files();
      store.remove("custom", "other");
      expect(files()).not.toEqual(scrubbed);
      const clock = new FakeHost();
      clock.patient = true;
      const stopping = new AbortController();
      const done = store.keepScrubbed(clock, stopping.signal);
      await clock.pass(60_000);
      expect(holding(directory)).toEqual([[], []]);
      await clock.pass(60_000);
      store.insert(SERVER);
      store.remove("custom", "home");
      expect(holding(directory)).toEqual([[], []]);
      stopping.abort();
      await done;
      store.close();
    });
  });

  test("wherever SQLite has moved it, however the others came and went", () => {
    withStored((directory) => {
      let seed = 7;
      const random = (below: number) => {
        seed = (seed * 48_271) % 2_147_483_647;
        return seed % below;
      };
      opened(directory, (store) => {
        const here: { name: string; key: string }[] = [];
        const removed: string[] = [];
        for (let turn = 0; turn < 60; turn++) {
          for (let count = 0; count < 5; count++) {
            const key = randomKey();
            const name = `server ${random(1_000_000_000)}`;
            const config = { ...CONFIG, interface: { ...CONFIG.interface, privateKey: key } };
            store.insert({ ...SERVER, name, config });
            here.push({ name, key });
          }
          const [gone] = here.splice(random(here.length), 1);
          if (gone === undefined) continue;
          store.remove("custom", gone.name);
          store.scrub();
          removed.push(gone.key);
        }
        const bytes = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
        expect(removed.filter((key) => bytes.some((each) => each.includes(key)))).toEqual([]);
        expect(here.every(({ key }) => bytes.some((each) => each.includes(key)))).toBe(true);
        expect(store.servers()).toHaveLength(here.length + 1);
      });
    });
  });

  test("at a cost that a long history and the lists do not raise", () => {
    withStored((directory) => {
      opened(directory, (store) => {
        const content = "x".repeat(1_000);
        store.addEvents(Array.from({ length: 10_000 }, (_, id) => ({ id, at: NOW, content })));
        store.scrub();
        const before = bytesWritten();
        store.insert({ ...SERVER, name: "other", config: CONFIG });
        store.remove("custom", "other");
        store.scrub();
        expect(statSync(fileOf(directory)).size).toBeGreaterThan(10_000_000);
        expect(bytesWritten() - before).toBeLessThan(500_000);
      });
    });
  });

  test("later where so many servers are stored that each time writes megabytes", async () => {
    await inTunnelDirectory(async (directory) => {
      const store = Store.open(directory, NOW);
      store.atomically(() => {
        const label = "x".repeat(50_000);
        for (let count = 0; count < 60; count++) store.insert({ ...SERVER, name: `big ${count}`, label });
      });
      const add = (name: string) => store.insert({ ...SERVER, name, config: CONFIG });
      for (const name of ["first", "second"]) add(name);
      const clock = new FakeHost();
      clock.patient = true;
      const stopping = new AbortController();
      const done = store.keepScrubbed(clock, stopping.signal);
      store.remove("custom", "first");
      store.remove("custom", "second");
      const before = bytesWritten();
      await clock.pass(120_000);
      expect(bytesWritten() - before).toBeLessThan(500_000);
      await clock.pass(120_000);
      expect(bytesWritten() - before).toBeGreaterThan(3_000_000);
      expect(holding(directory)[1]).toEqual([]);
      stopping.abort();
      await done;
      store.close();
    });
  });

  test("a minute after the next start, where the service was killed before", async () => {
    await inTunnelDirectory(async (directory) => {
      opened(directory, (store) => store.insert(SERVER));
      new Database(fileOf(directory)).run("PRAGMA secure_delete = OFF; DELETE FROM servers");
      expect(holding(directory)[0]).not.toEqual([]);
      const store = Store.open(directory, NOW);
      const clock = new FakeHost();
      clock.patient = true;
      const stopping = new AbortController();
      const done = store.keepScrubbed(clock, stopping.signal);
      await clock.pass(60_000);
      expect(holding(directory)).toEqual([[], []]);
      stopping.abort();
      await done;
      store.close();
    });
  });
});

describe("a damaged database is set aside and replaced by an empty one", () => {
  test.each<[string, (path: string) => void]>([
    [
      "no database",
      (path) => writeFileSync(path, "not a database, but long enough to look like one ".repeat(200)),
    ],
    ["cut short", (path) => truncateSync(path, 5000)],
    ["overwritten in the middle", (path) => overwrite(path, 4096, 4096)],
    ["overwritten in its schema", (path) => overwrite(path, 100, 1000)],
    ["another program's", (path) => change(path, "CREATE TABLE other (a)")],
    ["without a table", (path) => change(path, "DROP TABLE servers")],
    ["of a later version by its number alone", (path) => change(path, "PRAGMA user_version = 99")],
  ])("%s", (_, damage) => {
    withStored((directory) => {
      damage(fileOf(directory));
      const before = readFileSync(fileOf(directory));
      opened(directory, (store) => {
        expect([store.alert, store.servers(), store.read("provider")]).toEqual([DAMAGED, [], null]);
        store.insert(SERVER);
        store.alertTold();
      });
      expect(readFileSync(join(directory, ASIDE)).equals(before)).toBeTrue();
      expect(modeOf(join(directory, ASIDE))).toBe("600");
      expect(opened(directory, (store) => [store.alert, store.servers()])).toEqual([null, [SERVER]]);
    });
  });

  test("changed bytes anywhere in it never stop the gateway", () => {
    withStored((directory) => {
      const sound = readFileSync(fileOf(directory));
      for (let round = 0; round < 150; round++) {
        const broken = Buffer.from(sound);
        const at = round < 100 ? round : (round * 7919) % sound.length;
        broken[at] = (broken[at] ?? 0) ^ (1 + ((round * 31) % 255));
        for (const suffix of ["", "-wal", "-shm"])
          writeFileSync(fileOf(directory) + suffix, suffix ? "" : broken);
        opened(directory, (store) => {
          store.write("still", "works");
          expect(store.read("still")).toBe("works");
        });
      }
    });
  }, 180_000);

  test("a second one at the same time does not overwrite the first", () => {
    withStored((directory) => {
      for (const text of ["first", "second"]) {
        writeFileSync(fileOf(directory), text.repeat(1000));
        opened(directory, (store) => expect(store.alert).toStartWith("The database was damaged"));
      }
      expect(readdirSync(directory).filter((name) => name.includes("damaged"))).toHaveLength(2);
    });
  });

  test("the alert stays until people have been told, whichever program was the first to open it", () => {
    withStored((directory) => {
      truncateSync(fileOf(directory), 5000);
      for (const _ of ["the clock's unit", "a command", "the service"])
        expect(opened(directory, (store) => store.alert)).toBe(DAMAGED);
      opened(directory, (store) => store.alertTold());
      expect(opened(directory, (store) => [store.alert, store.settings()])).toEqual([null, {}]);
    });
  });

  test("a foreign log next to it does no harm", () => {
    withStored((directory) => {
      writeFileSync(`${fileOf(directory)}-wal`, "x".repeat(5000));
      expect(opened(directory, (store) => [store.alert, store.servers()])).toEqual([null, [SERVER]]);
    });
  });
});

test.each([
  ["not JSON", "{"],
  ["JSON of something else", "[]"],
  ["a key that would end its line", JSON.stringify(SERVER.config).replace("yAnz", "\\nAn")],
  ["one with an address that is none", JSON.stringify(SERVER.config).replace("/32", "/33")],
])("a row whose configuration is %s is dropped, the others stay, and a copy is kept", (_, config) => {
  withStored((directory) => {
    change(fileOf(directory), `INSERT INTO servers VALUES ('custom', 'odd', '', '', '', '', '${config}')`);
    opened(directory, (store) => {
      expect(store.alert).toBe(
        `One stored server could not be read; the database as it was is kept as ${ASIDE}.`,
      );
      expect(store.servers()).toEqual([SERVER]);
      store.insert({ ...SERVER, name: "odd" });
      store.alertTold();
    });
    expect(modeOf(join(directory, ASIDE))).toBe("600");
    expect(opened(directory, (store) => [store.alert, store.servers().length])).toEqual([null, 2]);
    const copy = new Database(join(directory, ASIDE), { readonly: true });
    expect(copy.query("SELECT name FROM servers").values()).toEqual([["home"], ["odd"]]);
    copy.close();
  });
});

test("an address in another spelling is read in its canonical one", () => {
  withStored((directory) => {
    const config = JSON.stringify(SERVER.config).replace('"::/0"', '"0:0::0/0"');
    change(fileOf(directory), `UPDATE servers SET config = '${config}'`);
    expect(opened(directory, (store) => store.servers())).toEqual([SERVER]);
  });
});

describe("what decides about exits outlives the database", () => {
  const TV = { id: "02:00:00:00:00:20", name: "TV", exit: "amsterdam" };
  const CAMERA = { id: "02:00:00:00:00:30", name: null, exit: "blocked" };
  const KEPT = {
    default_exit: "blocked",
    destinations: "[]",
    direct: "on",
    scheduled_exits: "02:00:00:00:00:40 blocked",
    schedules: "[]",
    schedules_done: "{}",
  };
  const LOST =
    "The exits of devices were lost with the database: until you choose the default exit, every device without an exit of its own is blocked. First give their exits back to the devices that had one, then type: portcullis default-exit main";
  const OLDER =
    "The database is missing, or older than what was last decided about devices: their names and exits are those of the second copy, exits.db.";

  const copyOf = (directory: string) => join(directory, "exits.db");
  const withExits = (work: (directory: string) => void) =>
    inDirectory((directory) => {
      opened(directory, (store) => {
        store.saveDevice(CAMERA);
        store.saveDevice(TV);
        for (const [key, value] of Object.entries(KEPT)) store.write(key, value);
        store.write("provider", "custom");
      });
      work(directory);
    });
  const expectExits = (store: Store) => {
    expect(store.devices()).toEqual([TV, CAMERA]);
    expect(store.settings()).toMatchObject(KEPT);
  };
  const expectBlocked = (store: Store) => {
    expect([store.devices(), store.read("default_exit"), store.read("exits_lost")]).toEqual([
      [],
      "blocked",
      LOST,
    ]);
    expect(store.read("direct")).toBeNull();
  };

  test("a damaged one", () => {
    withExits((directory) => {
      truncateSync(fileOf(directory), 5000);
      opened(directory, (store) => {
        expect([store.alert, store.read("provider")]).toEqual([DAMAGED, null]);
        expectExits(store);
        store.alertTold();
      });
      opened(directory, (store) => {
        expect(store.alert).toBeNull();
        expectExits(store);
      });
    });
  });

  test("one that is gone", () => {
    withExits((directory) => {
      rmSync(fileOf(directory));
      opened(directory, (store) => {
        expect(store.alert).toBe(OLDER);
        expectExits(store);
      });
    });
  });

  test("an older one that was put back, also of a version that had no copy", () => {
    withExits((directory) => {
      const older = readFileSync(fileOf(directory));
      const first = { ...CAMERA, name: "Camera" };
      opened(directory, (store) => store.saveDevice(first));
      writeFileSync(fileOf(directory), older);
      opened(directory, (store) => {
        expect([store.alert, store.read("provider")]).toEqual([OLDER, "custom"]);
        expect(store.devices()).toEqual([TV, first]);
      });
      change(fileOf(directory), "DELETE FROM devices");
      change(fileOf(directory), "DELETE FROM settings WHERE key = 'exits_written'");
      opened(directory, (store) => expect([store.alert, store.devices()]).toEqual([OLDER, [TV, first]]));
    });
  });

  test("a change that was killed between the two files stands", () => {
    withExits((directory) => {
      const before = readFileSync(copyOf(directory));
      opened(directory, (store) => store.saveDevice({ ...CAMERA, exit: "main" }));
      writeFileSync(copyOf(directory), before);
      opened(directory, (store) => {
        expect([store.alert, store.devices()]).toEqual([null, [TV, { ...CAMERA, exit: "main" }]]);
      });
      expect(readFileSync(copyOf(directory)).equals(before)).toBeFalse();
    });
  });

  test.each<[string, (path: string) => void]>([
    ["damaged, too", (path) => truncateSync(path, 3000)],
    ["gone, too", (path) => rmSync(path)],
    ["of a newer version", (path) => change(path, "PRAGMA user_version = 99")],
  ])(
    "if the copy is %s, everything without an exit of its own is blocked until a person chooses",
    (_, lose) => {
      withExits((directory) => {
        truncateSync(fileOf(directory), 5000);
        lose(copyOf(directory));
        opened(directory, (store) => {
          expect(store.alert).toBe(`${SET_ASIDE} ${LOST}`);
          expectBlocked(store);
          store.alertTold();
        });
        truncateSync(fileOf(directory), 5000);
        opened(directory, expectBlocked);
        rmSync(fileOf(directory));
        opened(directory, expectBlocked);
      });
    },
  );

  test("the same if a power cut came before that was written", () => {
    withExits((directory) => {
      rmSync(copyOf(directory));
      // All that the replacement of the damaged database leaves.
      writeFileSync(join(directory, ASIDE), readFileSync(fileOf(directory)));
      rmSync(fileOf(directory));
      opened(directory, (store) => {
        expect(store.alert).toBe(LOST);
        expectBlocked(store);
      });
    });
  });

  test("a damaged copy is replaced, and so is one that a version without it has left behind", () => {
    withExits((directory) => {
      truncateSync(copyOf(directory), 3000);
      opened(directory, (store) => expect(store.alert).toBeNull());
      truncateSync(fileOf(directory), 5000);
      opened(directory, expectExits);
      rmSync(copyOf(directory));
      change(fileOf(directory), "DELETE FROM settings WHERE key = 'exits_written'");
      opened(directory, (store) => expect(store.devices()).toEqual([TV, CAMERA]));
      truncateSync(fileOf(directory), 5000);
      opened(directory, expectExits);
    });
  });

  test("a first start has nothing to lose: main is the default exit, and stays so if the database is damaged", () => {
    inDirectory((directory) => {
      opened(directory, (store) => expect([store.alert, store.settings()]).toEqual([null, {}]));
      truncateSync(fileOf(directory), 5000);
      opened(directory, (store) =>
        expect([store.alert, store.read("default_exit")]).toEqual([DAMAGED, null]),
      );
    });
  });

  test("a copy that cannot be written is a fault, and is written within a minute when it can be", async () => {
    await inTunnelDirectory(async (directory) => {
      const store = Store.open(directory, NOW);
      mkdirSync(`${copyOf(directory)}.new`);
      store.saveDevice(TV);
      expect(await store.fault()).toBe("The second copy of the devices' exits, exits.db, cannot be written.");
      rmSync(`${copyOf(directory)}.new`, { recursive: true, force: true });
      const clock = new FakeHost();
      clock.patient = true;
      const stopping = new AbortController();
      const done = store.keepScrubbed(clock, stopping.signal);
      await clock.pass(60_000);
      expect(await store.fault()).toBeNull();
      stopping.abort();
      await done;
      store.close();
      truncateSync(fileOf(directory), 5000);
      opened(directory, (again) => expect(again.devices()).toEqual([TV]));
    });
  });
});

/** Code and message of what the work throws. */
function failureOf(work: () => unknown): [string, string] | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [error.code, error.message];
  }
}

describe("a failure is reported in a sentence", () => {
  test("a full disk", () => {
    withStored((directory) => {
      opened(directory, (store) => {
        const { database } = store as unknown as { database: Database };
        database.run("PRAGMA max_page_count = 1");
        const many = () => Array.from({ length: 200 }, (_, n) => store.insert({ ...SERVER, name: `${n}` }));
        expect(failureOf(many)).toEqual([
          "storage_full",
          "The database could not be written: the disk is full.",
        ]);
        database.run("PRAGMA max_page_count = 10000");
        store.insert({ ...SERVER, name: "later" });
      });
    });
  });

  test("a read-only database", () => {
    withStored((directory) => {
      opened(directory, (store) => {
        (store as unknown as { database: Database }).database.run("PRAGMA query_only = ON");
        const message = "The database could not be written: the state directory is read-only.";
        expect(failureOf(() => store.write("a", "b"))).toEqual(["storage_full", message]);
      });
    });
  });

  test("a database that another program has locked: it can be read, and written as soon as it is unlocked", async () => {
    const directory = mkdtempSync(join(tmpdir(), "portcullis-store-"));
    const before = Store.open(directory, NOW);
    before.insert(SERVER);
    before.close();
    const holder = Bun.spawn([process.execPath, "-e", HOLDER, fileOf(directory)], { stdout: "pipe" });
    onTestFinished(() => holder.kill("SIGKILL"));
    await holder.stdout.getReader().read();
    const store = Store.open(directory, NOW);
    // The last write is only in the log.
    expect([store.alert, store.servers(), store.read("provider")]).toEqual([null, [SERVER], "imported"]);
    const message = "The database could not be opened: another program has locked it.";
    expect(failureOf(() => store.write("provider", "managed"))).toEqual(["unable", message]);
    holder.kill("SIGKILL");
    await holder.exited;
    store.write("provider", "managed");
    store.close();
    opened(directory, (again) =>
      expect([again.servers(), again.read("provider")]).toEqual([[SERVER], "managed"]),
    );
    expect(readdirSync("/dev/shm").filter((name) => name.startsWith("portcullis-copy-"))).toEqual([]);
    rmSync(directory, { recursive: true });
  }, 180_000);

  test("there is no copy of a database that is missing, empty or damaged", () => {
    withStored((directory) => {
      expect(copyInMemory(directory)?.query("SELECT name FROM servers").values()).toEqual([["home"]]);
      overwrite(fileOf(directory), 4_000, 3_000);
      expect(copyInMemory(directory)).toBeNull();
      truncateSync(fileOf(directory));
      expect(copyInMemory(directory)).toBeNull();
      rmSync(fileOf(directory));
      expect(copyInMemory(directory)).toBeNull();
    });
  });

  test("a directory where the database should be", () => {
    inDirectory((directory) => {
      mkdirSync(fileOf(directory));
      expect(() => Store.open(directory, NOW)).toThrow(GatewayError);
    });
  });

  test("a state directory that is a file", () => {
    inDirectory((directory) => {
      appendFileSync(join(directory, "file"), "");
      expect(() => Store.open(join(directory, "file"), NOW)).toThrow(
        new GatewayError("unable", "The database could not be opened: system error EEXIST."),
      );
    });
  });
});

/** Writes to the log, and then keeps the database locked. */
const HOLDER = `
  import { Database } from "bun:sqlite";
  const database = new Database(process.argv[1]);
  database.run("INSERT INTO settings VALUES ('provider', 'imported')");
  database.run("BEGIN IMMEDIATE");
  console.log("held");
  setInterval(() => database.filename, 1_000);
`;

function overwrite(path: string, at: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, at, at + length);
  writeFileSync(path, bytes);
}

function change(path: string, sql: string): void {
  const database = new Database(path);
  database.run(sql);
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}
