import { afterAll, expect } from "bun:test";
import { rmSync } from "node:fs";
import type { Scheduler } from "fast-check";
import { type Parts, partsOn } from "../../src/app/parts.ts";
import { type Part, runAll } from "../../src/base/part.ts";
import { settingsFrom } from "../../src/base/settings.ts";
import { finalRulesStand } from "../../src/killswitch/listing.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { newDirectory } from "../tunnel/directory.ts";
import { SERVERS } from "../tunnel/gateway.ts";
import { type ParkedHost, parkedHost } from "../world/parked-host.ts";

const { test } = slow;

const TV = "02:00:00:00:00:20";
/** Longer than each part takes to begin. */
const MINUTE_MS = 60_000;
/** What processes leave open that are killed. */
const stores: Store[] = [];
const directories: string[] = [];
afterAll(() => {
  for (const store of stores) store.close();
  for (const each of directories) rmSync(each, { recursive: true, force: true });
});

/** A machine on which a person has blocked the TV, and the processes that run on it one after another. */
class Machine {
  readonly host = new FakeHost();
  readonly faults: string[] = [];
  private readonly directory = newDirectory();
  private parts: Parts | null = null;
  private ending = new AbortController();

  constructor() {
    directories.push(this.directory);
    this.host.patient = true;
    this.host.links.get("lan0")?.addresses.push("192.168.7.1/24", "fe80::1/64");
    const store = Store.open(this.directory, this.host.now());
    for (const server of SERVERS) store.insert(server);
    store.saveDevice({ id: TV, name: "TV", exit: "blocked" });
    store.close();
  }

  /** Starts the service, which is killed as soon as a part of this name has begun. */
  async start(killedAt: string | null = null): Promise<string[]> {
    const process = parkedHost(this.host, {} as Scheduler, () => () => () => {});
    process.isCalm = true;
    const settings = settingsFrom({ interface: "wg", logLevel: "error", stateDir: this.directory });
    this.parts = await partsOn(process.host, settings);
    stores.push(this.parts.store);
    await this.parts.tunnels.start(this.parts.catalogue);
    const { first, second } = this.parts.stages;
    const all = [...first, ...second];
    const parts = all.map((part) => (part.name === killedAt ? this.killing(part, process) : part));
    const { failing } = this.parts;
    const report = (fault: string) => void this.faults.push(fault);
    runAll(parts, { clock: process.host, signal: this.ending.signal, failing, report });
    await this.host.pass(killedAt === null ? MINUTE_MS : 0);
    return all.map(({ name }) => name);
  }

  /** Whether nothing but what is decided can pass. */
  get isHeld(): boolean {
    const { table } = this.host;
    return table !== null && finalRulesStand(table) && table.includes(`${TV} : goto exit_blocked`);
  }

  stands(): Promise<boolean> | undefined {
    return this.parts?.killSwitch.stands();
  }

  end(): void {
    this.host.kill();
    this.ending.abort();
    this.ending = new AbortController();
  }

  private killing({ name, run }: Part, process: ParkedHost): Part {
    return {
      name,
      run: (signal) => {
        run?.(signal);
        process.kill();
        this.end();
      },
    };
  }
}

const sound = new Machine();
const NAMES = await sound.start();

test("a whole start is what the others are compared with, and a table that is gone is seen", async () => {
  expect([sound.isHeld, await sound.stands(), sound.faults]).toEqual([true, true, []]);
  const gone = new Machine();
  await gone.start(NAMES[0]);
  gone.host.removeTable();
  expect(gone.isHeld).toBe(false);
});

for (const name of NAMES)
  test(`killed as the part ${JSON.stringify(name)} begins, the kill switch holds, and the next start is whole`, async () => {
    const machine = new Machine();
    await machine.start(name);
    expect(machine.isHeld).toBe(true);
    machine.faults.length = 0;
    await machine.start();
    expect([machine.isHeld, await machine.stands(), machine.faults]).toEqual([true, true, []]);
    expect(machine.host.table).toBe(sound.host.table);
    machine.end();
  });
