import { messageOf } from "./errors.ts";
import type { Log } from "./log.ts";

/** Something that fails again and again, such as a write to a full disk: the log gets it once, until it works again. */
export class Fault {
  /** Whether the last attempt has failed. */
  lasts = false;

  /** `what` is the beginning of the sentence for the log. */
  constructor(private readonly what: string) {}

  /** Whether the work was done. */
  attempt(log: Pick<Log, "warn">, work: () => void): boolean {
    try {
      work();
      this.lasts = false;
    } catch (error) {
      this.report(log, error);
    }
    return !this.lasts;
  }

  async attemptAsync(log: Pick<Log, "warn">, work: () => Promise<unknown>): Promise<void> {
    await work().then(
      () => {
        this.lasts = false;
      },
      (error: unknown) => this.report(log, error),
    );
  }

  private report(log: Pick<Log, "warn">, error: unknown): void {
    if (!this.lasts) log.warn(`${this.what}: ${messageOf(error)}`);
    this.lasts = true;
  }
}
