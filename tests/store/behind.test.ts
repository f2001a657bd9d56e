import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Store } from "../../src/store/store.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";

const { test } = slow;

const NOW = Date.UTC(2026, 2, 1);
const SERVER = {
  provider: "custom",
  name: "home",
  label: "",
  country: "",
  city: "",
  location: "",
  config: {
    interface: { privateKey: "QEnvZmRWjCkvmsPXZN8bRtnMfMtRfaZbz2IkzkB/yWg=", addresses: ["10.64.0.2/32"] },
    peer: {
      publicKey: "GNqUZJyHvUyDWB5J2VyDyVHjhXzPbO7BvxnsWFzJ6mE=",
      endpoint: { host: "192.0.2.1", port: 51820 },
      allowedIps: ["0.0.0.0/0"],
    },
  },
} as unknown as Parameters<Store["insert"]>[0];

const eventsFrom = (id: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: id + index, at: NOW, content: "x".repeat(1_000) }));

/** What a service does with its store; prints the number of its thread, and marks where it no longer may wait. */
async function work(directory: string): Promise<void> {
  const store = Store.open(directory, NOW);
  const say = (text: string) => process.stderr.write(`${text}\n`);
  store.insert(SERVER);
  store.writeBehind();
  say(`begins ${process.pid}`);
  for (let round = 0; round < 12; round++) {
    store.addEvents(eventsFrom(round * 500 + 1, 500));
    store.saveDevice({ id: "02:00:00:00:00:20", name: `TV ${round}`, exit: "blocked" });
    store.write("exit", `${round}`);
    await store.flushed();
    if (round === 4) store.remove("custom", "home");
    if (round === 8) store.scrub();
    await Bun.sleep(100);
  }
  await store.flushed();
  await writeOnceCopied(store);
  say("ends");
  process.exit(0);
}

/** Writes at the moment at which another thread has copied all of the log, and the service is not told of it yet. */
async function writeOnceCopied(store: Store): Promise<void> {
  const copied = Promise.withResolvers<void>();
  const { Worker } = globalThis;
  globalThis.Worker = class extends Worker {
    override set onmessage(told: (event: MessageEvent) => void) {
      super.onmessage = (event) => {
        store.write("exit", "12");
        copied.resolve();
        told(event);
      };
    }
  };
  store.scrub();
  await copied.promise;
  globalThis.Worker = Worker;
  await store.flushed();
}

/** The same for the question whether the database is damaged. */
async function look(directory: string): Promise<void> {
  const store = Store.open(directory, NOW);
  process.stderr.write(`begins ${process.pid}\n`);
  const fault = await store.fault();
  process.stderr.write(`ends ${fault}\n`);
  process.exit(0);
}

const [, , what, where = ""] = process.argv;
if (what === "work") await work(where);
if (what === "look") await look(where);

/** Runs one of them with strace(1), which shows which thread calls the kernel, from `begins` to `ends`. */
async function traced(which: "work" | "look", calls: string, directory: string) {
  const trace = join(directory, "trace");
  const argv = ["strace", "-f", "-o", trace, "-e", `trace=${calls},write`];
  const child = Bun.spawn([...argv, process.execPath, import.meta.path, which, directory], {
    stdout: "ignore",
    stderr: "ignore",
  });
  await child.exited;
  const text = readFileSync(trace, "utf8");
  const [, pid = ""] = /begins (\d+)/.exec(text) ?? [];
  const linesOf = (part: string) => part.split("\n").filter((line) => !line.includes(" write("));
  return {
    before: linesOf(text.slice(0, text.indexOf("begins "))),
    lines: linesOf(text.slice(text.indexOf("begins "), text.indexOf('"ends'))),
    isMain: (line: string) => line.startsWith(`${pid} `),
    text,
  };
}

test("while the service runs, no write, no scrub and no checkpoint waits for the disk in its main thread", () =>
  inDirectory(async (directory) => {
    const { before, lines, isMain } = await traced("work", "fsync,fdatasync", directory);
    const isFlush = (line: string) => /\bf(data)?sync\(/.test(line);
    const flushes = lines.filter(isFlush);
    expect(flushes.filter(isMain)).toEqual([]);
    // Positive control: others wait, at least once for each answer.
    expect(flushes.length).toBeGreaterThan(12);
    // At the start the service itself waits.
    expect(before.some((line) => isMain(line) && isFlush(line))).toBe(true);
    const store = Store.open(directory, NOW);
    expect(store.read("exit")).toBe("12");
    expect(store.servers()).toEqual([]);
    store.close();
  }));

test("whether the database is damaged is found out in another thread, which reads all of it", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    for (let round = 0; round < 20; round++) store.addEvents(eventsFrom(round * 500 + 1, 500));
    store.close();
    const pages = statSync(join(directory, "portcullis.db")).size / 4_096;
    const { lines, isMain, text } = await traced("look", "pread64", directory);
    expect(text).toContain('"ends null');
    const reads = lines.filter((line) => / pread64\(.*= 4096$/.test(line));
    expect(reads.filter(isMain).length).toBeLessThan(10);
    expect(reads.length).toBeGreaterThan(pages / 2);
  }));

