import { expect, test } from "bun:test";
import fc from "fast-check";
import { Decision, type Effect } from "../../src/base/decision.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { nextTurn, Queue } from "../../src/base/queue.ts";
import { Unsaved } from "../../src/base/unsaved.ts";
import { slow } from "../fast.ts";
import { faultyDecision } from "./faulty-decision.ts";

/** Two devices, each with an exit and a rate: the higher, the more can pass. */
const FIELDS = ["exitA", "exitB", "rateA", "rateB"] as const;
type Field = (typeof FIELDS)[number];
type Value = Readonly<Record<Field, number>>;
type Place = "exit" | "rate";
const CLOSED: Value = { exitA: 0, exitB: 0, rateA: 0, rateB: 0 };

/** What a place does: `half` is an error after which it has the value. */
type Answer = "takes" | "refuses" | "half";

interface Action {
  to: Partial<Value>;
  /** How many turns each call takes, and what comes of it. */
  rates: { turns: number; answer: Answer }[];
  exits: Answer[];
  disk: boolean[];
  isLast: boolean;
}

class Machine {
  database: Value = CLOSED;
  readonly kernel: Record<Field, number> = { ...CLOSED };
  readonly faulty = new Set<Place>();
  /** What it was told last. */
  readonly told: Record<Field, number> = { ...CLOSED };
  disk: boolean[] = [];
  /** What it did not take back may be open all the same. */
  private isDiskFaulty = false;
  isUnreadable = false;
  exits: Answer[] = [];
  rates: Action["rates"] = [];
  /** Set while the place of rates does not answer. */
  hang: Promise<void> | null = null;
  /** What the database has had since nobody has waited for anything. */
  kept: Value[] = [CLOSED];
  private readonly queue = new Queue();

  decision(Kind: typeof Decision): Decision<Value> {
    let written: Value = CLOSED;
    return new Kind<Value>({
      store: {
        atomically: (work) => {
          written = this.database;
          work();
          this.isDiskFaulty = this.disk.shift() === false;
          if (this.isDiskFaulty) throw new GatewayError("storage_full", "the disk is full");
          this.database = written;
          this.kept.push(written);
        },
      },
      read: () => {
        if (this.isUnreadable) throw new GatewayError("unable", "the database cannot be read");
        return { ...this.database };
      },
      write: (stored, value) => {
        for (const field of FIELDS)
          if (stored[field] !== value[field]) written = { ...written, [field]: value[field] };
      },
      parts: [
        {
          of: ({ exitA, exitB }) => [exitA, exitB],
          apply: (value) => this.take("exit", value, 1, this.exits.shift()),
          effect: (before, after) => effectOf("exit", before, after),
        },
        {
          of: ({ rateA, rateB }) => [rateA, rateB],
          apply: (value) =>
            this.queue.add(async () => {
              await this.hang;
              const { turns, answer } = this.rates.shift() ?? { turns: 1, answer: "takes" };
              await this.take("rate", value, turns, answer);
            }),
          effect: (before, after) => effectOf("rate", before, after),
          isSlow: true,
        },
      ],
      undo: (value, before, after) => {
        const undone = FIELDS.filter(
          (field) => before[field] !== after[field] && value[field] === after[field],
        );
        return { ...value, ...Object.fromEntries(undone.map((field) => [field, before[field]])) };
      },
    });
  }

  private async take(place: Place, value: Value, turns: number, answer: Answer = "takes"): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    const fields = FIELDS.filter((field) => field.startsWith(place));
    // One that falls has to fall before it is removed from the database, and others rise with it.
    const onlyRises =
      place === "exit" && !this.isDiskFaulty && fields.every((field) => value[field] >= this.kernel[field]);
    for (const field of fields) {
      const rises = onlyRises && value[field] > this.kernel[field];
      this.told[field] = value[field];
      if (answer !== "refuses") this.kernel[field] = value[field];
      // Whoever pulls the plug now finds nothing open that was not saved.
      const open = rises ? this.database[field] : Math.max(...this.kept.map((kept) => kept[field]));
      if (!this.faulty.has(place)) expect(this.kernel[field]).toBeLessThanOrEqual(open);
    }
    if (answer === "takes") this.faulty.delete(place);
    else this.faulty.add(place);
    if (answer !== "takes") throw new GatewayError("kernel_refused", "the kernel refuses");
  }
}

function effectOf(place: Place, before: Value, after: Value): Effect {
  const fields = FIELDS.filter((field) => field.startsWith(place));
  if (fields.some((field) => after[field] > before[field])) return "loosens";
  return fields.some((field) => after[field] < before[field]) ? "tightens" : "neither";
}

