import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import { codeOf, type GatewayError, messageOf } from "../base/errors.ts";
import type { Texts } from "../base/saved.ts";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";
import type { Store } from "./store.ts";

/** The pause between two attempts to save; each attempt waits for the disk. */
const SAVE_AGAIN_MS = 6_000;

/** The store's settings in memory: read once, and written to the disk as soon as it can be written. */
export class SettingsCache implements Texts {
  private failure: GatewayError | null = null;
  private values: Record<string, string>;
  private readonly unsaved = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly alarm: Alarm,
  ) {
    this.values = store.settings();
  }

  /** Why the latest changes are not saved, or null. */
  get trouble(): string | null {
    return this.failure?.message ?? null;
  }

  /** Reads the store again after another writer has changed it; discards what was not saved. */
  reload(): void {
    this.unsaved.clear();
    this.values = this.store.settings();
  }

  read(key: string): string | null {
    return this.values[key] ?? null;
  }

  /** All of them, by key. */
  protected get all(): Readonly<Record<string, string>> {
    return this.values;
  }

  /** Also if it cannot be saved. */
  write(key: string, text: string): void {
    this.note(key, text);
    this.save();
  }

  /** To be saved with the next write. */
  protected note(key: string, text: string): void {
    this.values[key] = text;
    this.unsaved.add(key);
  }

  /** Forgets a setting. To be saved with the next write. */
  protected drop(key: string): void {
    delete this.values[key];
    this.unsaved.add(key);
  }

  /** Saves what is not saved yet; raises an alert if that fails. */
  save(): void {
    try {
      this.store.reopen();
      if (this.unsaved.size > 0) this.store.atomically(() => this.writeAll());
      this.unsaved.clear();
      this.tell(null);
    } catch (error) {
      this.tell(refused("settings_unsaved", { reason: messageOf(error) }, { code: codeOf(error) }));
    }
  }

  assertSaved(): void {
    if (this.failure !== null) throw this.failure;
  }

  /** Retries what could not be saved, until `signal` aborts. */
  async keepSaving(clock: Pick<Host, "sleep" | "monotonic">, signal: AbortSignal): Promise<void> {
    for (;;) {
      await nextBeat(clock, SAVE_AGAIN_MS, signal);
      if (signal.aborted) return;
      this.save();
    }
  }

  private writeAll(): void {
    for (const key of this.unsaved) {
      const value = this.values[key];
      if (value === undefined) this.store.forget(key);
      else this.store.write(key, value);
    }
  }

  private tell(failure: GatewayError | null): void {
    const before = this.failure;
    this.failure = failure;
    if (failure !== null && before === null) this.alarm("state_not_saved", { reason: failure.message });
    if (failure === null && before !== null) this.alarm("state_saved", {});
  }
}
