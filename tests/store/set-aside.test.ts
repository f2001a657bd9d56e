import { expect } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { partsOn } from "../../src/app/parts.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { EXIT_KEYS } from "../../src/store/exits.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { NOW } from "../servers/example.ts";
import { newDirectory } from "../tunnel/directory.ts";

const { test } = slow;

const RULE = { id: "3f9a1c", names: ["a.example"], prefixes: [], devices: [], exit: "blocked", note: "" };
const TV = "02:00:00:00:00:20";

/** What a start tells of a database in which these have been written. */
async function startedWith(write: (store: Store) => void, database: Uint8Array | null = null) {
  const stateDir = newDirectory();
  try {
    if (database !== null) writeFileSync(join(stateDir, "portcullis.db"), database);
    const store = Store.open(stateDir, NOW);
    write(store);
    store.close();
    const host = new FakeHost(0);
    host.setClock(NOW);
    const parts = await partsOn(host, settingsFrom({ stateDir, logLevel: "error" }));
    const { events } = parts.journal.page({ after: 0, before: Number.MAX_SAFE_INTEGER, most: 100 });
    const started = {
      told: events.flatMap((event) => (event.type === "security_alert" ? event.message : [])),
      settings: parts.store.settings(),
      devices: parts.store.devices().map(({ id, name, exit }) => `${id} ${name} ${exit}`),
      copies: readdirSync(stateDir).filter((name) => name.startsWith("portcullis.damaged-")).length,
      exit: (await parts.devices.list()).default_exit,
    };
    parts.store.close();
    return started;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

const ODD = "Stored data could not be read in full and was set aside: ";
const BLOCKED = "until you choose the default exit, every device without an exit of its own is blocked";

test("a rule or a schedule that cannot be read is set aside and told, and what has no exit of its own is blocked", async () => {
  for (const [key, text, rest] of [
    ["destinations", JSON.stringify([RULE, { ...RULE, id: "x" }]), JSON.stringify([RULE])],
    ["destinations", "[{", "[]"],
    ["destinations", JSON.stringify(Array.from({ length: 30_000 }, () => RULE)), "[]"],
    ["schedules", '[{"name":"night","tunnel":"main","at":"25:00"}]', "[]"],
  ] as const) {
    const { told, settings, copies, exit } = await startedWith((store) => store.write(key, text));
    expect(told[0]).toStartWith(`${ODD}${key}. The database as it was is kept as portcullis.damaged-`);
    expect(told[0]).toContain(BLOCKED);
    expect([settings[key], copies, exit]).toEqual([rest, 1, "blocked"]);
    expect(settings[EXIT_KEYS.lost]).toContain(BLOCKED);
  }
});

test("a device that cannot be read is blocked, and one too many, too", async () => {
  const odd = await startedWith((store) => {
    store.saveDevice({ id: TV, name: "a\nb", exit: "Oslo" });
    store.saveDevice({ id: "02:00:00:00:00:21", name: "a\nb", exit: "main" });
  });
  expect(odd.told[0]).toStartWith(`${ODD}2 devices.`);
  expect([odd.devices, odd.exit]).toEqual([[`${TV} null blocked`, "02:00:00:00:00:21 null main"], "main"]);
  const many = await startedWith((store) =>
    store.atomically((database) => {
      const insert = database.query("INSERT INTO devices VALUES (?, 'x', 'main')");
      for (let at = 0; at < 1_002; at++)
        insert.run(`02:00:00:00:${Math.floor(at / 100) + 10}:${(at % 100).toString().padStart(2, "0")}`);
      insert.run("of another version");
    }),
  );
  expect(many.told[0]).toStartWith(`${ODD}3 devices.`);
  expect([many.devices.length, many.exit]).toEqual([1_000, "blocked"]);
});

test("what cannot be read of other settings is told, closed, and left out", async () => {
  const { told, settings, exit } = await startedWith((store) => {
    store.write("killswitch", "maybe");
    store.write("direct", "perhaps");
    store.write("default_exit", "Oslo");
    store.write(
      "limits",
      `[{"id":"${TV}","rate":{"down":5,"up":null}},{"id":"${TV}","rate":{"down":-5,"up":1}}]`,
    );
    store.write("fixed_addresses", `${TV} 192.168.7.5,nonsense`);
    store.write("notification_targets", '[{"name":"phone"}]');
    store.write("tunnel tv", '{"slot":99,"connection":null}');
    store.write("of another version", "x");
  });
  expect(told).toHaveLength(2);
  expect(told[0]).toStartWith(`${ODD}tunnel tv, killswitch, direct, default_exit. `);
  expect(told[1]).toStartWith(`${ODD}fixed_addresses, limits, notification_targets. `);
  expect(settings).toMatchObject({
    limits: `[{"id":"${TV}","rate":{"down":5,"up":null}}]`,
    fixed_addresses: `${TV} 192.168.7.5`,
    "of another version": "x",
  });
  expect([settings.killswitch, settings.direct, settings["tunnel tv"]]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(exit).toBe("blocked");
});

test.each([
  ["full", [`${ODD}tunnel Bad Name, tunnel damaged, tunnel twice, one device. `]],
  ["other", []],
])("of the %s database of 0.1.0 nothing is set aside but what is damaged in it", async (name, odd) => {
  const packed = await Bun.file(join(import.meta.dir, "../backup/golden", `${name}.db.gz`)).bytes();
  const { told, devices } = await startedWith(() => {}, Bun.gunzipSync(packed));
  expect(told.map((text) => text.slice(0, odd[0]?.length))).toEqual(odd);
  expect(devices.length).toBeGreaterThan(1);
});
