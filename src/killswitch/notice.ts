import type { Alarm, AlertCode } from "../base/alert.ts";

interface Words {
  begins: AlertCode;
  ends: AlertCode;
  /** A sentence for people when it is over. */
  over: string;
}

/**
 * A condition that another program causes and only a person should end. An alert is sent when it begins and when it is
 * over; in between `message` describes it.
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
