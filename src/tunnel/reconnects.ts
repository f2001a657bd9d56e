import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";
import { pauseAfter } from "./backoff.ts";
import type { Controller } from "./controller.ts";
import type { OrderTarget } from "./order.ts";
import { refused } from "./refusals.ts";
import { sameServer } from "./session.ts";
import { isUnanswered } from "./state.ts";
import { type Candidate, isHops, isPlace, leadsTo, placesIn, type Target } from "./target.ts";

/** A server that stays dead, or carries nothing, for this long is given up if `--failover` allows it. */
const FAILOVER_AFTER_MS = 60_000;
/** A target whose tunnel has others is given up after this many failed dials: people have named what comes next. */
const DIALS_IN_ORDER = 1;
/**
 * A server that carried nothing is no alternative for this long. When an account has expired, no server carries
 * anything.
 */
const DEAD_END_MS = 3_600_000;
/**
 * The limit of moves in that time. A device whose packets nobody answers must not move everyone from server to server.
 */
const MAX_DEAD_ENDS = 3;

export interface ReconnectsDeps {
  host: Host;
  controller: Controller;
  killSwitch: KillSwitch;
  /** The tunnel's name. */
  name: string;
  /** Servers that may replace a dead one, the nearest first; none unless the operator allows it. */
  alternatives: (server: Server) => readonly Server[];
  found: (wanted: OrderTarget, tunnel: string) => Target | null;
  /** The server as its provider lists it now; null if it is gone. */
  latest: (server: Server) => Server | null;
  log: Pick<Log, "warn">;
}

interface Effort {
  begunAt: number;
  attempts: number;
  /** Those of them since the server was given up. */
  elsewhere: number;
  notBefore: number;
}

/** Dials a server that is silent, or carries nothing, again and again, and others in its place. */
export class Reconnects {
  /** The attempts to leave `reconnecting`; null while there is nothing to leave. */
  private effort: Effort | null = null;
  private attempt = new AbortController();
  /** Servers that carried nothing, and when that was found. */
  private deadEnds: readonly { server: Server; at: number }[] = [];

  constructor(private readonly deps: ReconnectsDeps) {}

  /**
   * Tries the same server at once, then at growing intervals. While the uplink seems to be down, the intervals are long
   * from the start. Trying is still worthwhile, because a route to the server is enough and does not count as online.
   */
  async look(): Promise<void> {
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
    const pause = (attempt: number) => pauseAfter(attempt, host.random(), killSwitch.network.online);
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

  /** Makes the next attempt at once. One in progress began before the change of the network. */
  hurry(): void {
    this.attempt.abort(refused("interrupted_by_network"));
    this.effort = null;
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
    const others = this.deadEnds.filter(
      (other) => now - other.at < DEAD_END_MS && !sameServer(other.server, server),
    );
    this.deadEnds = [...others, { server, at: now }];
    if (others.length >= MAX_DEAD_ENDS) return null;
    // Another way to a server that answers handshakes leads to the same.
    const isDeadEnd = (target: Target) =>
      this.deadEnds.some((each) =>
        isPlace(target) || isHops(target) ? leadsTo(target, each.server) : sameServer(target, each.server),
      );
    const ring = this.others(server).filter(({ target }) => !isDeadEnd(target));
    effort.elsewhere += 1;
    return ring[(effort.elsewhere - 1) % ring.length] ?? null;
  }
}
