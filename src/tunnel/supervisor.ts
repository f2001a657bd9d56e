import { type Address, familyOf } from "../base/address.ts";
import { untilBeat } from "../base/beat.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { KernelEvent } from "../network/kernel-events.ts";
import { Backstop } from "./backstop.ts";
import type { Failback } from "./failback.ts";
import { Liveness, type LivenessDeps } from "./liveness.ts";
import { outageOf } from "./losses.ts";
import type { QualityFailover } from "./quality-failover.ts";
import { Reconnects, type ReconnectsDeps } from "./reconnects.ts";
import type { Session } from "./session.ts";
import { carriedBy } from "./state.ts";

/**
 * How often the tunnel is checked. Under traffic, a dead server must be noticed within 15 s: one check that sees the
 * traffic begin, two more until it is known to be unanswered, and 11 s without an answer.
 */
const LOOK_MS = { busy: 1_000, idle: 1_500 };

interface Deps extends LivenessDeps, ReconnectsDeps {
  failback: Pick<Failback, "look" | "stop">;
  qualityFailover: Pick<QualityFailover, "look" | "stop">;
  log: Pick<Log, "warn">;
}

/** A loss that concerns a tunnel. */
type Loss = Extract<KernelEvent, { of: "tunnel" }>;

/** Watches one tunnel: notices loss and tampering, and has them repaired. */
export class Supervisor {
  private readonly liveness: Liveness;
  private readonly reconnects: Reconnects;
  private hurried = Promise.withResolvers<void>();
  private isChecking = false;
  private readonly backstop: Backstop;
  /** Links that lost something while not current, such as one being dialled; null stands for any link. */
  private readonly damaged = new Set<string | null>();

  constructor(private readonly deps: Deps) {
    this.liveness = new Liveness(deps);
    this.reconnects = new Reconnects(deps);
    this.backstop = new Backstop(deps.host, deps.log);
  }

  /** Runs until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, controller, log } = this.deps;
    this.backstop.checked();
    controller.onChange((state) => {
      if (state.name === "connected") return this.arrived(state.session, signal);
      this.deps.failback.stop();
      this.deps.qualityFailover.stop();
    });
    while (!signal.aborted) {
      await this.look().catch((error) => log.warn(messageOf(error)));
      const pause = this.liveness.isBusy ? LOOK_MS.busy : untilBeat(LOOK_MS.idle, host.monotonic());
      await Promise.race([host.sleep(pause, signal), this.hurried.promise]);
      this.hurried = Promise.withResolvers();
    }
  }

  /** One check: repairs what failed to apply, decides whether the server is alive, and dials a dead one again. */
  async look(): Promise<void> {
    const { controller, log } = this.deps;
    // Neither a repair that fails nor one that waits for a dial must prevent noticing that the server is dead.
    if (!controller.isMoving) await this.repair().catch((error) => log.warn(messageOf(error)));
    await this.liveness.look();
    await this.reconnects.look();
  }

  /** Handles a loss that the kernel reports. Losses that come in before that are handled with it. */
  async saw(loss: Loss, signal: AbortSignal): Promise<void> {
    if (!this.isOfCurrent(loss) || this.isChecking) return;
    this.isChecking = true;
    await this.deps.host.sleep(0, signal);
    this.isChecking = false;
    if (!signal.aborted) await this.checkTunnel().catch((error) => this.backstop.doubt(error));
  }

  private async repair(): Promise<void> {
    if (this.backstop.isDue()) {
      this.backstop.checked();
      await this.checkTunnel().catch((error) => this.backstop.doubt(error));
    }
    await this.deps.controller.repair();
  }

  /**
   * Whether the loss may concern the link that carries traffic. Damage to another link is remembered until that link
   * carries traffic.
   */
  private isOfCurrent({ link, deleted }: Loss): boolean {
    const current = carriedBy(this.deps.controller.state)?.link;
    if (current !== undefined && link === current) return true;
    // A link that is down and was not deleted is a new one.
    if (deleted || link === null) this.damaged.add(link);
    else this.damaged.delete(link);
    return current !== undefined && link === null;
  }

  /** Checks a link that was damaged while it was dialled. */
  private arrived({ link }: Session, signal: AbortSignal): void {
    const damaged = this.damaged.has(link) || this.damaged.has(null);
    this.damaged.clear();
    if (damaged) void this.saw({ of: "tunnel", link, deleted: true }, signal);
  }

  /** Dials at once after a loss. Otherwise the pauses between dials stay as they are. */
  private async checkTunnel(): Promise<void> {
    const { controller } = this.deps;
    const before = controller.state;
    await controller.checkTunnel();
    if (before.name === "connected" && controller.state !== before) this.hurry();
  }

  /** To be called when the machine's own network has changed; `before` is the earlier one. */
  networkChanged(before: HostNetwork): void {
    const { killSwitch } = this.deps;
    const { online, uplink, uplinkAddresses } = killSwitch.network;
    const gone = before.uplinkAddresses.filter((address) => !uplinkAddresses.includes(address));
    if (before.online && !online) this.lost(outageOf(uplink));
    if (before.online && online && this.mayUse(gone)) {
      // Userspace WireGuard keeps sending from an address that no longer exists.
      this.lost("the uplink has another address", false);
      this.hurry();
    }
    if (!before.online && online) this.hurry();
  }

  /** Forgets what came in before the loss, so that it does not count as a later sign of life. */
  private lost(why: string, dead = true): void {
    this.deps.controller.lost(why, dead);
    this.liveness.forget();
  }

  /** Whether the tunnel's packets may have left from one of these addresses. */
  private mayUse(addresses: readonly Address[]): boolean {
    // During a connect it is the former tunnel that sends, and that stays if the new one does not come up.
    const { standing } = this.deps.controller;
    if (standing?.name !== "connected") return false;
    const family = familyOf(standing.session.endpoint.address);
    return addresses.some((address) => familyOf(address) === family);
  }

  /** Makes the next attempt now. An attempt in progress began before the change of the network. */
  private hurry(): void {
    this.reconnects.hurry();
    this.hurried.resolve();
  }
}
