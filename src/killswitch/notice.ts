import type { AlertCode } from "../alert.ts";
import type { Alarm } from "./repairs.ts";

interface Words {
  begins: AlertCode;
  ends: AlertCode;
  /** A sentence that says that it is over. */
  over: string;
}

/**
 * What another program does and only a person should undo: told once when it begins and once when it is over, and
 * in between to everyone who asks.
 */
export class Notice {
  private current: string | null = null;

  constructor(
    private readonly alarm: Alarm,
    private readonly words: Words,
  ) {}

  /** A sentence while it lasts, else null. */
  get message(): string | null {
    return this.current;
  }

  set(message: string | null): void {
    if (message === this.current) return;
    this.current = message;
    const { begins, ends, over } = this.words;
    if (message === null) this.alarm(ends, over);
    else this.alarm(begins, message);
  }
}
