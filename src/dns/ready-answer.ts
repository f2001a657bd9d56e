import type { Prefix } from "../base/address.ts";
import { type Answer, aged } from "./answer.ts";
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
  message: Uint8Array;
  answer: Answer;
  /** When it came, on the monotonic clock; and how old it was when the message was written. */
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

/** The same answer to another message that asks for it; null once its time is over. */
export function sentAgain(ready: ReadyAnswer, asked: Uint8Array, now: number): Uint8Array | null {
  const { message, answer, at, ageSeconds } = ready;
  const age = now - at;
  if (age > 1_000 * answer.ttlSeconds) return null;
  const copy = aged(message, answer.ttlsAt, Math.floor(age / 1_000) - ageSeconds);
  copy[0] = asked[0] ?? 0;
  copy[1] = asked[1] ?? 0;
  return copy;
}
