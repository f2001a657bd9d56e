import type { Log } from "../base/log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { adopted, type Known, rememberedServer } from "./adoption.ts";
import type { Kernel } from "./kernel.ts";
import type { LinkReconciler } from "./link-reconciler.ts";
import { outageOf } from "./losses.ts";
import type { Order, OrderTarget } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import type { StateMachine } from "./state-machine.ts";
import { type Asked, placesIn, type Target } from "./target.ts";
import type { TargetDialer } from "./target-dialer.ts";
import type { WantedConnection } from "./wanted-connection.ts";

interface Deps {
  host: Host;
  kernel: Kernel;
  savedState: SavedState;
  machine: StateMachine;
  wanted: WantedConnection;
  dialer: TargetDialer;
  reconciler: LinkReconciler;
  /** The tunnel's name. */
  name: string;
  slot: Slot;
  /** Whether a start reconnects to the last server. */
  autoconnect: boolean;
  /** A target of the tunnel's order, as it can be reached now; null if it cannot. */
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  log: Pick<Log, "info" | "warn">;
}

/** The tunnel that an earlier process has left. */
export interface LeftoverLinks {
  /** Names of the interfaces that exist. */
  links: readonly string[];
  known: Known;
  network: HostNetwork;
}

/** Takes up the tunnel that an earlier process has left, or reconnects to its last server. */
export class TunnelStart {
  constructor(private readonly deps: Deps) {}

  /** Takes up the tunnel that is in the kernel. To be called before the kill switch is loaded. */
  async adopt({ links, known, network }: LeftoverLinks): Promise<void> {
    const { kernel, machine, wanted, reconciler, slot } = this.deps;
    const present = links.filter((link) => slot.links.includes(link));
    const found = present.length === 0 ? null : await adopted(this.deps, { present, known, network });
    if (found !== null) machine.adopt(found);
    if (machine.session !== null) kernel.adopt(machine.session);
    const { state } = machine;
    const server = state.name === "reconnecting" ? state.server : machine.session?.server;
    if (server !== undefined) wanted.adopt(server, (target) => this.found(target));
    await reconciler.updateKillSwitch();
  }

  /**
   * Removes an interface that could not be adopted, and reconnects to the last server. To be called with the kill
   * switch in place.
   */
  async begin({ links, known, network }: LeftoverLinks): Promise<void> {
    const { kernel, machine, wanted, log } = this.deps;
    const kept = machine.session;
    if (kept !== null && !network.online) machine.error = outageOf(network.uplink);
    await kernel.closeOthers(links, kept);
    if (kept !== null) {
      // A connect or a disconnect was interrupted. The state in the kernel counts, also after the next start.
      wanted.saveIfChanged();
      return log.info(`the tunnel to ${titleOf(kept.server)} is up already: adopting it`);
    }
    const { state } = machine;
    if (state.name === "reconnecting")
      return log.info(`reconnecting to ${titleOf(state.server)}: its relay has ended with the service`);
    this.resume(known);
  }

  private resume(known: Known): void {
    const { autoconnect, dialer, wanted, log } = this.deps;
    const { saved } = wanted;
    const last = autoconnect && saved !== null ? rememberedServer(saved, known) : null;
    if (last === null) return;
    const fault = dialer.keyConflicts.faultOf(last);
    if (fault !== null) {
      log.warn(`not reconnecting to ${titleOf(last)}: ${fault}`);
      return;
    }
    log.info(`reconnecting to ${titleOf(last)}, as before the restart`);
    wanted.resume();
    this.enter(last);
  }

  /**
   * If the last server has left its list, or another tunnel has it now, connects to the best other target of the order.
   * To be called once all tunnels have begun: their own servers are not taken from them.
   */
  beginElsewhere(): void {
    const { autoconnect, host, machine, wanted, log } = this.deps;
    const { saved } = wanted;
    if (!autoconnect || saved?.order === undefined || machine.state.name !== "disconnected") return;
    const next = this.firstInOrder(saved.order);
    if (next === null) return;
    log.info(`connecting to ${titleOf(next.server)}: ${saved.name} cannot be reached again`);
    wanted.resume();
    wanted.set(next.server, host.now(), next.asked);
    this.enter(next.server);
  }

  private enter(server: Server): void {
    const { host, machine } = this.deps;
    machine.enter({ type: "resume", server, since: host.monotonic() });
  }

  /** The best target of an order that can be had, and a server of it; null without one. */
  private firstInOrder(order: Order): { server: Server; asked: Asked } | null {
    for (const [at, wanted] of order.targets.entries()) {
      const target = this.found(wanted);
      const server = target && this.freeOf(target);
      if (target && server) return { server, asked: { ...placesIn(target), order: { ...order, at } } };
    }
    return null;
  }

  /** The target's first server; null if other tunnels have all of them. */
  private freeOf(target: Target): Server | null {
    try {
      return this.deps.dialer.first(target) ?? null;
    } catch {
      return null;
    }
  }

  private found(wanted: OrderTarget): Target | null {
    return this.deps.found(wanted, this.deps.name);
  }
}
