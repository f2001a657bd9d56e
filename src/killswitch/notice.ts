import type { Alarm } from "../base/alert.ts";
import { type AlertArgs, type AlertCode, alertText } from "../base/alert-rows.ts";

/**
 * A condition that another program causes and only a person should end. An alert is sent when it begins and when it is
 * over; in between `message` describes it.
 */
export class Notice<Begins extends AlertCode> {
  private current: AlertArgs<Begins> | null = null;

  constructor(
    private readonly alarm: Alarm,
    private readonly begins: Begins,
    /** Raises the alert that it is over. */
    private readonly end: () => void,
  ) {}

  /** A sentence while it lasts, else null. */
  get message(): string | null {
    return this.current === null ? null : alertText(this.begins, this.current);
  }

  set(found: AlertArgs<Begins> | null): void {
    if (Bun.deepEquals(found, this.current)) return;
    this.current = found;
    if (found === null) this.end();
    else this.alarm(this.begins, found);
  }
}
