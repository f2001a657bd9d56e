import { timingSafeEqual } from "node:crypto";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";
import { hashOf, randomText } from "./secret-text.ts";

/** How long a person takes from the terminal to the browser. */
export const PAIRING_MINUTES = 10;
/** 40 bits: five guesses find one of 200 billion codes. */
const CHARACTERS = 8;
const MAX_GUESSES = 5;

interface Code {
  hash: Buffer;
  /** On the monotonic clock, which nobody can set back. */
  until: number;
  guesses: number;
}

/**
 * The code that makes a browser an owner's. There is one at a time. It is only in memory, so a restart ends it: a code that
 * is not known is refused, whatever it was before.
 */
export class Pairing {
  private code: Code | null = null;

  constructor(
    private readonly clock: Pick<Host, "monotonic">,
    /** Called when wrong guesses have ended the code. */
    private readonly onGuessed: (by: string) => void,
  ) {}

  /** A new code, in place of the one before. */
  start(): string {
    const text = randomText(CHARACTERS);
    const until = this.clock.monotonic() + PAIRING_MINUTES * 60_000;
    this.code = { hash: hashOf(text), until, guesses: MAX_GUESSES };
    return `${text.slice(0, CHARACTERS / 2)}-${text.slice(CHARACTERS / 2)}`;
  }

  /** Uses the code up and does the work; if that fails, the code can be used again. `by` is the client's address. */
  async use<T>(given: string, by: string, work: () => Promise<T>): Promise<T> {
    const code = this.taken(given, by);
    try {
      return await work();
    } catch (error) {
      // A name that is refused does not cost another walk to the terminal. A newer code stays.
      this.code ??= code;
      throw error;
    }
  }

  /** From now on nobody else can use it. The time does not depend on whether there is one. */
  private taken(given: string, by: string): Code {
    const { code } = this;
    const isRight = timingSafeEqual(code?.hash ?? NOTHING, hashOf(asPrinted(given)));
    if (code !== null && code.until <= this.clock.monotonic()) this.code = null;
    else if (code !== null && isRight) {
      this.code = null;
      return code;
    } else if (code !== null) this.count(code, by);
    throw refused("code_wrong", { minutes: PAIRING_MINUTES });
  }

  private count(code: Code, by: string): void {
    code.guesses -= 1;
    if (code.guesses > 0) return;
    this.code = null;
    this.onGuessed(by);
  }
}

/** The hash of no text. */
const NOTHING = Buffer.alloc(32);

/** People type a code without its hyphen, in capitals, and with letters that look like the digits. */
function asPrinted(given: string): string {
  return given.toLowerCase().replaceAll(/[\s-]/g, "").replaceAll("o", "0").replaceAll(/[il]/g, "1");
}
