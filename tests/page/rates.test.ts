import { expect, test } from "bun:test";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../../src/dashboard");
const { samplesIn } = await import(join(FOLDER, "earlier.ts"));
const { dataOf } = await import(join(FOLDER, "rates.ts"));

const BEGIN = Date.UTC(2026, 2, 1) / 1_000;
const timeOf = (minute: number) => new Date((BEGIN + minute * 60) * 1_000).toISOString();
/** The gateway ran first in the second minute, and did not run in the fifth and the sixth. */
const PAGE = {
  kept: true,
  points: [
    { at: timeOf(2), rx_bytes: 6_000, tx_bytes: 600 },
    { at: timeOf(7), rx_bytes: 60, tx_bytes: 60 },
  ],
  off: [
    { from: timeOf(0), until: timeOf(1) },
    { from: timeOf(4), until: timeOf(6) },
  ],
  from: timeOf(0),
  to: timeOf(60),
};

test("a graph is blank while the gateway did not run and before it did first, and 0 while it was quiet", () => {
  const [times, received, sent] = dataOf(PAGE, 60, BEGIN + 8 * 60);
  const minutes = times.map((at: number) => Math.floor((at - BEGIN) / 60));
  // The minute before a gap ends where that begins.
  expect(minutes).toEqual([0, 1, 2, 3, 4, 4, 5, 6, 7, 8]);
  expect(received).toEqual([null, 0, 800, 0, 0, null, null, 0, 8, 8]);
  expect(sent).toEqual([null, 0, 80, 0, 0, null, null, 0, 8, 8]);
});

test("the graph of the last minutes begins with the whole minutes that the gateway knows", () => {
  const samples = samplesIn(PAGE, BEGIN + 8 * 60 + 30) as { at: number; rate: { rx: number } | null }[];
  const begins = samples.filter(({ at }) => at % 60 === 0);
  expect(begins.map(({ at }) => (at - BEGIN) / 60)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(begins.map(({ rate }) => rate?.rx ?? null)).toEqual([null, 0, 100, 0, null, null, 0, 1]);
  expect(samplesIn({ ...PAGE, kept: false }, BEGIN + 600)).toEqual([]);
});
