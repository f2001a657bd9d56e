import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Host } from "../system/host.ts";

/** How often everything is checked, for changes that no event reports. */
const EVERY_MS = 300_000;
/** How soon a failed check is repeated. */
const DOUBT_MS = 5_000;

/** Decides when everything is checked although no event asks for it. */
export class Backstop {
  private checkedAt: number;
  private hasFailed = false;

  constructor(
    private readonly host: Pick<Host, "monotonic">,
    private readonly log: Pick<Log, "warn">,
  ) {
    this.checkedAt = host.monotonic();
  }

  isDue(everyMs = EVERY_MS): boolean {
    return this.host.monotonic() - this.checkedAt >= (this.hasFailed ? DOUBT_MS : everyMs);
  }

  /** To be called when a check begins. */
  checked(): void {
    this.hasFailed = false;
    this.checkedAt = this.host.monotonic();
  }

  /** After a check that failed, everything is checked again soon. */
  doubt(error: unknown): void {
    this.log.warn(messageOf(error));
    this.hasFailed = true;
    this.checkedAt = this.host.monotonic();
  }
}