async function play(actions: readonly Action[], Kind: typeof Decision): Promise<void> {
  const machine = new Machine();
  const decision = machine.decision(Kind);
  const accepted: Partial<Value>[] = [CLOSED];
  const running: Promise<void>[] = [];
  for (const [index, { to, rates, exits, disk, isLast }] of actions.entries()) {
    const at = index + 1;
    [machine.rates, machine.exits, machine.disk] = [[...rates], [...exits], [...disk]];
    running.push(
      decision
        .change((value) => ({ ...value, ...to }))
        .catch((error) => {
          if (!(error instanceof Unsaved)) throw error;
        })
        .then(
          () => {
            accepted[at] = to;
          },
          (error) => expect(error).toBeInstanceOf(GatewayError),
        ),
    );
    if (!isLast) continue;
    await Promise.all(running.splice(0));
    atRest(machine, decision, accepted);
  }
  await Promise.all(running);
  [machine.rates, machine.exits, machine.disk] = [[], [], []];
  await decision.retry();
  expect(machine.database).toEqual(decision.value);
  atRest(machine, decision, accepted);
}

/** What was answered holds, unless another change has taken its place, and what was refused has left nothing. */
function atRest(machine: Machine, decision: Decision<Value>, accepted: readonly Partial<Value>[]): void {
  const { value, isSaved } = decision;
  if (isSaved) expect(machine.database).toEqual(value);
  expect(machine.told).toEqual(value);
  for (const field of FIELDS) {
    const [place] = field.split(/[AB]/) as [Place];
    if (!machine.faulty.has(place)) expect(machine.kernel[field]).toBe(value[field]);
    // However long each has waited.
    expect(value[field]).toBe(accepted.flatMap((each) => each[field] ?? []).at(-1) as number);
  }
  if (isSaved) machine.kept = [machine.database, value];
}

const level = fc.integer({ min: 0, max: 3 });
const answer = fc.constantFrom<Answer>("takes", "takes", "refuses", "half");
const action: fc.Arbitrary<Action> = fc.record({
  to: fc.record({ exitA: level, exitB: level, rateA: level, rateB: level }, { requiredKeys: [] }),
  rates: fc.array(fc.record({ turns: fc.integer({ min: 1, max: 9 }), answer }), { maxLength: 3 }),
  exits: fc.array(answer, { maxLength: 3 }),
  disk: fc.array(fc.boolean(), { maxLength: 3 }),
  isLast: fc.boolean(),
});

function property(Kind: typeof Decision) {
  const actions = fc.array(action, { minLength: 1, maxLength: 8 });
  return fc.check(
    fc.asyncProperty(actions, (each) => play(each, Kind)),
    { numRuns: 300, seed: 57 },
  );
}

test("however long a slow part takes and whatever it refuses, a change is made whole or not at all", async () => {
  expect(fc.defaultReportMessage(await property(Decision))).toBeUndefined();
});

test("what closes elsewhere waits for no slow part that hangs, even if it has just been given the opposite", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  await decision.change((value) => ({ ...value, exitA: 3, exitB: 3 }));
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const whole = decision.change((value) => ({ ...value, exitA: 2, rateA: 1 }));
  await decision.change((value) => ({ ...value, exitB: 0 }));
  await decision.change((value) => ({ ...value, exitA: 0 }));
  expect(machine.kernel).toEqual({ exitA: 0, exitB: 0, rateA: 0, rateB: 0 });
  machine.rates = [{ turns: 1, answer: "refuses" }];
  hang.resolve();
  await expect(whole).rejects.toThrow("the kernel refuses");
  expect([machine.database, machine.kernel]).toEqual([CLOSED, CLOSED]);
});

test("what repeats a change that is under way is answered with it, because it may be taken back", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  await decision.change((value) => ({ ...value, exitA: 3 }));
  const whole = decision.change((value) => ({ ...value, exitA: 0, rateA: 1 }));
  const repeated = decision.change((value) => ({ ...value, exitA: 0 }));
  machine.rates = [{ turns: 1, answer: "refuses" }];
  hang.resolve();
  await expect(whole).rejects.toThrow("the kernel refuses");
  await repeated;
  expect(machine.kernel.exitA).toBe(0);
});

test("what takes from all who have it closes at once, even from one whose change is under way", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  await decision.change((value) => ({ ...value, exitA: 1 }));
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const whole = decision.change((value) => ({ ...value, exitA: 3, rateA: 1 }));
  const withdrawn = decision.change((value) => (value.exitA === 3 ? { ...value, exitA: 0 } : { ...value }));
  await decision.change((value) => ({ ...value, exitB: 1 }));
  expect([machine.kernel.exitA, machine.database.exitA]).toEqual([0, 0]);
  machine.rates = [{ turns: 1, answer: "refuses" }];
  hang.resolve();
  await expect(whole).rejects.toThrow("the kernel refuses");
  await withdrawn;
  expect([machine.database, machine.kernel]).toEqual([
    { ...CLOSED, exitB: 1 },
    { ...CLOSED, exitB: 1 },
  ]);
});

