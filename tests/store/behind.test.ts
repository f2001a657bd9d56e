import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Store } from "../../src/store/store.ts";
import { inDirectory } from "../tunnel/directory.ts";

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
  say("ends");
  process.exit(0);
}

if (process.argv[2] === "work") await work(process.argv[3] ?? "");

/** Runs it with strace(1), which shows by which thread the disk is waited for. */
async function traced(directory: string, options: readonly string[] = []): Promise<string> {
  const trace = join(directory, "trace");
  const argv = ["strace", "-f", "-o", trace, "-e", "trace=fsync,fdatasync,write", ...options];
  const child = Bun.spawn([...argv, process.execPath, import.meta.path, "work", directory], {
    stdout: "ignore",
    stderr: "ignore",
  });
  await child.exited;
  return readFileSync(trace, "utf8");
}

test("while the service runs, no write, no scrub and no checkpoint waits for the disk in its main thread", () =>
  inDirectory(async (directory) => {
    const trace = await traced(directory);
    const [, pid = ""] = /begins (\d+)/.exec(trace) ?? [];
    const lines = trace.slice(trace.indexOf("begins "), trace.indexOf('"ends')).split("\n");
    const flushes = lines.filter((line) => /\bf(data)?sync\(/.test(line));
    expect(flushes.filter((line) => line.startsWith(`${pid} `))).toEqual([]);
    // Positive control: others wait, at least once for each answer.
    expect(flushes.length).toBeGreaterThan(12);
    // At the start the service itself waits.
    const before = trace.slice(0, trace.indexOf("begins ")).split("\n");
    expect(before.some((line) => line.startsWith(`${pid} `) && /\bf(data)?sync\(/.test(line))).toBe(true);
    const store = Store.open(directory, NOW);
    expect(store.read("exit")).toBe("11");
    expect(store.servers()).toEqual([]);
    store.close();
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
