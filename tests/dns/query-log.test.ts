import { expect, test } from "bun:test";
import type { Mac } from "../../src/base/mac.ts";
import { type Answered, QueryLog } from "../../src/dns/query-log.ts";
import { type Question, questionIn } from "../../src/dns/question.ts";
import { FakeHost } from "../fake/host.ts";
import { query } from "./messages.ts";

const TV = "02:00:00:00:00:20" as Mac;
const MINUTE_MS = 60_000;
const MOST = 2_000;

function world() {
  const clock = new FakeHost();
  clock.patient = true;
  const told: (string | null)[] = [];
  const lines: string[] = [];
  const log: QueryLog = new QueryLog({
    clock,
    nameOf: (device) => (device === TV ? "TV" : ""),
    events: { publish: () => void told.push(log.untilText) },
    log: { info: (line) => void lines.push(line) },
  });
  return { clock, log, told, lines };
}

const about = (name: string) => questionIn(query(name)) as Question;
const asked = (answer: Answered["answer"] = "asked"): Answered => ({
  ...{ device: TV, answer },
  exit: { to: "tunnel", name: "main" },
});

test("nothing is kept unless a person has started it, for ten minutes, and then it is forgotten", async () => {
  const { clock, log, told, lines } = world();
  log.note(about("before.example"), asked());
  expect(log.shown()).toEqual({ until: null, queries: [], dropped: 0 });
  log.start();
  log.note(about("www.example.com"), asked());
  log.note(about("ads.example"), { device: null, exit: null, answer: "refused" });
  const shared = { type: "A", at: new Date(clock.now()).toISOString() };
  expect(log.shown().queries).toEqual([
    {
      ...shared,
      ...{ device: TV, device_name: "TV", name: "www.example.com", exit: "main", answer: "asked" },
    },
    { ...shared, ...{ device: null, device_name: "", name: "ads.example", exit: null, answer: "refused" } },
  ]);
  await clock.pass(9 * MINUTE_MS);
  expect(log.shown().queries.length).toBe(2);
  await clock.pass(MINUTE_MS);
  log.note(about("after.example"), asked());
  expect(log.shown()).toEqual({ until: null, queries: [], dropped: 0 });
  expect(told).toEqual([expect.any(String), null]);
  // What was asked is in no other log.
  expect(lines.join()).not.toContain("example");
});

test("it can be ended, and begun again, empty and with all its time", async () => {
  const { clock, log } = world();
  log.start();
  log.note(about("a.example"), asked());
  await clock.pass(5 * MINUTE_MS);
  log.start();
  expect(log.shown().queries).toEqual([]);
  log.note(about("b.example"), asked());
  await clock.pass(6 * MINUTE_MS);
  expect(log.shown().queries.map(({ name }) => name)).toEqual(["b.example"]);
  log.stop();
  expect(log.shown()).toEqual({ until: null, queries: [], dropped: 0 });
  log.stop();
});

test("it has the last of many queries, and says how many are missing", () => {
  const { log } = world();
  log.start();
  for (let number = 0; number < MOST + 5; number += 1) log.note(about(`n${number}.example`), asked("cached"));
  const { queries, dropped } = log.shown();
  expect([queries.length, queries[0]?.name, dropped]).toEqual([MOST, "n5.example", 5]);
});