test("what was closed stays closed, and the newer limit counts, whatever waited since before", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, exitA: 1, rateA: 1 }));
  const waiting = decision.change((value) => ({ ...value, exitA: 3, rateA: 2 }));
  const newer = decision.change((value) => ({ ...value, rateA: 3 }));
  await decision.change((value) => ({ ...value, exitA: 0 }));
  hang.resolve();
  await Promise.all([first, waiting, newer]);
  expect([machine.database, machine.kernel]).toEqual([
    { ...CLOSED, rateA: 3 },
    { ...CLOSED, rateA: 3 },
  ]);
});

test("what is possible only after a change that is under way waits for it", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, exitA: 1, rateA: 1 }));
  const second = decision.change((value) => {
    if (value.exitA !== 1) throw new GatewayError("bad_request", "exitA: must be 1");
    return { ...value, exitB: 1 };
  });
  await decision.change((value) => value);
  hang.resolve();
  await Promise.all([first, second]);
  expect(machine.kernel).toEqual({ exitA: 1, exitB: 1, rateA: 1, rateB: 0 });
});

test("what has gone ahead of a change that waits and was refused is not made again with it", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  const [hang, later] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, rateA: 1 }));
  const waiting = decision.change((value) => ({ ...value, rateA: 2 }));
  const elsewhere = decision.change((value) => ({ ...value, exitB: 1 }));
  const refused = decision.change(async (value) => {
    // The first has been answered by then, and `waiting` is behind this one.
    if (value.rateA === 1) await later.promise;
    return { ...value, exitA: 1, rateA: 3 };
  });
  await elsewhere;
  machine.rates = [
    { turns: 1, answer: "takes" },
    { turns: 1, answer: "refuses" },
  ];
  hang.resolve();
  await first;
  later.resolve();
  await expect(refused).rejects.toThrow("the kernel refuses");
  await waiting;
  expect([machine.database, machine.kernel]).toEqual([
    { ...CLOSED, exitB: 1, rateA: 2 },
    { ...CLOSED, exitB: 1, rateA: 2 },
  ]);
});

test("what was decided and changed since does not come back with a change that waited", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  await decision.change((value) => ({ ...value, exitB: 9 }));
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, rateA: 1 }));
  const waiting = decision.change((value) => ({ ...value, rateA: 2 }));
  await decision.change((value) => ({ ...value, exitA: 1 }));
  await decision.change((value) => {
    // As long as it is permitted.
    if (value.exitB !== 9) throw new GatewayError("bad_request", "exitA: is not permitted");
    return { ...value, exitA: 2 };
  });
  // The permission is withdrawn, and what needs it with it.
  await decision.change((value) => ({ ...value, exitA: value.exitA === 2 ? 0 : value.exitA, exitB: 0 }));
  hang.resolve();
  await Promise.all([first, waiting]);
  expect([machine.database, machine.kernel]).toEqual([
    { ...CLOSED, rateA: 2 },
    { ...CLOSED, rateA: 2 },
  ]);
});

test("what a later change has closed stays closed, even if something else that it decided was changed since", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  let isPermitted = true;
  await decision.change((value) => ({ ...value, exitA: 1, exitB: 2 }));
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, rateA: 1 }));
  const waiting = decision.change((value) => ({ ...value, exitA: 3, rateA: 2 }));
  // It closes one, and decides about another.
  await decision.change((value) => ({ ...value, exitA: 0, exitB: 1 }));
  await decision.change((value) => {
    if (!isPermitted) throw new GatewayError("bad_request", "exitB: is not permitted");
    return { ...value, exitB: 2 };
  });
  await decision.change((value) => ({ ...value, exitB: value.exitB === 2 ? 0 : value.exitB }));
  isPermitted = false;
  hang.resolve();
  await Promise.all([first, waiting]);
  expect([machine.database, machine.kernel]).toEqual([
    { ...CLOSED, rateA: 2 },
    { ...CLOSED, rateA: 2 },
  ]);
});

