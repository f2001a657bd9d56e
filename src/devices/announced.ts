import type { Address } from "../base/address.ts";
import { nextBeat } from "../base/beat.ts";
import type { Mac } from "../base/mac.ts";
import { isToldName } from "../base/name.ts";
import type { Host } from "../system/host.ts";
import type { DeviceId } from "./id.ts";

/** A device that is online and that nobody has named, with the address to ask. */
export interface Nameless {
  id: Mac;
  address: Address;
}

interface Deps {
  host: Pick<Host, "hostName" | "monotonic" | "sleep">;
  nameless: () => readonly Nameless[];
  hasLease: (id: Mac) => Promise<boolean>;
  /** All devices; names of others are dropped. */
  ids: () => readonly DeviceId[];
  onName: (id: Mac) => void;
}

/** The pause between two questions, because anyone on the LAN can invent devices. */
const ASK_EVERY_MS = 3_000;
/** How often the question is repeated, because a device may be given another name. */
const ASK_AGAIN_AFTER_MS = 3_600_000;
/** A new device may not answer yet, and a question may get lost. These are the first pause, and its growth. */
const UNANSWERED = { firstMs: 10_000, factor: 6 };

/**
 * The names that devices report when asked. They are text from the LAN, and are shown only if nothing better is known.
 */
export class Announced {
  private readonly names = new Map<DeviceId, string>();
  /** When each device is to be asked next, and how often it has not answered. */
  private readonly due = new Map<Mac, { at: number; unanswered: number }>();

  constructor(private readonly deps: Deps) {}

  of(id: DeviceId): string | null {
    return this.names.get(id) ?? null;
  }

  /** Asks one nameless device after another, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { host } = this.deps;
      await nextBeat(host, ASK_EVERY_MS, signal);
      if (signal.aborted) return;
      await this.askNext();
    }
  }

  private async askNext(): Promise<void> {
    const { host, nameless, hasLease, ids, onName } = this.deps;
    const now = host.monotonic();
    const next = nameless().find(({ id }) => (this.due.get(id)?.at ?? now) <= now);
    if (next === undefined) return;
    this.forgetOthers(ids());
    const { unanswered } = this.due.get(next.id) ?? { unanswered: 0 };
    this.due.set(next.id, { at: now + ASK_AGAIN_AFTER_MS, unanswered: 0 });
    if (await hasLease(next.id)) return;
    const name = await host.hostName(next.address).catch(() => null);
    if (name === null)
      this.due.set(next.id, { at: now + pauseAfter(unanswered), unanswered: unanswered + 1 });
    if (name === null || !isToldName(name) || name === this.names.get(next.id)) return;
    this.names.set(next.id, name);
    onName(next.id);
  }

  private forgetOthers(ids: readonly DeviceId[]): void {
    const known = new Set<DeviceId>(ids);
    for (const id of this.due.keys()) {
      if (known.has(id)) continue;
      this.due.delete(id);
      this.names.delete(id);
    }
  }
}

function pauseAfter(unanswered: number): number {
  return Math.min(UNANSWERED.firstMs * UNANSWERED.factor ** unanswered, ASK_AGAIN_AFTER_MS);
}
