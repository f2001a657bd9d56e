import { type Address, familyOf } from "../base/address.ts";
import { untilBeat } from "../base/beat.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { KernelEvent } from "../network/kernel-events.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { pauseAfter } from "./backoff.ts";
import { Backstop } from "./backstop.ts";
import { type Controller, outageOf } from "./controller.ts";
import { askedIn, type Evidence, heardIn, isDead, type Sample, weigh } from "./health.ts";
import type { Kernel } from "./kernel.ts";
import type { KnownWays } from "./known-ways.ts";
import { resolverInside } from "./mtu.ts";
import type { OrderTarget } from "./order.ts";
import type { SavedState } from "./saved-state.ts";
import { keepaliveOf, type Session, sameServer } from "./session.ts";
import { carriedBy, isUnanswered } from "./state.ts";
import { type Candidate, isHops, isPlace, leadsTo, placesIn, type Target } from "./target.ts";
import type { TunnelQuality } from "./tunnel-quality.ts";
import { askedAnew, isCertain, isDoubtful, isPast, type Unanswered, unansweredAfter } from "./unanswered.ts";
import type { WayBack } from "./way-back.ts";
import type { WayOut } from "./way-out.ts";

/**
 * How often the tunnel is checked. Under traffic, a dead server must be noticed within 15 s: one check that sees the
 * traffic begin, two more until it is known to be unanswered, and 11 s without an answer.
 */
const LOOK_MS = { busy: 1_000, idle: 1_500 };
/** A server that stays dead, or carries nothing, for this long is given up if `--failover` allows it. */
const FAILOVER_AFTER_MS = 60_000;
/** A target whose tunnel has others is given up after so many dials in vain: people have named what comes next. */
const DIALS_IN_ORDER = 1;
/**
 * A server that carried nothing is no alternative for this long. When an account has expired, no server carries
 * anything.
 */
const BARREN_MS = 3_600_000;
/**
 * The limit of moves in that time. A device whose packets nobody answers must not move everyone from server to server.
 */
const MAX_BARREN_MOVES = 3;
/**
 * The pauses between two questions of the gateway's own, until it is certain that nothing is answered, and after that.
 */
const ASK_AGAIN_MS = { doubtful: 5_000, certain: 15_000 };

interface Deps {
  host: Host;
  controller: Controller;
  kernel: Kernel;
  killSwitch: KillSwitch;
  savedState: SavedState;
  knownWays: Pick<KnownWays, "fellSilent">;
  quality: Pick<TunnelQuality, "look">;
  wayBack: Pick<WayBack, "look" | "stop">;
  wayOut: Pick<WayOut, "look" | "stop">;
  /** The tunnel's name. */
  name: string;
  /** Servers that may replace a dead one, the nearest first; none unless the operator allows it. */
  alternatives: (server: Server) => readonly Server[];
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** The server as its provider lists it now; null if it is gone. */
  latest: (server: Server) => Server | null;
  log: Pick<Log, "warn">;
}

/** A loss that concerns a tunnel. */
type Loss = Extract<KernelEvent, { of: "tunnel" }>;

interface Effort {
  begunAt: number;
  attempts: number;
  /** Those of them since the server was given up. */
  elsewhere: number;
  notBefore: number;
}

/** Watches one tunnel: notices loss and tampering, and has them repaired. */
export class Supervisor {
  private known: {
    session: Session;
    sample: Sample;
    evidence: Evidence;
    unanswered: Unanswered | null;
  } | null = null;
  private busy = false;
  /** Whether this check is the first. A session that exists by then belongs to an earlier process. */
  private first = true;
  /** The attempts to leave `reconnecting`; null while there is nothing to leave. */
  private effort: Effort | null = null;
  private attempt = new AbortController();
  /** Servers that carried nothing, and when that was found. */
  private barren: readonly { server: Server; at: number }[] = [];
  /** When the gateway itself last asked something through the tunnel. */
  private askedAt = Number.NEGATIVE_INFINITY;
  private hurried = Promise.withResolvers<void>();
  private isChecking = false;
  private readonly backstop: Backstop;
  /** Links that lost something while not current, such as one being dialled; null stands for any link. */
  private readonly damaged = new Set<string | null>();

  constructor(private readonly deps: Deps) {
    this.backstop = new Backstop(deps.host, deps.log);
  }

