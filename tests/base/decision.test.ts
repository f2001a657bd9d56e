import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Decision, type Effect, type Part } from "../../src/base/decision.ts";
import { GatewayError, messageOf } from "../../src/base/errors.ts";
import { nextTurn } from "../../src/base/queue.ts";
import { NotTakenBack, Unsaved } from "../../src/base/unsaved.ts";
import { slow } from "../fast.ts";
import { faultyDecision } from "./faulty-decision.ts";

/** Two parts of the machine, each more or less open, and a note, which opens nothing. */
interface Value {
  front: number;
  back: number;
  note: number;
}
type Place = "front" | "back";

/** What a place does with a value: `half` is an error after which it has the value. */
type Answer = "takes" | "refuses" | "half";

interface Action {
  do: "change" | "retry" | "load";
  to: Partial<Value>;
  /** Of the writes and of the places, in the order in which they are asked from this action on. */
  disk: boolean[];
  kernel: Answer[];
  /** Whether the next action waits for the end of this one. */
  isLast: boolean;
}

/** A change that is under way, or the one before. */
interface Change {
  before: Value;
  after: Value;
  failures: number;
  wasRefused: boolean;
}

const CLOSED: Value = { front: 0, back: 0, note: 0 };
const PLACES: readonly Place[] = ["front", "back"];

class World {
  database: Value;
  readonly kernel: Record<Place, number>;
  /** Places that could not be told. They would tell of it, and keep trying. */
  readonly faulty = new Set<Place>();
  disk: boolean[] = [];
  /** Whether it has refused a write since the database had everything. */
  isDiskFaulty = false;
  answers: Answer[] = [];
  change: Change | null = null;
  /** Whether the database is to be read again. */
  isStale = false;
  /** Called before and after each effect: here a SIGKILL may come. */
  onStep = () => {};

  constructor(database: Value = CLOSED, kernel: Record<Place, number> = { front: 0, back: 0 }) {
    this.database = database;
    this.kernel = { front: kernel.front, back: kernel.back };
  }

  decision(Kind: typeof Decision): Decision<Value> {
    let written: Value | null = null;
    return new Kind<Value>({
      store: {
        atomically: (work) => {
          this.onStep();
          written = { ...this.database };
          work();
          if (this.disk.shift() === false) {
            this.isDiskFaulty = true;
            if (this.change !== null) this.change.failures++;
            throw new GatewayError("storage_full", "the disk is full");
          }
          this.database = written;
          this.onStep();
        },
      },
      read: () => ({ ...this.database }),
      write: (stored, value) => {
        // Only what differs is written, as of a device in a table.
        for (const key of ["front", "back", "note"] as const)
          if (written !== null && stored[key] !== value[key]) written[key] = value[key];
      },
      parts: [...PLACES.map((place) => this.part(place)), this.follower()],
    });
  }

  /** Where nothing passes that the places before it have closed. */
  private follower(): Part<Value> {
    return {
      effect: (before, after) => effectOf(before.front + before.back, after.front + after.back),
      apply: async () => {
        this.onStep();
        await nextTurn();
        if ((this.answers.shift() ?? "takes") === "takes" || this.change === null) return;
        this.change.failures++;
        if (!onlyCloses(this.change)) this.change.wasRefused = true;
        throw new GatewayError("unable", "the interface refuses");
      },
      follows: true,
    };
  }

  private part(place: Place): Part<Value> {
    return {
      of: (value) => value[place],
      effect: (before, after) => effectOf(before[place], after[place]),
      apply: async (value) => {
        this.onStep();
        await nextTurn();
        const answer = this.answers.shift() ?? "takes";
        if (answer !== "refuses") this.kernel[place] = value[place];
        this.onStep();
        await nextTurn();
        if (answer === "takes") this.faulty.delete(place);
        else this.refuse(place);
      },
    };
  }

  private refuse(place: Place): never {
    this.faulty.add(place);
    if (this.change !== null) {
      this.change.failures++;
      this.change.wasRefused = true;
    }
    throw new GatewayError("kernel_refused", "the kernel refuses");
  }
}

