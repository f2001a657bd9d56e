import { expect, test } from "bun:test";
import { join } from "node:path";
import { Limiter } from "../../src/access/limiter.ts";

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

/** Seconds of the pages pass that much faster. */
const SPEED = 20;
const clock = {
  now: () => performance.now() * SPEED,
  sleep: (ms: number) => Bun.sleep(ms / SPEED),
};

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
  const start = clock.now();
  await pages(() => {
    const turns = new Turns(clock);
    return all(() => turns.take(fetch, false));
  });
  expect(clock.now() - start).toBeLessThan(20_000);
  expect(refused()).toBeLessThan(PAGES * READS);
});

test("control: pages that repeat what was refused each second are never answered", async () => {
  const { fetch, refused } = gateway();
  const end = clock.now() + 10_000;
  let lost = 0;
  await pages(() =>
    all(async () => {
      // A browser has six connections, and a gateway takes its time.
      await clock.sleep(Math.random() * 1_000);
      while ((await fetch()).status === 429 && clock.now() < end) await clock.sleep(1_000);
      if (clock.now() >= end) lost += 1;
    }),
  );
  expect(lost).toBeGreaterThan(0);
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
  await turns.take(send("change", 20), true);
  expect(order).toEqual(["slow", "change"]);
  await Promise.all(reads.slice(1));
  expect(order).toEqual(["slow", "change", "second", "third"]);
});

test("a request that cannot be sent fails, and the next one is sent", async () => {
  const turns = new Turns(clock);
  const lost = turns.take(() => Promise.reject(new Error("gone")), false);
  const next = turns.take(async () => new Response("{}"), false);
  expect(lost).rejects.toThrow("gone");
  expect((await next).status).toBe(200);
});
