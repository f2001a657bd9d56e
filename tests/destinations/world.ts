import type { Address, HostName } from "../../src/base/address.ts";
import { Bus } from "../../src/base/bus.ts";
import type { Mac } from "../../src/base/mac.ts";
import {
  type DestinationEvents,
  Destinations,
  type ResolverEvents,
} from "../../src/destinations/destinations.ts";
import type { DeviceId } from "../../src/devices/id.ts";
import { namedSets } from "../../src/killswitch/named-sets.ts";
import type { Destination } from "../../src/killswitch/policy.ts";

export const DEVICES = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"] as Mac[];
export const EXITS = ["main", "amsterdam", "blocked", "direct"];

/** Thrown, or waited for, by everything that happens after a kill. */
const KILLED = new Error("killed");

/** A gateway's rules, with all that outlives the service that has them. */
export class World {
  destinations: Destinations;
  /** What the kernel has. */
  loaded: readonly Destination[] = [];
  kept: string | null = null;
  /** Whether nothing can be kept. */
  isFull = false;
  now = 0;
  exitOf: (device: string) => string = () => "main";
  readonly events = new Bus<DestinationEvents & ResolverEvents>((fault) => {
    throw new Error(fault);
  });
  private readonly saved = new Map<string, string>();
  /** What still happens before the service is killed. */
  private left = Number.POSITIVE_INFINITY;

  constructor() {
    this.destinations = this.service();
  }

  /** The kernel's sets. */
  get sets(): string[] {
    return namedSets({ destinations: this.loaded });
  }

  get rules() {
    return this.destinations.matching.rules;
  }

  /** As the service is started; the one before is gone, however it has ended. */
  async restart(): Promise<void> {
    this.left = Number.POSITIVE_INFINITY;
    this.destinations = this.service();
    const loading = this.destinations.reload();
    await this.destinations.takeOver();
    await loading;
  }

  /** Kills the service after so many effects of the work. Whether it was killed. */
  async killAfter(effects: number, work: () => Promise<unknown>): Promise<boolean> {
    this.left = effects;
    const done = work().catch(() => {});
    for (let turn = 0; turn < 6; turn += 1)
      await Promise.race([done, new Promise((next) => setImmediate(next))]);
    return this.left < 0;
  }

  /** As the resolver does with an answer. Null if no rule is for the name. */
  async learn(
    name: string,
    device: DeviceId,
    addresses: readonly Address[],
    ttlMs = 1_000,
  ): Promise<boolean | null> {
    const { matching, names } = this.destinations;
    const match = matching.forName(name as HostName, device);
    return match && names.permit({ match, device, addresses, ttlMs });
  }

  resolves(state: "on" | "failed"): void {
    this.events.publish({ type: "dns_update", payload: { state } });
  }

  private service(): Destinations {
    let isKilled = false;
    const effect = () => {
      isKilled ||= this.left <= 0;
      this.left -= 1;
      return isKilled;
    };
    return new Destinations({
      clock: { now: () => 0, monotonic: () => this.now, sleep: async () => {}, random: Math.random },
      store: {
        read: (key) => this.saved.get(key) ?? null,
        write: (key, text) => {
          if (effect() || this.isFull) throw KILLED;
          this.saved.set(key, text);
        },
        atomically: (work) => work(),
      },
      killSwitch: {
        update: async (_, part) => {
          await null;
          if (effect()) return new Promise(() => {});
          this.loaded = part?.destinations ?? [];
        },
        ownerOf: () => null,
        isOpen: () => true,
        stands: async () => true,
        remote: null,
      },
      devices: {
        exits: { tunnels: ["main", "amsterdam"], directAllowed: true },
        direct: { allowed: true },
        exitOf: (id) => this.exitOf(id),
        nameOf: () => null,
      },
      listing: async () => `table inet portcullis {\n${this.sets.join("\n")}}\n`,
      connectedTo: async () => new Set(),
      kept: {
        read: () => this.kept,
        write: (text) => {
          if (effect() || this.isFull) throw KILLED;
          this.kept = text;
        },
      },
      alarm: () => {},
      events: this.events,
    });
  }
}
