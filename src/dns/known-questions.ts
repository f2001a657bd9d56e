import { HEADER_BYTES } from "../base/dns-message.ts";
import { type Question, questionIn } from "./question.ts";

/** What a household asks in some minutes. A device that asks for other names all the time makes the others be read again. */
const MAX_QUESTIONS = 1_024;
/** A longer one has options that are new each time. With their texts, all take 1 MiB at most. */
const MAX_BYTES = 128;
/** The id, which is new each time. */
const ID_BYTES = 2;

/** The questions that were asked before. Reading a message was a quarter of what the answer for a known name costs. */
export class KnownQuestions {
  /** By all bytes but the id, the oldest first. */
  private readonly byBytes = new Map<string, Question>();

  get size(): number {
    return this.byBytes.size;
  }

  /** What a message of a client asks, as `questionIn` says. */
  read(message: Uint8Array): Question | null {
    if (message.length < HEADER_BYTES || message.length > MAX_BYTES) return questionIn(message);
    const bytes = textOf(message);
    const known = this.byBytes.get(bytes);
    if (known !== undefined) return { ...known, id: ((message[0] ?? 0) << 8) | (message[1] ?? 0) };
    const question = questionIn(message);
    if (question === null) return null;
    if (this.byBytes.size >= MAX_QUESTIONS) {
      const [oldest = bytes] = this.byBytes.keys();
      this.byBytes.delete(oldest);
    }
    this.byBytes.set(bytes, question);
    return question;
  }
}

/** A character for each byte. */
function textOf(message: Uint8Array): string {
  const { buffer, byteOffset, length } = message;
  const bytes = Buffer.isBuffer(message) ? message : Buffer.from(buffer, byteOffset, length);
  return bytes.toString("latin1", ID_BYTES);
}
