import type { Prefix } from "../base/address.ts";
import { type Answer, shorten } from "./answer.ts";
import { bytesOf } from "./cache.ts";
import type { Question } from "./question.ts";
import { staysAtHome } from "./special-names.ts";

/** The answers of nearly all names are shorter, come by fewer other names, and take less memory. */
const [MAX_BYTES, MAX_NAMES, MAX_MEMORY_BYTES] = [512, 8, 2_560];

/**
 * An answer as it was sent, for whoever asks the same bytes again. It has what decided about it: while that is as it was,
 * the answer is, whichever device asks.
 */
export interface ReadyAnswer {
  /** Nobody else has these bytes. */
  message: Uint8Array;
  answer: Answer;
  /** When it came, on the monotonic clock; and how old it was when the message was last written. */
  at: number;
  ageSeconds: number;
  /** The exit by which it came, and the server there. */
  generation: string;
  publicHome: readonly Prefix[];
}

/** Whether only what a `ReadyAnswer` has decides about it. The others are answers about the home, or name other hosts. */
export function canBeReady(
  { name }: Question,
  { message, answer }: Pick<ReadyAnswer, "message" | "answer">,
): boolean {
  return (
    message.length <= MAX_BYTES &&
    answer.names.length <= MAX_NAMES &&
    bytesOf(answer) <= MAX_MEMORY_BYTES &&
    answer.ttlSeconds > 0 &&
    name.includes(".") &&
    !name.endsWith(".arpa") &&
    !staysAtHome(name) &&
    answer.locals.length === 0 &&
    answer.targets.every((target) => target === name)
  );
}

/**
 * The same answer to another message that asks for it; null once its time is over. It is written into the bytes that are
 * kept, where the next one is written, too: a copy would take as long as half of all else.
 */
export function sentAgain(ready: ReadyAnswer, asked: Uint8Array, now: number): Uint8Array | null {
  const { message, answer, at } = ready;
  const age = now - at;
  if (age > 1_000 * answer.ttlSeconds) return null;
  const ageSeconds = Math.floor(age / 1_000);
  if (ageSeconds > ready.ageSeconds) {
    for (const ttlAt of answer.ttlsAt) shorten(message, ttlAt, ageSeconds - ready.ageSeconds);
    ready.ageSeconds = ageSeconds;
  }
  message[0] = asked[0] ?? 0;
  message[1] = asked[1] ?? 0;
  return message;
}