function effectOf(before: number, after: number): Effect {
  if (before === after) return "neither";
  return after > before ? "loosens" : "tightens";
}

function onlyCloses({ before, after }: Pick<Change, "before" | "after">): boolean {
  const effects = PLACES.map((place) => effectOf(before[place], after[place]));
  return effects.includes("tightens") && !effects.includes("loosens");
}

/** What a restart may find. */
class Expected {
  value: Value = CLOSED;
  /** One of these is in the database. */
  kept: Value[] = [CLOSED];
  /** What is open since the kernel refused to close it and the disk refused to have it back. Both were told. */
  excused: Value = CLOSED;
  /** What the kernel had when it was last looked at. */
  private seen: Readonly<Record<Place, number>> = CLOSED;

  /** At each moment, whoever may come in between. */
  check(world: World): void {
    const { change, database, kernel, faulty } = world;
    const possible = change === null ? this.kept : [...this.kept, change.after];
    expect(possible).toContainEqual(database);
    for (const place of PLACES) {
      // What a change closes was saved before it, and is open until the change is in force. A full disk may not take it back.
      const stays = kernel[place] <= this.seen[place] || world.isDiskFaulty;
      const isClosing = stays && change !== null && change.after[place] < change.before[place];
      const open = Math.max(database[place], this.excused[place], isClosing ? change.before[place] : 0);
      if (!faulty.has(place)) expect(kernel[place]).toBeLessThanOrEqual(open);
    }
    this.seen = { ...kernel };
  }

  read(database: Value): void {
    this.value = database;
    this.kept = [database];
    this.excused = CLOSED;
  }

  answered(outcome: unknown, change: Change, isSaved: boolean, database: Value): void {
    const { before, after, failures, wasRefused } = change;
    const isTold = outcome === null || outcome instanceof Unsaved;
    // Whatever else fails.
    const isClosed = onlyCloses(change) && !wasRefused;
    const isInForce = isTold || isClosed;
    expect(outcome === null).toBe(failures === 0);
    if (outcome instanceof Unsaved) expect(isSaved).toBe(false);
    // A change that opens something, or closes nothing, is in force only if it is saved.
    if (outcome instanceof Unsaved) expect(onlyCloses(change) || Bun.deepEquals(before, after)).toBe(true);
    if (isClosed && !isTold) expect(messageOf(outcome)).toBe("the interface refuses");
    const staysInDatabase =
      wasRefused && !isInForce && !Bun.deepEquals(before, after) && Bun.deepEquals(database, after);
    expect(outcome instanceof NotTakenBack).toBe(staysInDatabase);
    this.value = isInForce ? after : before;
    this.kept = isSaved ? [this.value] : [...this.kept, before, after];
    this.excused = isSaved ? CLOSED : wasRefused ? before : this.excused;
  }

  rest(world: World, decision: Decision<Value>): void {
    expect(decision.value).toEqual(this.value);
    if (decision.isSaved) expect(world.database).toEqual(this.value);
    for (const place of PLACES)
      if (!world.faulty.has(place)) expect(world.kernel[place]).toBe(this.value[place]);
  }
}

async function play(actions: readonly Action[], Kind: typeof Decision): Promise<void> {
  const [world, expected] = [new World(), new Expected()];
  const decision = world.decision(Kind);
  const moments = new Map<string, World>();
  world.onStep = () => {
    expected.check(world);
    const { database, kernel } = world;
    moments.set(JSON.stringify([database, kernel]), new World(database, kernel));
  };
  const running: Promise<void>[] = [];
  for (const action of actions) {
    running.push(run(action, world, decision, expected));
    if (!action.isLast) continue;
    await Promise.all(running.splice(0));
    expected.rest(world, decision);
  }
  await Promise.all(running);
  world.disk = [];
  await decision.retry();
  expect(decision.isSaved).toBe(true);
  expect(world.database).toEqual(expected.value);
  for (const moment of moments.values()) await restart(moment, Kind);
}

