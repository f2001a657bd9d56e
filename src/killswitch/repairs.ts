import type { AlertCode } from "../alert.ts";
import type { Host } from "../system/host.ts";
import { TokenBucket } from "./token-bucket.ts";

/** How often a program that undoes our repairs is answered: so many times at once, then once in so many milliseconds. */
const REPAIRS = { burst: 5, everyMs: 1_000 };
/** A program that has undone nothing for this long has given up; one that only rests does so for less. */
const OVER_AFTER_MS = 30_000;

export type Alarm = (code: AlertCode, message: string) => void;

/** What another program has done to the firewall or to routing. */
export interface Damage {
  layer: "firewall" | "routing";
  /** A sentence for people. */
  message: string;
}

/** Decides when damage is repaired, and tells of it: a fight ends in one message and a bounded rate. */
export class Repairs {
  private readonly bucket = new TokenBucket(REPAIRS.burst, REPAIRS.everyMs);
  private contested = false;
  /** When damage was last seen, on the monotone clock. */
  private damagedAt = 0;
  /** Who is to be called when it is time. */
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly host: Pick<Host, "monotonic" | "sleep">,
    private readonly alarm: Alarm,
  ) {}

  /** Repairs now, or calls `later`, once, when it is time; the layer that is whole holds meanwhile. */
  async repair(damages: readonly Damage[], work: () => Promise<void>, later: () => void): Promise<void> {
    if (damages.length > 0 && !this.mayBegin()) return this.postpone(later);
    if (!this.contested) for (const { layer, message } of damages) this.alarm(`${layer}_altered`, message);
    await work();
    if (this.contested) return;
    for (const { layer } of damages) this.alarm(`${layer}_restored`, `The ${layer} is as it must be again.`);
  }

  private postpone(later: () => void): void {
    if (this.waiting.has(later)) return;
    this.waiting.add(later);
    void this.host.sleep(REPAIRS.everyMs).then(() => {
      this.waiting.delete(later);
      later();
    });
  }

  private mayBegin(): boolean {
    this.damagedAt = this.host.monotonic();
    if (this.bucket.allows(this.damagedAt)) return true;
    if (!this.contested) {
      this.contested = true;
      void this.tellWhenOver();
      this.alarm(
        "protection_contested",
        "Another program undoes each repair of the kill switch, which is now repaired once a second: find that program (a firewall service, a container engine, a script) and stop it.",
      );
    }
    return false;
  }

  private async tellWhenOver(): Promise<void> {
    const left = () => this.damagedAt + OVER_AFTER_MS - this.host.monotonic();
    while (left() > 0) await this.host.sleep(left());
    this.contested = false;
    this.alarm(
      "protection_uncontested",
      `No repair of the kill switch was undone for ${OVER_AFTER_MS / 1_000} s.`,
    );
  }
}
