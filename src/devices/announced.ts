import type { Address } from "../address.ts";
import type { Mac } from "../mac.ts";
import { isName } from "../name.ts";
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

/** Between two questions: anyone on the LAN can invent devices. */
const ASK_EVERY_MS = 2_000;
/** A device may be given a name, or begin to tell it. */
const ASK_AGAIN_AFTER_MS = 3_600_000;

/** The names that devices tell when they are asked. They are text from the LAN, and shown only if nothing better is known. */
export class Announced {
  private readonly names = new Map<DeviceId, string>();
  private readonly askedAt = new Map<Mac, number>();

  constructor(private readonly deps: Deps) {}

  of(id: DeviceId): string | null {
    return this.names.get(id) ?? null;
  }

  /** Asks one nameless device after another, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.deps.host.sleep(ASK_EVERY_MS, signal);
      if (signal.aborted) return;
      await this.askNext();
    }
  }

  private async askNext(): Promise<void> {
    const { host, nameless, hasLease, ids, onName } = this.deps;
    const now = host.monotonic();
    const isDue = ({ id }: Nameless) => now - (this.askedAt.get(id) ?? -Infinity) >= ASK_AGAIN_AFTER_MS;
    const next = nameless().find(isDue);
    if (next === undefined) return;
    this.forgetOthers(ids());
    this.askedAt.set(next.id, now);
    if (await hasLease(next.id)) return;
    const name = await host.hostName(next.address).catch(() => null);
    if (name === null || !isName(name) || name === this.names.get(next.id)) return;
    this.names.set(next.id, name);
    onName(next.id);
  }

  private forgetOthers(ids: readonly DeviceId[]): void {
    const known = new Set<DeviceId>(ids);
    for (const id of this.askedAt.keys()) {
      if (known.has(id)) continue;
      this.askedAt.delete(id);
      this.names.delete(id);
    }
  }
}
