import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { RELAY_MARK } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { mtuTo } from "../system/ip.ts";
import type { Controller } from "./controller.ts";
import { addedBytes, LEAST_MTU, linkMtuOf, overheadOf, pathOf, resolverInside, sizesBelow } from "./mtu.ts";
import type { SavedState } from "./saved-state.ts";
import type { Session } from "./session.ts";
import type { State } from "./state.ts";

/** Which groups may use ICMP sockets (icmp(7)); the kernel's default is none. */
const PING_GROUPS = "/proc/sys/net/ipv4/ping_group_range";
const [NONE, ROOT] = [/^1\s+0\s*$/, "0 0"];

const isMeasured = (session: Session) => addedBytes(session) === 0;

interface Deps {
  host: Host;
  killSwitch: Pick<KillSwitch, "network">;
  savedState: SavedState;
  log: Pick<Log, "info" | "warn">;
}

/**
 * Measures the longest packet that the path of `main` carries, after each connect. Routers on the path may silently
 * drop longer packets. Then small packets pass, and downloads hang. If a router says that they are too long, the kernel
 * sends fragments instead, but not of packets that a WireGuard program gives it several at a time: it refuses them.
 */
export class PathMtu {
  private session: Session | null = null;
  private measuring = new AbortController();
  private isUnable = false;

  constructor(private readonly deps: Deps) {}

  /** Measures until `ended` aborts. */
  watch(controller: Controller, ended: AbortSignal): void {
    const follow = (state: State) => this.follow(state, controller, ended);
    controller.onChange(follow);
    follow(controller.state);
  }

  /** A stream shows nothing: TCP cuts it to the path's size. Shadowsocks is fitted to the path known. */
  private follow(state: State, controller: Controller, ended: AbortSignal): void {
    const session = state.name === "connected" && isMeasured(state.session) ? state.session : null;
    if (session === this.session) return;
    this.session = session;
    this.measuring.abort();
    this.measuring = new AbortController();
    if (session === null) return;
    const signal = AbortSignal.any([ended, this.measuring.signal]);
    this.measure(session, signal)
      .catch((error: unknown) => this.report(error, signal))
      .then(() => controller.fit())
      // The supervisor tries again.
      .catch(() => {});
  }

  private async measure(session: Session, signal: AbortSignal): Promise<void> {
    const { host, killSwitch, savedState, log } = this.deps;
    // The answer to the connect is sent first.
    await host.nextTurn();
    const { network } = killSwitch;
    const whole = linkMtuOf(session.server.config, network.uplinkMtu);
    const longest = await this.longest(session, whole, signal);
    // What the echo requests have made a router say is known to the kernel by now.
    const { address } = session.endpoint;
    const told = await mtuTo(host, address, session.transport === undefined ? session.mark : RELAY_MARK);
    if (signal.aborted) return;
    const overhead = overheadOf(address);
    const path = pathOf(network);
    const known = savedState.pathMtu(path);
    const measured = longest === null ? (known ?? whole + overhead) : longest + overhead;
    const carried = Math.min(measured, told ?? measured);
    if (carried < whole + overhead && carried !== known) {
      savedState.savePathMtu(path, carried);
      const most = carried - overhead;
      log.info(`packets of more than ${most} bytes do not get through the tunnel whole: none are sent`);
    }
    if (carried === whole + overhead && known !== null && carried > known) {
      savedState.savePathMtu(path, null);
      log.info(`packets of ${whole} bytes, the longest, get through the tunnel again`);
    }
  }

  /** The longest packet that is answered, or null if it cannot be told. */
  private async longest(session: Session, whole: number, signal: AbortSignal): Promise<number | null> {
    const { host, killSwitch } = this.deps;
    const address = resolverInside(session, killSwitch.network);
    if (address === null || whole <= LEAST_MTU) return null;
    await this.permitEcho();
    const path = { address, link: session.link };
    return host.probePath(path, [whole, ...sizesBelow(whole)], signal);
  }

  private async permitEcho(): Promise<void> {
    const { host } = this.deps;
    if (NONE.test((await host.read(PING_GROUPS)) ?? "")) await host.writeSysctl(PING_GROUPS, ROOT);
  }

  private report(error: unknown, signal: AbortSignal): void {
    if (signal.aborted || this.isUnable) return;
    this.isUnable = true;
    this.deps.log.warn(`the longest packet that the tunnel carries is unknown: ${messageOf(error)}`);
  }
}