  /** Runs until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, controller, log } = this.deps;
    this.backstop.checked();
    controller.onChange((state) => {
      if (state.name === "connected") return this.arrived(state.session, signal);
      this.deps.wayBack.stop();
      this.deps.wayOut.stop();
    });
    while (!signal.aborted) {
      await this.look().catch((error) => log.warn(messageOf(error)));
      const pause = this.busy ? LOOK_MS.busy : untilBeat(LOOK_MS.idle, host.monotonic());
      await Promise.race([host.sleep(pause, signal), this.hurried.promise]);
      this.hurried = Promise.withResolvers();
    }
  }

  /** One check: repairs what failed to apply, decides whether the server is alive, and dials a dead one again. */
  async look(): Promise<void> {
    const { controller, log } = this.deps;
    // Neither a repair that fails nor one that waits for a dial must prevent noticing that the server is dead.
    if (!controller.isMoving) await this.repair().catch((error) => log.warn(messageOf(error)));
    await this.judge();
    await this.tryAgain();
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
    this.known = null;
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
    this.attempt.abort(new GatewayError("interrupted", "interrupted by a change of the network"));
    this.effort = null;
    this.hurried.resolve();
  }

  private async judge(): Promise<void> {
    const { controller, kernel, knownWays } = this.deps;
    // During a connect, that of the former tunnel, which is needed again if the new one does not come up.
    const state = controller.standing;
    const isDialling = controller.state !== state;
    const adopted = this.first;
    this.first = false;
    if (isDialling && state?.name !== "connected") return;
    const session = state && carriedBy(state);
    if (session === null) {
      this.known = null;
      this.busy = false;
      this.deps.quality.look(null, null);
      return;
    }
    const before = this.known?.session === session ? this.known : null;
    const keepaliveMs = keepaliveOf(session.server) * 1_000;
    const mayRest = state.name === "connected" && !isUnanswered(state) && this.isQuiet(before);
    const sample = await kernel.sample(session.link, before?.sample ?? null, mayRest);
    if (controller.standing !== state) return;
    if (sample === null) return controller.lost("the tunnel's interface is gone");
    const evidence =
      before === null
        ? { heardAt: sample.at - (adopted ? this.ageOf(sample) : 0), askedAt: null }
        : weigh(before.evidence, before.sample, sample, keepaliveMs);
    const resolver = this.resolverOf(session);
    const former = this.known;
    const isSame = former !== null && sameServer(former.session.server, session.server);
    const unanswered =
      before !== null && state.name === "connected"
        ? unansweredAfter(before.unanswered, before.sample, sample, keepaliveMs, resolver !== null)
        : askedAnew(isSame ? former.unanswered : null);
    this.known = { session, sample, evidence, unanswered };
    this.busy = evidence.askedAt !== null || (before !== null && askedIn(before.sample, sample, keepaliveMs));
    const isLost = isDead(evidence, sample.at, isUnanswered(state));
    if (isLost) controller.lost(`${titleOf(session.server)} no longer answers`);
    else if (before !== null && heardIn(before.sample, sample)) controller.recovered();
    if (isCertain(unanswered)) controller.unanswered();
    else if (unanswered === null) controller.answered();
    if (isDoubtful(unanswered) && !isDialling && resolver !== null) void this.ask(session, resolver);
    if (controller.state.name === "connected") {
      this.deps.savedState.saveClock(this.deps.host.now(), sample.latestHandshake);
      this.deps.quality.look(session, sample);
      if (!isUnanswered(controller.state)) {
        this.deps.wayOut.look(session);
        this.deps.wayBack.look(session, sample);
      }
    }
    // Last: programs run for it, and meanwhile a person may connect to another server.
    if (isLost && state.name === "connected") await knownWays.fellSilent(session);
  }

  /** Whether nothing is waited for: what has gone out was answered, or long ago. */
  private isQuiet(before: Supervisor["known"]): boolean {
    if (this.busy || before === null || before.evidence.askedAt !== null) return false;
    const asks = this.resolverOf(before.session) !== null;
    return before.unanswered === null || isPast(before.unanswered, this.deps.host.monotonic(), asks);
  }

  /**
   * Milliseconds since the last handshake. Valid only for an earlier process's session. A new session may be the first
   * that the time service uses, and then the clock jumps after the handshake was dated.
   */
  private ageOf({ latestHandshake }: Sample): number {
    return Math.max(0, this.deps.host.now() - latestHandshake);
  }

  /**
   * The resolver that the gateway can ask. Only `main` carries the gateway's packets, and only the kill switch keeps
   * them inside.
   */
  private resolverOf(session: Session): Address | null {
    const { killSwitch, savedState, name } = this.deps;
    if (name !== MAIN || !savedState.killSwitchWanted()) return null;
    return resolverInside(session, killSwitch.network);
  }

