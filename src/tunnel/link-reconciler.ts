import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Repairs } from "../killswitch/repairs.ts";
import type { Host } from "../system/host.ts";
import { together } from "./dialer.ts";
import type { Kernel } from "./kernel.ts";
import { partOf, type Session } from "./session.ts";
import type { StateMachine } from "./state-machine.ts";

/** How long the old tunnel stays after a switch, for answers still in flight; by satellite they take 0.7 s. */
const FORMER_STAYS_MS = 1_000;

interface Deps {
  host: Pick<Host, "sleep">;
  kernel: Kernel;
  killSwitch: KillSwitch;
  repairs: Repairs;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  log: Pick<Log, "warn">;
}

/**
 * Makes the kernel match the session that carries traffic: the tunnel's part of the kill switch, its interface,
 * addresses and routes. The caller puts the calls in order.
 */
export class LinkReconciler {
  /** Why links and routes may differ from what the session requires, or null. */
  unsettled: string | null = null;

  constructor(
    private readonly deps: Deps,
    private readonly machine: Pick<StateMachine, "session" | "isDead">,
  ) {}

  /**
   * Permits what the session needs, and nothing else. While its server is dead, it permits that the server comes back.
   */
  updateKillSwitch(): Promise<void> {
    const { session } = this.machine;
    const sessions = session === null ? [] : [session];
    return this.deps.killSwitch.update(
      this.deps.name,
      this.machine.isDead ? partOf([], sessions) : partOf(sessions),
    );
  }

  /** Repairs whatever differs. A failure is logged, and `unsettled` until a later call succeeds. */
  async settle(): Promise<void> {
    const { kernel, killSwitch, log } = this.deps;
    try {
      const { session } = this.machine;
      // What only closes does not wait for the firewall, which may refuse.
      const closed = kernel.links().then(async (links) => {
        await kernel.closeOthers(links, session);
        return links;
      });
      await together([this.updateKillSwitch(), closed]);
      const present = await closed;
      if (session !== null && present.includes(session.link)) {
        await kernel.restore(session, killSwitch.network.uplinkMtu);
      }
      this.unsettled = null;
    } catch (error) {
      this.unsettled = messageOf(error);
      log.warn(`${this.unsettled}; trying again`);
    }
  }

  /**
   * Restores addresses and routes that another program has removed, or calls `later` when that is due; returns whether
   * the interface is there.
   */
  async restoreMissing(later: () => void): Promise<boolean> {
    const { kernel, killSwitch, repairs, name } = this.deps;
    const { session } = this.machine;
    if (session === null) return true;
    const missing = await kernel.missingOf(session);
    if (missing.includes("link")) return false;
    const args = { what: "tunnel", parts: missing.join(" and "), tunnel: name } as const;
    await repairs.repair(
      missing.length === 0 ? [] : [{ layer: "routing", args }],
      async () => {
        if (missing.length === 0) return;
        await kernel.restore(session, killSwitch.network.uplinkMtu);
        await killSwitch.settleConnections(true);
      },
      later,
    );
    return true;
  }

  /** Whether the routes have the MTU of the path. */
  get fits(): boolean {
    const { session } = this.machine;
    return session === null || this.deps.kernel.fits(session);
  }

  /** Gives the routes the MTU of the path, if it has become known since they were made. */
  async fit(): Promise<void> {
    const { kernel, killSwitch } = this.deps;
    const { session } = this.machine;
    if (session !== null && !kernel.fits(session))
      await kernel.restore(session, killSwitch.network.uplinkMtu);
  }

  /** Removes the former tunnel once its last answers have had time to arrive. */
  async retire(former: Session | null, signal: AbortSignal): Promise<void> {
    if (former === null) return;
    try {
      await this.deps.host.sleep(FORMER_STAYS_MS, signal);
      await this.updateKillSwitch();
      // The kernel forgets most of them with the interface. Before that, their devices can be told.
      await this.deps.killSwitch.settleConnections();
      await this.deps.kernel.close(former.link);
    } catch {
      await this.settle();
    }
  }

  /** Removes the tunnel after a disconnect. */
  end(former: Session | null): Promise<void> {
    return together([this.updateKillSwitch(), former === null ? null : this.deps.kernel.close(former.link)]);
  }

  /** Leaves no part of the tunnel in the kill switch. */
  withdraw(): Promise<void> {
    return this.deps.killSwitch.update(this.deps.name, null);
  }
}
