import type { Alarm } from "../base/alert.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import { TokenBucket } from "../base/token-bucket.ts";
import type { Host } from "../system/host.ts";

/** Limits repairs against a program that undoes them: this many at once, then one per interval. */
const REPAIRS = { burst: 5, everyMs: 1_000 };
/** A program that has undone nothing for this long has given up; shorter pauses do not count. */
const OVER_AFTER_MS = 30_000;

/** What another program has done to the firewall or to routing. */
export type Damage =
  | { layer: "firewall"; args: AlertArgs<"firewall_altered"> }
  | { layer: "routing"; args: AlertArgs<"routing_altered"> };

/** Decides when damage is repaired, and alerts. If repairs are undone, there is one alert and a bounded rate. */
export class Repairs {
  private readonly bucket = new TokenBucket(REPAIRS.burst, REPAIRS.everyMs);
  private contested = false;
  /** When damage was last seen, on the monotone clock. */
  private damagedAt = 0;
  /** Callbacks of postponed repairs. */
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly host: Pick<Host, "monotonic" | "sleep">,
    private readonly alarm: Alarm,
  ) {}

  /** Repairs now, or calls `later` once, when a repair is due; the intact layer blocks meanwhile. */
  async repair(damages: readonly Damage[], work: () => Promise<void>, later: () => void): Promise<void> {
    if (damages.length > 0 && !this.mayBegin()) return this.postpone(later);
    if (!this.contested) for (const damage of damages) this.tell(damage);
    await work();
    if (this.contested) return;
    for (const { layer } of damages) this.alarm(`${layer}_restored`, {});
  }

  private tell({ layer, args }: Damage): void {
    if (layer === "firewall") this.alarm("firewall_altered", args);
    else this.alarm("routing_altered", args);
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
      void this.alertWhenOver();
      this.alarm("protection_contested", {});
    }
    return false;
  }

  private async alertWhenOver(): Promise<void> {
    const left = () => this.damagedAt + OVER_AFTER_MS - this.host.monotonic();
    while (left() > 0) await this.host.sleep(left());
    this.contested = false;
    this.alarm("protection_uncontested", { seconds: OVER_AFTER_MS / 1_000 });
  }
}
