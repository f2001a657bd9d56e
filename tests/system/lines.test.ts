import { expect, test } from "bun:test";
import { readLines } from "../../src/system/lines.ts";

/** What a program prints that is read whenever the reader is ready. */
async function* printed(chunk: string, times: number, ended = () => false): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(chunk);
  for (let count = 0; count < times && !ended(); count++) yield bytes;
}

test("lines come out whole, however the bytes arrive", async () => {
  const pieces = ["one\ntw", "o\n", "", "thr\u00e9", "e\nrest"].map((piece) =>
    new TextEncoder().encode(piece),
  );
  const lines: string[] = [];
  await readLines(
    (async function* () {
      yield* pieces;
    })(),
    (line) => lines.push(line),
  );
  expect(lines).toEqual(["one", "two", "thr\u00e9e"]);
});

test("however much a program prints at once, the event loop goes round after some hundred lines", async () => {
  let sinceTurn = 0;
  let most = 0;
  let turns = setImmediate(function turn() {
    sinceTurn = 0;
    turns = setImmediate(turn);
  });
  let lines = 0;
  await readLines(printed("a line\n".repeat(30_000), 2), () => {
    lines++;
    sinceTurn++;
    most = Math.max(most, sinceTurn);
  });
  clearImmediate(turns);
  expect(lines).toBe(60_000);
  // Two slices may lie between two turns of ours.
  expect(most).toBeLessThanOrEqual(2_000);
});

test("of a flood, so many lines a second are read as the limit says; the rest is dropped, and told", async () => {
  let lines = 0;
  let dropped = 0;
  const start = performance.now();
  const limit = { linesPerSecond: 1_000, onDropped: () => void dropped++ };
  const flood = printed(
    "a line\n".repeat(2_000),
    Number.POSITIVE_INFINITY,
    () => performance.now() - start > 700,
  );
  await readLines(flood, () => lines++, limit);
  expect(lines).toBe(100);
  // Reading pauses each time: the program that prints has to wait.
  expect(dropped).toBeGreaterThan(0);
  expect(dropped).toBeLessThanOrEqual(10);
});

test("what waited during a flood is older than what was looked up since, and is dropped too; then all is read again", async () => {
  const told: string[] = [];
  const limit = { linesPerSecond: 1_000, onDropped: () => void told.push("dropped") };
  const bytes = (text: string) => new TextEncoder().encode(text);
  await readLines(
    (async function* () {
      yield bytes("flood\n".repeat(500));
      yield bytes("old\n");
      yield bytes("new\n");
    })(),
    (line) => told.push(line),
    limit,
  );
  expect(told.filter((each) => each !== "flood")).toEqual(["dropped", "dropped", "new"]);
});

test("a line without end takes no memory", async () => {
  const lines: string[] = [];
  const endless = (async function* () {
    yield* printed("x".repeat(60_000), 5);
    yield new TextEncoder().encode("\nnext\n");
  })();
  await readLines(endless, (line) => lines.push(line));
  expect(lines.map(({ length }) => length)).toEqual([65_536, 4]);
});
