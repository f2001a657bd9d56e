import { expect } from "bun:test";
import { Journal } from "../../src/journal/journal.ts";
import type { NewJournalEntry } from "../../src/journal/schema.ts";
import { Store } from "../../src/store/store.ts";
import { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "../tunnel/directory.ts";

const { test } = slow;

const ALL = { after: 0, before: Number.MAX_SAFE_INTEGER, most: 100 };

const alert = (message: string): NewJournalEntry => ({
  type: "security_alert",
  code: "state_saved",
  message,
});

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
      for (let number = 0; number < 500; number++) world.journal.add(alert(`${round}`));
      world.journal.write();
    }
    const { events } = world.journal.page({ after: 0, before: 3_502, most: 500 });
    expect(events.map(({ id }) => id)).toEqual([3_501]);
    world.restart();
    world.journal.add(alert("more"));
    expect(world.journal.page({ ...ALL, most: 1 }).events[0]?.id).toBe(5_501);
  }));

const state = (tunnel: string, name: "connected" | "disconnected"): NewJournalEntry => ({
  ...{ type: "tunnel_state", tunnel, state: name, server: "", location: "", error: null },
});

test("however often a tunnel comes and goes, the alerts stay, on the disk and while it takes no writes", () =>
  withJournal(async (world) => {
    // What looks like an alert is none.
    const lookalike = { ...state("main", "connected"), location: 'a "security_alert"' };
    world.journal.add(alert("one"));
    for (let round = 0; round < 22; round++) {
      for (let number = 0; number < 500; number++) world.journal.add(lookalike);
      world.journal.write();
    }
    expect(world.messages({ after: 0, before: 2, most: 1 })).toEqual(["one"]);
    expect(world.journal.page({ after: 1, before: 3_003, most: 500 }).events.map(({ id }) => id)).toEqual([
      3_002,
    ]);
    world.store.addEvents = () => {
      throw new Error("the disk is full");
    };
    world.journal.add(alert("two"));
    for (let number = 0; number < 2_000; number++) world.journal.add(state("main", "connected"));
    expect(world.messages({ after: 11_001, before: 11_003, most: 1 })).toEqual(["two"]);
    expect(world.messages({ ...ALL, after: 11_002, most: 600 })).toHaveLength(500);
  }));

test("what the disk does not take is answered all the same, and the states of a time too", () =>
  withJournal(async (world) => {
    const { host, store } = world;
    const from = host.now();
    world.journal.add(state("main", "connected"));
    await host.pass(60_000);
    const add = store.addEvents.bind(store);
    store.addEvents = () => {
      throw new Error("the disk is full");
    };
    world.journal.add(state("tv", "connected"));
    await host.pass(60_000);
    world.journal.add(alert("full"));
    world.journal.add(state("main", "disconnected"));
    expect(world.messages()).toEqual(["connected", "connected", "full", "disconnected"]);
    expect(world.journal.page({ ...ALL, most: 2 }).more).toBe(true);
    const ids = ({ id }: { id: number }) => id;
    const late = world.journal.during({ from: from + 120_000, to: from + 200_000, most: 10 });
    expect([late.before.map(ids), late.events.map(ids), late.more]).toEqual([[1, 2], [3, 4], false]);
    const two = world.journal.during({ from, to: from + 200_000, most: 2 });
    expect([two.before.map(ids), two.events.map(ids), two.more]).toEqual([[1, 2], [3, 4], true]);
    store.addEvents = add;
    await host.pass(61_000);
    world.restart();
    const { events } = world.journal.page(ALL);
    expect(events.map(ids)).toEqual([1, 2, 3, 4]);
  }));

test("a damaged event is left out, and that is said once", () =>
  withJournal(async (world) => {
    world.journal.add(state("main", "connected"));
    world.journal.add(state("main", "disconnected"));
    world.journal.write();
    const content = JSON.stringify(alert("never"));
    world.store.addEvents([
      { id: 3, at: 1, content: content.slice(0, -5) },
      { id: 4, at: 9e18, content },
      { id: 5, at: -9e18, content },
      { id: 6, at: 1, content: '{"type":"tunnel_state","tunnel' },
      { id: 7, at: 1, content: "null" },
      {
        ...{ id: 8, at: 1 },
        content: JSON.stringify({
          ...{ type: "security_alert", code: "state_saved", message: "x".repeat(900_000) },
        }),
      },
    ]);
    world.restart();
    world.journal.add(alert("one"));
    expect(world.messages()).toEqual(["connected", "disconnected", "one"]);
    const { before, events } = world.journal.during({ from: 0, to: 2, most: 10 });
    expect([before, events]).toEqual([[], []]);
    const at = world.host.now();
    expect(world.journal.during({ from: at - 1, to: at + 1, most: 1 }).before).toHaveLength(1);
    expect(world.warnings).toEqual(["event 3 of the journal is damaged and left out"]);
  }));

test("an event of a later version is left out", () =>
  withJournal(async (world) => {
    world.store.addEvents([{ id: 1, at: 1, content: JSON.stringify({ type: "eclipse" }) }]);
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