test.each([true, false])(
  "many that have gone ahead are made again in many turns: all stand %p",
  async (doAllStand) => {
    const machine = new Machine();
    const decision = machine.decision(Decision);
    const hang = Promise.withResolvers<void>();
    machine.hang = hang.promise;
    const first = decision.change((value) => ({ ...value, rateA: 1 }));
    const waiting = decision.change((value) => ({ ...value, rateA: 2 }));
    let [inTurn, most, isOver] = [0, 0, false];
    for (let exit = 1; exit <= 200; exit++)
      await decision.change((value) => {
        inTurn += 1;
        // With the last one, those before it cannot be repeated.
        if (!doAllStand && exit > 1 && value.exitB === 1)
          throw new GatewayError("bad_request", "exitA: no more");
        return { ...value, exitA: exit, exitB: exit === 200 ? 1 : 0 };
      });
    inTurn = 0;
    const counted = (async () => {
      for (; !isOver; await nextTurn()) {
        most = Math.max(most, inTurn);
        inTurn = 0;
      }
    })();
    hang.resolve();
    await Promise.all([first, waiting]);
    isOver = true;
    await counted;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(40);
  },
);

test("what a restore has taken away does not come back with a change that begins as it comes", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  await decision.change((value) => ({ ...value, exitB: 9 }));
  const hang = Promise.withResolvers<void>();
  machine.hang = hang.promise;
  const first = decision.change((value) => ({ ...value, rateA: 1 }));
  let calls = 0;
  const restored = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const waiting = decision.change(async (value) => {
    calls += 1;
    if (value.rateA === 1 && value.exitA === 2 && isAnswered) {
      begun.resolve();
      await restored.promise;
    }
    return { ...value, exitB: 9, rateA: 2 };
  });
  let isAnswered = false;
  await decision.change((value) => {
    if (value.exitB !== 9) throw new GatewayError("bad_request", "exitA: is not permitted");
    return { ...value, exitA: 2 };
  });
  isAnswered = true;
  hang.resolve();
  await first;
  await begun.promise;
  machine.database = CLOSED;
  machine.kept.push(CLOSED);
  const read = decision.reload();
  restored.resolve();
  await Promise.all([waiting, read]);
  expect(calls).toBeGreaterThan(1);
  expect(machine.database).toEqual({ ...CLOSED, exitB: 9, rateA: 2 });
  expect(machine.kernel).toEqual({ ...CLOSED, exitB: 9, rateA: 2 });
});

test("what no change may be taken back after waits for one that begins before it", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  await decision.change((value) => ({ ...value, exitA: 1 }));
  machine.rates = [{ turns: 9, answer: "refuses" }];
  const whole = decision.change((value) => ({ ...value, exitA: 0, rateA: 1 }));
  const seen = decision.between(() => decision.value.exitA);
  await expect(whole).rejects.toThrow("the kernel refuses");
  expect(await seen).toBe(1);
});

test("what no change may overlap runs after what another writer has written could not be read at first", async () => {
  const machine = new Machine();
  const decision = machine.decision(Decision);
  machine.database = { ...CLOSED, exitA: 1 };
  machine.kept.push(machine.database);
  machine.isUnreadable = true;
  await expect(decision.reload()).rejects.toThrow("cannot be read");
  await expect(decision.between(() => decision.value.exitA)).rejects.toThrow("cannot be read");
  machine.isUnreadable = false;
  expect(await decision.between(() => decision.value.exitA)).toBe(1);
});

slow.describe("the same property fails for a decision", () => {
  test.each([
    [
      "that forgets what has gone ahead of a change that waits",
      "if (number < wanted.number) later.add(wanted);",
      "void [number, later];",
    ],
    [
      "that does not take back what a slow part refuses",
      "await this.queue.add(() => this.takeBack(before, after));",
      "",
    ],
    [
      "that goes ahead of what it depends on",
      "pending !== null && !(await this.isApart(pending, wanted, before, after))",
      "pending === null && !pending",
    ],
    [
      "that forgets to save what it has taken back",
      "    this.isUnsaved = true;\n    await this.putBack",
      "    await this.putBack",
    ],
    [
      "that opens what it takes back while the database has it closed",
      'const opens = (part: Part<Value>) => part.effect(before, after) === "tightens";',
      "const opens = (_: Part<Value>) => false;",
    ],
    [
      "that takes back only in the database",
      "await this.putBack(this.current, present, () => this.saveRest());",
      "",
    ],
    [
      "that leaves the slow part with what it has refused",
      "await Promise.allSettled(parts.map((part) => part.apply(this.current)));",
      "",
    ],
    [
      "that answers before a slow part has",
      "if (fault === null) return answer(ended);",
      "ended?.catch(() => {});\n    if (fault === null) return answer();",
    ],
  ])("%s", async (_, from, to) => {
    const { failed } = await property(await faultyDecision(from, to));
    expect(failed).toBe(true);
  });
});