async function run(
  { do: what, to, disk, kernel }: Action,
  world: World,
  decision: Decision<Value>,
  expected: Expected,
): Promise<void> {
  // In the turn of the answer: the next change may begin after it.
  if (what === "load") {
    const read = () => {
      world.isStale = false;
      expected.read(world.database);
    };
    world.isStale = true;
    return decision.reload().then(read, read);
  }
  if (what === "retry") {
    await decision.retry();
    if (decision.isSaved) expected.kept = [expected.value];
    return;
  }
  const answered = (outcome: unknown) => {
    const { change } = world;
    world.change = null;
    if (change === null) throw outcome;
    // What the kernel has refused is taken back from a database that can be written.
    expect(decision.isSaved || world.isDiskFaulty).toBe(true);
    if (decision.isSaved) world.isDiskFaulty = false;
    expected.answered(outcome, change, decision.isSaved, world.database);
  };
  return decision
    .change((before) => {
      // A change that has waited begins with what is read again.
      if (world.isStale) expected.read(world.database);
      world.isStale = false;
      expect(before).toEqual(expected.value);
      const after = { ...before, ...to };
      [world.disk, world.answers] = [[...disk], [...kernel]];
      world.change = { before, after, failures: 0, wasRefused: false };
      return after;
    })
    .then(() => answered(null), answered);
}

async function restart(world: World, Kind: typeof Decision): Promise<void> {
  const decision = world.decision(Kind);
  await decision.reload();
  expect(decision.value).toEqual(world.database);
  expect(decision.isSaved).toBe(true);
  for (const place of PLACES) expect(world.kernel[place]).toBe(world.database[place]);
}

const level = fc.integer({ min: 0, max: 3 });
const action: fc.Arbitrary<Action> = fc.record({
  do: fc.constantFrom("change", "change", "change", "change", "retry", "load"),
  to: fc.record({ front: level, back: level, note: level }, { requiredKeys: [] }),
  disk: fc.array(fc.boolean(), { maxLength: 3 }),
  kernel: fc.array(fc.constantFrom<Answer>("takes", "refuses", "half"), { maxLength: 4 }),
  isLast: fc.boolean(),
});

function property(Kind: typeof Decision) {
  const actions = fc.array(action, { minLength: 1, maxLength: 8 });
  return fc.check(
    fc.asyncProperty(actions, (each) => play(each, Kind)),
    { numRuns: 200, seed: 57 },
  );
}

describe("what another writer writes while a change is under way stays", () => {
  const kernel = { permitted: 0 };
  let database = { permitted: 3, note: "here" };
  let refusing = Promise.withResolvers<void>();
  const fresh = () => {
    database = { permitted: 3, note: "here" };
    refusing = Promise.withResolvers<void>();
    return new Decision({
      store: { atomically: (work) => work() },
      read: () => database,
      write: (_, value) => {
        database = value;
      },
      parts: [
        {
          apply: async ({ permitted }: { permitted: number }) => {
            if (permitted > 3) await refusing.promise;
            if (permitted > 3) throw new Error("refused");
            kernel.permitted = permitted;
          },
          effect: (before, after) => (after.permitted > before.permitted ? "loosens" : "tightens"),
        },
      ],
    });
  };

  test("even if the kernel refuses that change", async () => {
    const decision = fresh();
    const change = decision.change((value) => ({ ...value, permitted: 4 }));
    await nextTurn();
    database = { permitted: 1, note: "restored" };
    const read = decision.reload();
    refusing.resolve();
    await expect(change).rejects.toThrow("refused");
    await read;
    expect([decision.value, database]).toEqual(Array(2).fill({ permitted: 1, note: "restored" }));
    expect(kernel.permitted).toBe(1);
  });

  test("and nothing of that change does, if the other has written nothing here", async () => {
    const decision = fresh();
    const change = decision.change((value) => ({ ...value, permitted: 4 }));
    await nextTurn();
    expect(database.permitted).toBe(4);
    const read = decision.reload();
    refusing.resolve();
    await expect(change).rejects.toThrow("refused");
    await read;
    expect([decision.value, database]).toEqual(Array(2).fill({ permitted: 3, note: "here" }));
    expect(kernel.permitted).toBe(3);
  });

  test("and what only closes is made to it", async () => {
    const decision = fresh();
    const change = decision.change((value) => ({ ...value, permitted: 0 }));
    // The part has it, and it is not saved yet.
    while (decision.value.permitted !== 0) await Promise.resolve();
    database = { permitted: 2, note: "restored" };
    await Promise.all([change, decision.reload()]);
    expect([decision.value, database]).toEqual(Array(2).fill({ permitted: 0, note: "restored" }));
    expect(kernel.permitted).toBe(0);
  });
});

