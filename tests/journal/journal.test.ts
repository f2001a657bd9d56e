import { expect, test } from "bun:test";
import { Journal } from "../../src/journal/journal.ts";
import type { Happening } from "../../src/journal/schema.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { inDirectory } from "../tunnel/directory.ts";

const ALL = { after: 0, before: Number.MAX_SAFE_INTEGER, most: 100 };

const alert = (message: string): Happening => ({ type: "security_alert", code: "state_saved", message });

async function withJournal(work: (world: World) => Promise<void>): Promise<void> {
  await inDirectory(async (directory) => work(new World(directory)));
}

class World {
  readonly host = new FakeHost();
  readonly warnings: string[] = [];
  store: Store;
  journal: Journal;

  constructor(private readonly directory: string) {
    this.host.patient = true;
    this.store = Store.open(directory, 0);
    this.journal = this.fresh();
  }

  /** After a kill: what is not in the database is lost. */
  restart(): void {
    this.store.close();
    this.store = Store.open(this.directory, 0);
    this.journal = this.fresh();
  }

  messages(range = ALL): string[] {
    const { events } = this.journal.page(range);
    return events.map((event) => (event.type === "security_alert" ? event.message : event.state));
  }

  private fresh(): Journal {
    const log = { warn: (message: string) => void this.warnings.push(message) };
    return new Journal({ clock: this.host, store: this.store, log });
  }
}

test("events are there after a restart, oldest first, with their time, and are written within a second", () =>
  withJournal(async (world) => {
    const { host } = world;
    const begin = host.now();
    world.journal.add(alert("one"));
    await host.pass(100);
    world.journal.add(alert("two"));
    await host.pass(1_000);
    world.restart();
    const { events, more } = world.journal.page(ALL);
    expect(more).toBe(false);
    expect(events.map(({ id, at }) => [id, Date.parse(at) - begin])).toEqual([
      [1, 0],
      [2, 100],
    ]);
    expect(world.messages()).toEqual(["one", "two"]);
  }));

test("a page has the latest of a range, and says whether there are earlier ones", () =>
  withJournal(async (world) => {
    for (let number = 1; number <= 10; number++) world.journal.add(alert(`${number}`));
    expect(world.messages({ ...ALL, most: 3 })).toEqual(["8", "9", "10"]);
    expect(world.journal.page({ ...ALL, most: 3 }).more).toBe(true);
    expect(world.messages({ after: 0, before: 8, most: 3 })).toEqual(["5", "6", "7"]);
    expect(world.messages({ ...ALL, after: 8 })).toEqual(["9", "10"]);
    expect(world.journal.page({ ...ALL, after: 8 }).more).toBe(false);
    expect(world.messages({ ...ALL, after: 10 })).toEqual([]);
  }));

test("the oldest are removed once there are ten thousand, and no id is used again", () =>
  withJournal(async (world) => {
    for (let round = 0; round < 11; round++) {
      for (let number = 0; number < 1_000; number++) world.journal.add(alert(`${round}`));
      world.journal.write();
    }
    const { events } = world.journal.page({ after: 0, before: 1_002, most: 500 });
    expect(events.map(({ id }) => id)).toEqual([1_001]);
    expect(world.journal.page({ ...ALL, most: 1 }).events[0]?.id).toBe(11_000);
  }));

test("an event of a later version is left out", () =>
  withJournal(async (world) => {
    world.store.addEvents([{ at: 1, content: JSON.stringify({ type: "eclipse" }) }], 10);
    world.journal.add(alert("one"));
    expect(world.messages()).toEqual(["one"]);
  }));

test("while the database takes no writes, events wait, and that is said once", () =>
  withJournal(async (world) => {
    const { host, store } = world;
    const add = store.addEvents.bind(store);
    store.addEvents = () => {
      throw new Error("the disk is full");
    };
    world.journal.add(alert("one"));
    await host.pass(1_000);
    world.journal.add(alert("two"));
    await host.pass(200_000);
    expect(world.warnings).toEqual(["the journal could not be written: the disk is full"]);
    store.addEvents = add;
    await host.pass(61_000);
    expect(world.messages()).toEqual(["one", "two"]);
  }));