  /** Asks the tunnel's resolver a question, because devices may send packets that nobody answers. */
  private async ask(session: Session, resolver: Address): Promise<void> {
    const { host, controller } = this.deps;
    const now = host.monotonic();
    if (now - this.askedAt < ASK_AGAIN_MS[isUnanswered(controller.state) ? "certain" : "doubtful"]) return;
    this.askedAt = now;
    const answered = await host.probeResolver(resolver, [0]).catch(() => []);
    if (answered.length === 0 || this.known?.session !== session) return;
    this.known = { ...this.known, unanswered: null };
    controller.answered();
  }

  /**
   * Tries the same server at once, then at growing intervals. While the uplink seems to be down, the intervals are long
   * from the start. Trying is still worthwhile, because a route to the server is enough and does not count as online.
   */
  private async tryAgain(): Promise<void> {
    const { host, controller, killSwitch, log } = this.deps;
    const { state } = controller;
    const now = host.monotonic();
    if (
      state.name !== "reconnecting" &&
      !(isUnanswered(state) && now - state.unanswered >= FAILOVER_AFTER_MS)
    ) {
      this.effort = null;
      return;
    }
    const pause = (attempt: number) => pauseAfter(attempt, Math.random(), killSwitch.network.online);
    const notBefore = killSwitch.network.online ? now : now + pause(0);
    this.effort ??= { begunAt: now, attempts: 0, elsewhere: 0, notBefore };
    const { effort } = this;
    if (now < effort.notBefore) return;
    const next =
      state.name === "reconnecting"
        ? this.candidate(state.server, effort)
        : this.elsewhere(state.session.server, effort);
    this.attempt = new AbortController();
    if (next !== null)
      await controller
        .redial(next.target, this.attempt.signal, next.asked)
        .catch((error) => log.warn(`${next.target.name}: ${messageOf(error)}`));
    effort.notBefore = host.monotonic() + pause(effort.attempts);
    effort.attempts += 1;
  }

  /** The next one to be tried in place of a dead server. */
  private candidate(dead: Server, effort: Effort): Candidate {
    const { host, controller, latest } = this.deps;
    // Its key or its address may have changed meanwhile.
    const same = { target: latest(dead) ?? dead, asked: controller.asked };
    const isGivenUp =
      controller.asked.order === undefined
        ? host.monotonic() - effort.begunAt >= FAILOVER_AFTER_MS
        : effort.attempts >= DIALS_IN_ORDER;
    if (!isGivenUp) return same;
    const ring = [...this.others(same.target), same];
    effort.elsewhere += 1;
    return ring[(effort.elsewhere - 1) % ring.length] ?? same;
  }

  /**
   * What may stand in for a server: the other targets of the tunnel's order, the best first, and where it has none,
   * other servers of its place. A place of which it is one comes in its turn, because the place has others.
   */
  private others(server: Server): readonly Candidate[] {
    const { controller, alternatives, found, name } = this.deps;
    const { asked } = controller;
    if (asked.order === undefined) return alternatives(server).map((target) => ({ target, asked }));
    const { order } = asked;
    const others = order.targets.map((wanted, at) => ({ at, target: found(wanted, name) }));
    return others.flatMap(({ at, target }) => {
      // After a schedule's move, the present server may be none of them.
      if (target === null || (!isPlace(target) && leadsTo(target, server))) return [];
      return { target, asked: { ...placesIn(target), order: { ...order, at } } };
    });
  }

  /**
   * The next one to be tried in place of a server that carries nothing; null without another one, or if several others
   * carried nothing either.
   */
  private elsewhere(server: Server, effort: Effort): Candidate | null {
    const now = this.deps.host.monotonic();
    const others = this.barren.filter(
      (other) => now - other.at < BARREN_MS && !sameServer(other.server, server),
    );
    this.barren = [...others, { server, at: now }];
    if (others.length >= MAX_BARREN_MOVES) return null;
    // Another way to a server that answers handshakes leads to the same.
    const isBarren = (target: Target) =>
      this.barren.some((each) =>
        isPlace(target) || isHops(target) ? leadsTo(target, each.server) : sameServer(target, each.server),
      );
    const ring = this.others(server).filter(({ target }) => !isBarren(target));
    effort.elsewhere += 1;
    return ring[(effort.elsewhere - 1) % ring.length] ?? null;
  }
}
