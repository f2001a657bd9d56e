import { expect, test } from "bun:test";
import fc from "fast-check";
import { Limiter } from "../../src/access/limiter.ts";
import { slow } from "../fast.ts";

test("each client is counted separately", () => {
  const limiter = new Limiter();
  for (let i = 0; i < 10; i++) limiter.take("192.168.1.2", "general", 0);
  expect(limiter.take("192.168.1.2", "general", 0).allowed).toBe(false);
  expect(limiter.take("192.168.1.3", "general", 0).allowed).toBe(true);
});

test("peeking counts nothing and stores no client", () => {
  const limiter = new Limiter();
  const fresh = { limit: 10, remaining: 10, resetAt: 5, allowed: true };
  expect(limiter.peek("192.168.1.2", "general", 5)).toEqual(fresh);
  expect(limiter.size).toBe(0);
  limiter.take("192.168.1.2", "connection", 6);
  const used = { limit: 5, remaining: 4, resetAt: 1_006, allowed: true };
  expect(limiter.peek("192.168.1.2", "connection", 7)).toEqual(used);
  expect(limiter.peek("192.168.1.2", "connection", 7)).toEqual(used);
});

test("a client gets exactly its limit within any second", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 100 });
  fc.assert(
    fc.property(gaps, (waits) => {
      const limiter = new Limiter();
      const asked: number[] = [];
      let now = 0;
      for (const wait of waits) {
        now += wait;
        const before = asked.filter((time) => time > now - 1_000).length;
        expect(limiter.take("a", "general", now).allowed).toBe(before < 10);
        asked.push(now);
      }
    }),
  );
});

const ipv4 = (number: number) => [10, (number >> 16) & 255, (number >> 8) & 255, number & 255].join(".");

slow.test(
  "a million addresses take bounded memory and do not reset another client's count",
  () => {
    const limiter = new Limiter();
    for (let i = 0; i < 11; i++) limiter.take("192.168.1.2", "general", 0);
    for (let i = 0; i < 1_000_000; i++) limiter.take(ipv4(i), "general", 500);
    expect(limiter.size).toBe(10_000);
    expect(limiter.take("192.168.1.2", "general", 999).allowed).toBe(false);
  },
  180_000,
);

test("clients for which there is no room share one limit, and keep its count when there is room again", () => {
  const limiter = new Limiter();
  for (let i = 0; i < 10_000; i++) limiter.take(ipv4(i), "general", 0);
  const allowed = Array.from({ length: 20 }, () => limiter.take("192.168.1.2", "general", 500).allowed);
  expect(allowed).toEqual([...Array(10).fill(true), ...Array(10).fill(false)]);
  expect(limiter.take("192.168.1.3", "general", 500).allowed).toBe(false);
  expect(limiter.peek("192.168.1.4", "general", 500).allowed).toBe(false);
  // At 1,000 the others are forgotten; a client from the crowd is still over the limit.
  expect(limiter.take("192.168.1.2", "general", 1_000).allowed).toBe(false);
  expect(limiter.take("192.168.1.2", "general", 2_000).allowed).toBe(true);
});

test("idle clients are forgotten", () => {
  const limiter = new Limiter();
  for (let i = 0; i < 5_000; i++) limiter.take(ipv4(i), "general", 0);
  limiter.take("192.168.1.2", "general", 1_000);
  expect(limiter.size).toBe(1);
});
