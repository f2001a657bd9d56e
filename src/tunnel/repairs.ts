import type { Host } from "../system/host.ts";
import type { AlertCode } from "./alert.ts";
import { Pace } from "./pace.ts";

/** How often a program that undoes our repairs is answered: so many times at once, then once in so many milliseconds. */
const REPAIRS = { burst: 5, everyMs: 1_000 };

export type Alarm = (code: AlertCode, message: string) => void;

/** What another program has done to the firewall or to routing. */
export interface Damage {
  layer: "firewall" | "routing";
  /** A sentence for people. */
  message: string;
}

/** Decides when damage is repaired, and tells of it: a fight ends in one message and a bounded rate. */
export class Repairs {
  private readonly pace = new Pace(REPAIRS.burst, REPAIRS.everyMs);
  private contested = false;
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
    const now = this.host.monotonic();
    if (this.contested && this.pace.isRested(now)) this.contested = false;
    if (this.pace.allows(now)) return true;
    if (!this.contested) {
      this.contested = true;
      this.alarm(
        "protection_contested",
        "Another program undoes each repair of the kill switch, which is now repaired once a second: find that program (a firewall service, a container engine, a script) and stop it.",
      );
    }
    return false;
  }
}