test("whatever fails or kills it: what is answered holds, nothing is open unsaved, nothing saved is lost", async () => {
  expect(fc.defaultReportMessage(await property(Decision))).toBeUndefined();
});

slow.describe("the same property fails for a decision", () => {
  test.each([
    [
      "that takes effect before it is saved",
      "    this.save(before, after);\n    await this.put(before, after, false)",
      "    await this.put(before, after, false).then(() => this.save(before, after))",
    ],
    [
      "that is undone in the database before it is closed",
      "this.current = before;\n    const left",
      "if (isSaved) this.trySave(after, before);\n    this.current = before;\n    const left",
    ],
    [
      "that stays in force when the kernel has refused it",
      "const parts = this.changedParts(before, after).toReversed();",
      "const parts = this.changedParts(before, before);",
    ],
    [
      "that stays in the database when the kernel has refused it",
      "() => (isSaved ? this.takeOut(before, after) : null)",
      "() => null",
    ],
    [
      "that opens what it takes back while the database has it closed",
      'const opens = (part: Part<Value>) => part.effect(before, after) === "tightens";',
      "const opens = (_: Part<Value>) => false;",
    ],
    [
      "that does not tell that a restart would undo the refusal",
      "throw new NotTakenBack(error)",
      "throw error",
    ],
    ["that does not hold unsaved although it only closes", "const fault = holds ?", "const fault = !holds ?"],
    ["that holds unsaved although one of its parts opens", '&& !effects.includes("loosens")', ""],
    ["that does not tell that it is unsaved", "return new Unsaved(fault, this.deps.unsaved)", "return late"],
    [
      "that forgets that it is unsaved",
      "    this.isUnsaved = true;\n    return new Unsaved",
      "    return new Unsaved",
    ],
    [
      "that is undone although what refuses it only follows",
      "if (!holds || part.follows !== true) throw error",
      "throw error",
    ],
    [
      "that stays open although what follows refuses it",
      "if (!holds || part.follows !== true) throw error",
      "if (part.follows !== true) throw error",
    ],
    ["that does not tell what follows refuses", "        late = error;\n", ""],
    ["that forgets what was not saved before it", "this.isUnsaved ? read() : stored", "stored"],
    [
      "that says that it is saved when a write has failed",
      "store.atomically(() => write(known, value));\n    this.isUnsaved = false;",
      "this.isUnsaved = false;\n    store.atomically(() => write(known, value));",
    ],
    [
      "that is answered before it is in force",
      "await this.put(before, after, false).catch(",
      "this.put(before, after, false).catch(() => {});\n    await Promise.resolve().catch(",
    ],
    [
      "that overlaps another one",
      "void this.queue.add(() => work(",
      "void Promise.resolve().then(() => work(",
    ],
    [
      "that keeps what it had when it is read again",
      "this.current = this.read();\n    this.stale",
      "this.isUnsaved = false;\n    this.stale",
    ],
    ["that makes a change to what was there before it is read again", "this.stale = { ready };", ""],
    [
      "that does not apply what was read again",
      "await part.apply(this.current).catch((error: unknown) => refused.push(error));",
      "void part;",
    ],
    [
      "that swallows the kernel's error",
      "    throw error;\n  }\n\n  /** First what was open",
      "    if (isSaved) throw error;\n    return null as never;\n  }\n\n  /** First what was open",
    ],
  ])("%s", async (_, from, to) => {
    const { failed } = await property(await faultyDecision(from, to));
    expect(failed).toBe(true);
  });
});
