import type { Host } from "./host.ts";

/**
 * Something read from the kernel, kept until it may have changed. Callers share a reading that is under way only if
 * nothing has been forgotten since it began, so a change during a reading makes it unusable for later callers.
 */
export class Reading<T> {
  private kept: { value: Promise<T>; begunAt: number } | null = null;

  constructor(
    private readonly clock: Pick<Host, "monotonic">,
    /** For changes that nobody reports. */
    private readonly expiresMs: number,
  ) {}

  /** The kept reading, or a new one. */
  get(read: () => Promise<T>): Promise<T> {
    const { kept } = this;
    const isFresh = kept !== null && this.clock.monotonic() - kept.begunAt < this.expiresMs;
    return isFresh ? kept.value : this.renew(read);
  }

  /** A new reading, which replaces the kept one as soon as it begins. */
  renew(read: () => Promise<T>): Promise<T> {
    const begun = { begunAt: this.clock.monotonic(), value: read() };
    this.kept = begun;
    begun.value.catch(() => {
      if (this.kept === begun) this.kept = null;
    });
    return begun.value;
  }

  forget(): void {
    this.kept = null;
  }
}
