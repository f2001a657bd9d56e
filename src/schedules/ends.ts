import { Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { savedJson, type Texts } from "../base/saved.ts";
import type { Host } from "../system/host.ts";
import type { Once } from "./times.ts";

/** Each start of the machine has another one. */
const BOOT = "/proc/sys/kernel/random/boot_id";
/** Since that start, in seconds, sleep included (proc_uptime(5)). */
const UPTIME = "/proc/uptime";

/** By the time and the name; in milliseconds since the machine's start. */
const ENDS = savedJson(
  "schedules_ends",
  objectOf({ boot: Type.String(), ends: Type.Record(Type.String(), Type.Number()) }),
  null,
);

interface End {
  when: Once;
  /** On the monotone clock of this process. */
  at: number;
}

/**
 * When each schedule that comes once is over. A clock that is set neither ends one nor makes it endless, and neither does
 * a restart of the service; after a restart of the machine, only its clock tells what is left.
 */
export class Ends {
  private readonly ends = new Map<string, End>();
  /** The machine's start on the monotone clock of this process; null until `recall`. */
  private machine: { boot: string; startedAt: number } | null = null;

  constructor(
    private readonly clock: Pick<Host, "now" | "monotonic" | "read">,
    private readonly store: Texts,
  ) {}

  /** From now on these are other ones, if they are any. */
  change(names: readonly string[], whenOf: (name: string) => Once | null): void {
    const before = this.ends.size;
    for (const name of names) {
      const when = whenOf(name);
      this.ends.delete(name);
      if (when !== null)
        this.ends.set(name, { when, at: this.clock.monotonic() + leftOf(when, this.clock.now()) });
    }
    if (before + this.ends.size > 0) this.save();
  }

  /** Of one that does not come once, Infinity. */
  msLeft(name: string): number {
    return Math.max(0, (this.ends.get(name)?.at ?? Infinity) - this.clock.monotonic());
  }

  /** What was counted before the service was started again still holds. */
  async recall(): Promise<void> {
    const [boot, uptime] = await Promise.all([BOOT, UPTIME].map((path) => this.clock.read(path)));
    const seconds = Number.parseFloat(uptime ?? "");
    if (boot == null || Number.isNaN(seconds)) return;
    this.machine = { boot: boot.trim(), startedAt: this.clock.monotonic() - seconds * 1_000 };
    const saved = ENDS.read(this.store);
    for (const [name, end] of this.ends) {
      const at = saved?.boot === this.machine.boot ? saved.ends[keyOf(name, end)] : undefined;
      if (at !== undefined) end.at = this.machine.startedAt + at;
    }
    if (this.ends.size > 0) this.save();
  }

  private save(): void {
    if (this.machine === null) return;
    const { boot, startedAt } = this.machine;
    const ends = [...this.ends].map(([name, end]) => [keyOf(name, end), end.at - startedAt]);
    try {
      ENDS.write(this.store, { boot, ends: Object.fromEntries(ends) });
    } catch {
      // After a restart, the machine's clock tells.
    }
  }
}

/** A name may be another schedule's later. */
function keyOf(name: string, { when }: End): string {
  return `${when.to} ${name}`;
}

/**
 * What is left of it at the start, by the machine's clock. A clock that is behind its beginning leaves all of it.
 */
function leftOf({ from, to }: Once, now: number): number {
  return Math.min(Math.max(0, to - now), to - from);
}
