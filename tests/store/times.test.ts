import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nextTurn } from "../../src/base/queue.ts";
import { Store } from "../../src/store/store.ts";
import { isTime, TIME_KEYS, Times } from "../../src/store/times.ts";
import { inDirectory } from "../tunnel/directory.ts";

const NOW = Date.parse("2026-11-30T10:00:00Z");
const LATER = `${NOW + 300_000}`;

function bytesIn(file: string): Buffer {
  return existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
}

/** The bytes of all files of the database. */
function databaseIn(directory: string): string {
  const files = readdirSync(directory).filter((name) => name.startsWith("portcullis.db"));
  return files.map((name) => readFileSync(join(directory, name), "base64")).join();
}

test("a time changes one block of one file, and nothing of the database", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    const file = join(directory, "times");
    store.write("clock", `${NOW}`);
    await nextTurn();
    store.write("clock", `${NOW}`);
    await nextTurn();
    const [before, former, { ino, size }] = [databaseIn(directory), readFileSync(file), statSync(file)];
    store.write("handshake", `${NOW}`);
    store.write("clock", LATER);
    expect(databaseIn(directory)).toBe(before);
    expect(statSync(file)).toMatchObject({ ino, size, mode: 0o100600 });
    const changed = [...readFileSync(file)].flatMap((byte, at) => (byte === former[at] ? [] : [at >> 12]));
    expect(new Set(changed).size).toBe(1);
    expect(Store.open(directory, NOW).settings()).toEqual({ clock: LATER, handshake: `${NOW}` });
    // Positive control.
    store.write("exit", "main");
    expect(databaseIn(directory)).not.toBe(before);
    store.close();
  }));

test("a power cut that spoils the block that is being written leaves the times before", () =>
  inDirectory(async (directory) => {
    const file = join(directory, "times");
    for (const each of [NOW, NOW + 180_000, NOW + 360_000]) {
      const before = new Times(file).all;
      const [former, times] = [bytesIn(file), new Times(file)];
      times.write(TIME_KEYS.clock, `${each}`);
      expect(new Times(file).all).toEqual({ clock: `${each}` });
      const written = bytesIn(file);
      const at = written.findIndex((byte, index) => byte !== (former[index] ?? 0)) & ~4_095;
      writeFileSync(file, Buffer.from(written).fill(0xff, at, Math.min(at + 4_096, written.length)));
      expect(new Times(file).all).toEqual(before);
      writeFileSync(file, written);
    }
  }));

test("what an earlier version has left in the database counts, until there is a new time", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    store.write("clock", `${NOW}`);
    store.atomically((database) =>
      database.query("INSERT INTO settings VALUES ('clock', $value)").run({ value: "1" }),
    );
    expect([store.read("clock"), store.settings().clock]).toEqual(["1", "1"]);
    store.write("clock", LATER);
    expect([store.read("clock"), Store.open(directory, NOW).read("clock")]).toEqual([LATER, LATER]);
    store.close();
  }));

test.each([
  ["empty", ""],
  ["half written", '{"count":1,"clock":"17000'],
  ["of another kind", '{"count":1,"clock":{}}'],
  ["no time", '{"count":1,"clock":"soon"}'],
])("a file that is %s is none, and the next time replaces it", (_, content) =>
  inDirectory(async (directory) => {
    writeFileSync(join(directory, "times"), content);
    const times = new Times(join(directory, "times"));
    expect(times.all).toEqual({});
    times.write(TIME_KEYS.clock, LATER);
    expect(new Times(join(directory, "times")).all).toEqual({ clock: LATER });
  }),
);

test("a time that cannot be written is told, and the former one stays", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    store.write("clock", `${NOW}`);
    rmSync(join(directory, "times"));
    mkdirSync(join(directory, "times"));
    expect(() => store.write("clock", LATER)).toThrow("The database could not be written");
    expect(store.read("clock")).toBe(`${NOW}`);
    store.close();
  }));

test("only times are kept there", () => {
  expect(["clock", "handshake", "exit", "toString"].map(isTime)).toEqual([true, true, false, false]);
});

test("while a flush hangs, no second one begins, and the block that it writes is not written", () =>
  inDirectory(async (directory) => {
    const file = join(directory, "times");
    const [held, begun] = [Promise.withResolvers<void>(), [] as number[]];
    const times = new Times(file, (descriptor) => {
      begun.push(descriptor);
      return held.promise;
    });
    const write = (time: string) => {
      times.write(TIME_KEYS.clock, time);
      return nextTurn();
    };
    await write(`${NOW}`);
    const underWay = bytesIn(file).subarray(4_096).toString();
    for (let minutes = 3; minutes < 30; minutes += 3) await write(`${NOW + 60_000 * minutes}`);
    expect(begun).toHaveLength(1);
    expect(bytesIn(file).subarray(4_096).toString()).toBe(underWay);
    expect(new Times(file).all).toEqual({ clock: `${NOW + 60_000 * 27}` });
    held.resolve();
    await nextTurn();
    expect(begun).toHaveLength(2);
  }));