test("damage that comes while the service runs is a fault, and so is a database that is gone", () =>
  inDirectory(async (directory) => {
    const file = join(directory, "portcullis.db");
    const store = Store.open(directory, NOW);
    for (let round = 0; round < 2; round++) store.addEvents(eventsFrom(round * 500 + 1, 500));
    store.close();
    const again = Store.open(directory, NOW);
    expect(await again.fault()).toBeNull();
    const bytes = readFileSync(file);
    bytes.fill(0xff, bytes.length - 40 * 4_096);
    writeFileSync(file, bytes);
    expect(await again.fault()).toBe("The database is damaged.");
    again.close();
    const third = Store.open(directory, NOW);
    rmSync(file);
    expect(await third.fault()).toBe("The database cannot be read.");
    third.close();
  }));

test("whoever asks for damage while it is looked for gets the same answer", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    const { Worker } = globalThis;
    let threads = 0;
    globalThis.Worker = class extends Worker {
      constructor(...args: ConstructorParameters<typeof Worker>) {
        super(...args);
        threads += 1;
      }
    };
    try {
      expect(await Promise.all([store.fault(), store.fault(), store.fault()])).toEqual([null, null, null]);
      expect(threads).toBe(1);
      expect(await store.fault()).toBeNull();
      expect(threads).toBe(2);
    } finally {
      globalThis.Worker = Worker;
      store.close();
    }
  }));

test("what is acknowledged was flushed, and the second copy of the exits is there", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    store.writeBehind();
    store.saveDevice({ id: "02:00:00:00:00:20", name: "TV", exit: "blocked" });
    await store.flushed();
    const copy = Database.deserialize(readFileSync(join(directory, "exits.db")));
    expect(copy.query("SELECT id, exit FROM devices").values()).toEqual([["02:00:00:00:00:20", "blocked"]]);
    // Another process has it too.
    expect(new Database(join(directory, "portcullis.db")).query("SELECT name FROM devices").values()).toEqual(
      [["TV"]],
    );
    store.close();
  }));

test(
  "the log stays bounded, and a removed key leaves it within moments",
  () =>
    inDirectory(async (directory) => {
      const store = Store.open(directory, NOW);
      store.insert(SERVER);
      store.writeBehind();
      for (let round = 0; round < 40; round++) {
        store.addEvents(eventsFrom(round * 500 + 1, 500));
        await store.flushed();
        await Bun.sleep(5);
      }
      const log = () => statSync(join(directory, "portcullis.db-wal")).size;
      store.remove("custom", "home");
      const key = SERVER.config.interface.privateKey;
      const holds = (name: string) => readFileSync(join(directory, name)).includes(key);
      const deadline = performance.now() + 30_000;
      while (log() > 0 || holds("portcullis.db")) {
        if (performance.now() > deadline) throw new Error(`the log has ${log()} bytes`);
        await Bun.sleep(20);
      }
      expect(store.read("exit")).toBeNull();
      store.write("exit", "main");
      await store.flushed();
      store.close();
      expect(Store.open(directory, NOW).read("exit")).toBe("main");
    }),
  60_000,
);

test(
  "a scrub leaves an empty log, also one that comes while others write and the log is being copied",
  () =>
    inDirectory(async (directory) => {
      const store = Store.open(directory, NOW);
      store.writeBehind();
      const log = () => statSync(join(directory, "portcullis.db-wal")).size;
      // The copy ends at one of these moments, or between two.
      for (let round = 0; round < 20; round++) {
        for (let part = 0; part < 9; part++) store.addEvents(eventsFrom(part * 500 + 1, 500));
        await store.flushed();
        const until = performance.now() + 6 * round;
        while (performance.now() < until) {
          store.write("exit", `${performance.now()}`);
          await Bun.sleep(1);
        }
        store.scrub();
        const deadline = performance.now() + 10_000;
        while (log() > 0) {
          if (performance.now() > deadline) throw new Error(`round ${round}: the log has ${log()} bytes`);
          await Bun.sleep(5);
        }
      }
      store.close();
    }),
  60_000,
);

test("another program that has locked the database is not waited for", () =>
  inDirectory(async (directory) => {
    const store = Store.open(directory, NOW);
    const other = new Database(join(directory, "portcullis.db"));
    other.run("BEGIN EXCLUSIVE");
    const waited = () => {
      const start = performance.now();
      expect(() => store.write("exit", "main")).toThrow("another program has locked it");
      return performance.now() - start;
    };
    // Positive control: before the service answers, it has time.
    const before = waited();
    store.writeBehind();
    expect(waited()).toBeLessThan(before / 10);
    // Questions are answered all the same.
    expect(store.read("exit")).toBeNull();
    other.run("ROLLBACK");
    store.write("exit", "main");
    store.close();
  }));
