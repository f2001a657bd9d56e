import { expect, test } from "bun:test";
import { type Answer, answerIn } from "../../src/dns/answer.ts";
import { Cache } from "../../src/dns/cache.ts";
import { queryFor, questionAbout } from "../../src/dns/question.ts";
import { canBeReady } from "../../src/dns/ready-answer.ts";

const MAX_BYTES = 4 * 2 ** 20;
/** Three labels of bytes that take four characters each as text. */
const LONG = [60, 60, 60].flatMap((length) => [length, ...Array<number>(length).fill(0x07)]);

function number16(number: number): number[] {
  return [number >> 8, number & 0xff];
}

/** An answer whose names lead from one to the next, each of which is a label and a pointer to the question's name. */
function chainOf(links: number): Answer {
  const asked = questionAbout("a.example", 1);
  const bytes = Uint8Array.from([...LONG, 0, 0, 1, 0, 1]);
  const query = queryFor({ ...asked, bytes }, "literal");
  const message = [...query];
  for (let link = 0, owner = 12; link < links; link++) {
    const data = [1, 0x61 + (link % 26), ...(link < 26 ? [] : [1, 0x61 + Math.floor(link / 26)]), 0xc0, 12];
    message.push(...[0xc0 | (owner >> 8), owner & 0xff, 0, 5, 0, 1, 0, 0, 1, 44], ...number16(data.length));
    owner = message.length;
    message.push(...data);
  }
  const answer = Uint8Array.from(message);
  answer.set([0x81, 0x80, 0, 1, ...number16(links)], 2);
  return answerIn(answer, query) as Answer;
}

/** What the texts of an answer take at least. */
function charactersIn({ names }: Answer): number {
  return names.reduce((sum, { length }) => sum + length, 0);
}

test("answers whose names are compressed take no more memory than others", () => {
  const answer = chainOf(63);
  expect(answer.names).toHaveLength(64);
  // Else the test would say nothing: what comes over the wire is small.
  expect(charactersIn(answer)).toBeGreaterThan(20 * answer.message.length);
  const cache = new Cache(() => 0);
  for (let number = 0; number < 8_192; number++) cache.keep(String(number), answer);
  expect(cache.size).toBeGreaterThan(10);
  expect(cache.size * charactersIn(answer)).toBeLessThan(MAX_BYTES);
});

test("a short answer whose names take much memory is not kept for whoever asks the same bytes", () => {
  const [short, long] = [chainOf(1), chainOf(7)];
  expect(long.message.length).toBeLessThan(512);
  const question = questionAbout("a.example", 1);
  expect(canBeReady(question, { message: long.message, answer: long })).toBeFalse();
  // Positive control.
  expect(canBeReady(question, { message: short.message, answer: short })).toBeTrue();
});
