import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { Limiter } from "../../src/access/limiter.ts";
import { Clock } from "../fake/clock.ts";

/** What the tests use of the page, whose own types need those of the browser. */
interface Page {
  Turns: new (clock: {
    now(): number;
    sleep(ms: number): Promise<void>;
  }) => {
    take(send: () => Promise<Response>, isUrgent: boolean): Promise<Response>;
  };
}

const { Turns }: Page = await import(join(import.meta.dir, "../../src/dashboard/turns.ts"));

let clock: Clock;
beforeEach(() => {
  clock = new Clock(0, () => {});
});

/** Time goes by until the work is done, or is over. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  void work.finally(() => {
    isDone = true;
  });
  for (let past = 0; past < ms && !isDone; past += STEP_MS) await clock.pass(STEP_MS);
  return isDone;
}
const STEP_MS = 100;

/** A gateway that answers all pages of one machine. */
function gateway() {
  const limiter = new Limiter();
  const answers: number[] = [];
  const fetch = async (): Promise<Response> => {
    const { allowed, remaining } = limiter.take("192.168.77.10", "general", clock.now());
    await clock.sleep(20);
    const status = allowed ? 200 : 429;
    answers.push(status);
    const headers = { "X-RateLimit-Remaining": `${remaining}`, ...(!allowed && { "Retry-After": "1" }) };
    return new Response("{}", { status, headers });
  };
  const refused = () => answers.filter((status) => status === 429).length;
  return { fetch, refused };
}

const PAGES = 4;
const READS = 11;
const all = (send: () => Promise<unknown>) => Promise.all(Array.from({ length: READS }, send));
const pages = (work: () => Promise<unknown>) => Promise.all(Array.from({ length: PAGES }, work));

test("four pages of one machine that all load at once are all answered", async () => {
  const { fetch, refused } = gateway();
  const loaded = pages(() => {
    const turns = new Turns(clock);
    return all(() => turns.take(fetch, false));
  });
  expect(await within(20_000, loaded)).toBe(true);
  expect(refused()).toBeLessThan(PAGES * READS);
});

test("control: pages that repeat what was refused each second are never answered", async () => {
  const { fetch, refused } = gateway();
  let begun = 0;
  const loaded = pages(() =>
    all(async () => {
      // A browser has six connections, and a gateway takes its time.
      begun += 1;
      await clock.sleep((1_000 * begun) / (PAGES * READS));
      while ((await fetch()).status === 429) await clock.sleep(1_000);
    }),
  );
  expect(await within(20_000, loaded)).toBe(false);
  expect(refused()).toBeGreaterThan(PAGES * READS);
});

test("what a person does comes before what the page reads, and a slow answer holds nothing up", async () => {
  const turns = new Turns(clock);
  const order: string[] = [];
  const send = (name: string, ms: number) => async () => {
    order.push(name);
    await clock.sleep(ms);
    return new Response("{}");
  };
  const reads = ["slow", "second", "third"].map((name) =>
    turns.take(send(name, name === "slow" ? 5_000 : 20), false),
  );
  const changed = turns.take(send("change", 20), true);
  // Before the slow one is answered.
  expect(await within(4_000, Promise.all([changed, ...reads.slice(1)]))).toBe(true);
  expect(order).toEqual(["slow", "change", "second", "third"]);
});

test("a request that cannot be sent fails, and the next one is sent", async () => {
  const turns = new Turns(clock);
  const lost = turns.take(() => Promise.reject(new Error("gone")), false);
  const next = turns.take(async () => new Response("{}"), false);
  expect(lost).rejects.toThrow("gone");
  expect(await within(5_000, next)).toBe(true);
  expect((await next).status).toBe(200);
});
