import { expect, test } from "bun:test";
import { type Move, Requests } from "../../src/tunnel/requests.ts";
import { ONE, TWO } from "./gateway.ts";

/** A move of one turn, which ends when its request is interrupted, with the interruption's words. */
const untilInterrupted =
  (requests: Requests, ended = () => {}): Move =>
  (signal) =>
    requests.add(() =>
      new Promise<void>((_, reject) => {
        signal.throwIfAborted();
        signal.addEventListener("abort", () => reject(signal.reason));
      }).finally(ended),
    );

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: Error) => error.message,
  );

test("a second connect to the same server shares the outcome of the first", async () => {
  const requests = new Requests();
  let moves = 0;
  const move: Move = async (_, answer) => {
    moves += 1;
    answer();
  };
  const first = requests.connect([ONE], move);
  expect(requests.connect([{ ...ONE }], move)).toBe(first);
  await first;
  await requests.stop();
  expect([moves, requests.wanted]).toEqual([1, null]);
});

test("a connect to the same targets with another wish when to go back is another one", async () => {
  const requests = new Requests();
  const first = outcomeOf(
    requests.connect([ONE, TWO], untilInterrupted(requests), { back_after_minutes: 5 }),
  );
  const second = requests.connect([ONE, TWO], async (_, answer) => answer(), { back_after_minutes: 7 });
  expect([await first, await outcomeOf(second)]).toEqual(["interrupted by a connect to one", "done"]);
});

test("a connect to another server interrupts the first, and counts from then on", async () => {
  const requests = new Requests();
  const first = outcomeOf(requests.connect([ONE], untilInterrupted(requests)));
  const second = requests.connect([TWO], async (_, answer) => answer());
  expect(requests.wanted?.[0]?.name).toBe("two");
  expect([await first, await outcomeOf(second), requests.wanted]).toEqual([
    "interrupted by a connect to two",
    "done",
    null,
  ]);
});

test("a disconnect comes after what it interrupts, and the same connect is a new one then", async () => {
  const requests = new Requests();
  const order: string[] = [];
  const first = requests.connect(
    [ONE],
    untilInterrupted(requests, () => order.push("interrupted")),
  );
  const end = requests.disconnect(async () => void order.push("disconnected"));
  const again = requests.connect([ONE], (_, answer) =>
    requests.add(async () => {
      order.push("connected");
      answer();
    }),
  );
  expect(await outcomeOf(first)).toBe("interrupted by a disconnect");
  await Promise.all([end, again]);
  expect(order).toEqual(["interrupted", "disconnected", "connected"]);
});

test("a connect is answered while the rest of its work still has its turn", async () => {
  const requests = new Requests();
  const rest = Promise.withResolvers<void>();
  const order: string[] = [];
  const connected = requests.connect([ONE], (_, answer) =>
    requests.add(async () => {
      answer();
      await rest.promise;
      order.push("rest");
    }),
  );
  const next = requests.add(async () => void order.push("next"));
  await connected;
  expect([requests.wanted?.[0]?.name, order]).toEqual(["one", []]);
  rest.resolve();
  await next;
  expect(order).toEqual(["rest", "next"]);
});

test("work beside requests does not begin after an interruption; other work does", async () => {
  const requests = new Requests();
  const begun: string[] = [];
  const busy = requests.add(() => Bun.sleep(1));
  const beside = outcomeOf(requests.beside(async () => void begun.push("beside")));
  const other = requests.add(async () => void begun.push("other"));
  const stopped = requests.stop();
  await Promise.all([busy, other, stopped]);
  expect([await beside, begun]).toEqual(["the service stops", ["other"]]);
});
