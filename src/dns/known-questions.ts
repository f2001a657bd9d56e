import { HEADER_BYTES } from "../base/dns-message.ts";
import { type Question, questionIn } from "./question.ts";
import type { ReadyAnswer } from "./ready-answer.ts";

/** What a household asks in some minutes. A device that asks for other names all the time makes the others be read again. */
const MAX_QUESTIONS = 1_024;
/** A longer one has options that are new each time. With their texts and answers, all take 4 MiB at most. */
const MAX_BYTES = 128;
/** The id, which is new each time. */
const ID_BYTES = 2;

/** A question, and what it was answered with last. */
export interface KnownQuestion {
  /** With the id of who has asked it first. */
  readonly question: Question;
  ready: ReadyAnswer | null;
}

/** The questions that were asked before. Reading a message was a quarter of what the answer for a known name costs. */
export class KnownQuestions {
  /** By all bytes but the id, the oldest first. */
  private readonly byBytes = new Map<string, KnownQuestion>();

  get size(): number {
    return this.byBytes.size;
  }

  /** What a message of a client asks, as `questionIn` says. */
  read(message: Uint8Array): KnownQuestion | null {
    const isShort = message.length >= HEADER_BYTES && message.length <= MAX_BYTES;
    const bytes = isShort ? textOf(message) : null;
    const known = bytes === null ? undefined : this.byBytes.get(bytes);
    if (known !== undefined) return known;
    const question = questionIn(message);
    if (question === null) return null;
    const fresh = { question, ready: null };
    if (bytes !== null) this.keep(bytes, fresh);
    return fresh;
  }

  private keep(bytes: string, question: KnownQuestion): void {
    if (this.byBytes.size >= MAX_QUESTIONS) {
      const [oldest = bytes] = this.byBytes.keys();
      this.byBytes.delete(oldest);
    }
    this.byBytes.set(bytes, question);
  }
}

/** A character for each byte. */
function textOf(message: Uint8Array): string {
  return (Buffer.isBuffer(message) ? message : asBuffer(message)).toString("latin1", ID_BYTES);
}

/** The runtime makes the buffer of a short array when it is first asked for it, which takes longer than to read the array. */
function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
