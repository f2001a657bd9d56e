import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf, viaText } from "../servers/hops.ts";
import { MAX_ASKED, type Place } from "../servers/place.ts";
import type { Server } from "../servers/schema.ts";
import { demandedBy, offersRelay } from "../servers/ways.ts";
import type { Host } from "../system/host.ts";
import { clockArgs } from "./clock.ts";
import {
  assertUplink,
  carriedSince,
  egressPathOf,
  type PreviousSession,
  silentSince,
  together,
} from "./dialer.ts";
import type { Kernel } from "./kernel.ts";
import type { KnownPaths } from "./known-paths.ts";
import { refused } from "./refusals.ts";
import type { Resolver } from "./resolver.ts";
import { type Round, roundsOf, withoutRoutes } from "./round.ts";
import type { RoundTrips } from "./roundtrips.ts";
import type { SavedState } from "./saved-state.ts";
import { partOf, type Session, sameKeys, sessionFor } from "./session.ts";

/** How long the first answer may take; WireGuard itself repeats a lost packet after 5 s. */
const FIRST_ANSWER_MS = 3_000;
/** No further round begins after this time. Servers that need different own keys are probed one after the other. */
const ROUNDS_MS = 6_000;
/** Once one server has answered, twice its time is enough to wait for the others; a wait below this goes unnoticed. */
const LEAST_WAIT_MS = 100;
/** The pause between checks for answers is a twentieth of the time passed: a check costs time, and 5 % is precise enough. */
const POLL = { part: 1 / 20, shortestMs: 1, longestMs: 50 };

interface Deps {
  host: Host;
  kernel: Kernel;
  killSwitch: KillSwitch;
  resolver: Resolver;
  savedState: SavedState;
  knownWays: KnownPaths;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  slot: Slot;
  /** Whether names are looked up through a live tunnel while this one has that former one. */
  looksUpInside: (former: PreviousSession | null) => boolean;
  /** The other tunnel that uses this server with the same key, or null. */
  conflictOf: (server: Server) => string | null;
  roundTrips: RoundTrips;
  log: Pick<Log, "info">;
}

/**
 * Finds the nearest server of a place by real handshakes with a few of its servers, from an interface without addresses
 * and routes. An observer sees the same as when connecting to each of them, and nothing else.
 */
export class Probe {
  constructor(private readonly deps: Deps) {}

  get roundTrips(): RoundTrips {
    return this.deps.roundTrips;
  }

  /**
   * Throws `GatewayError("no_answer")` if no server answers, or the signal's reason. After any error the caller clears
   * what was begun.
   */
  async nearest(place: Place, former: PreviousSession | null, signal: AbortSignal): Promise<Server> {
    const { roundTrips } = this;
    const { servers } = place;
    const [only] = servers;
    // A handshake with a server that registers keys would need a registration.
    if (only !== undefined && (servers.length === 1 || only.registers)) return only;
    // A plain handshake would not be answered. A server that demands a transport is asked by that.
    const first = servers.find((server) => demandedBy(server) === null);
    if (first !== undefined && (await this.isRelayed(first))) return first;
    const known = roundTrips.nearest(servers);
    if (known !== null && roundTrips.wasAsked(place)) return known;
    const unknown = servers.filter((server) => roundTrips.of(server) === null).slice(0, MAX_ASKED);
    const asked = new Set<string>();
    if (unknown.length > 0) {
      await this.ask(unknown, asked, former, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        if (known === null) throw error;
      });
    }
    roundTrips.noteAsked(place);
    // A server that cannot be asked because a tunnel uses it is treated like one that does not answer.
    const nearest = roundTrips.nearest(servers) ?? servers.find((server) => this.isUsed(server, former));
    if (nearest !== undefined) return nearest;
    // They may answer in another way, which the dialer finds out with one of them.
    const other = servers.find(
      (server) =>
        server.ports !== undefined ||
        offersRelay(server) ||
        (demandedBy(server) !== null && !asked.has(server.name)),
    );
    if (other !== undefined && this.deps.killSwitch.network.online) return other;
    const clock = clockArgs(this.deps.host.now(), this.deps.savedState.handshake());
    throw refused("servers_silent", {
      count: asked.size,
      place: viaText(place.name, only?.via?.name),
      ...clock,
    });
  }

  /** Adds the names of those that were asked. Those with a relay come last, one after the other. */
  private async ask(
    servers: readonly Server[],
    asked: Set<string>,
    former: PreviousSession | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { killSwitch } = this.deps;
    assertUplink(killSwitch.network);
    const sessions = await this.sessionsFor(servers, former, signal);
    let best = Number.POSITIVE_INFINITY;
    const began = this.deps.host.monotonic();
    const rounds = roundsOf(sessions);
    const isRelayed = ([{ transport }]: Round) => transport !== undefined;
    for (const round of rounds.toSorted((a, b) => Number(isRelayed(a)) - Number(isRelayed(b)))) {
      if (this.deps.host.monotonic() - began > ROUNDS_MS) break;
      for (const { server } of round) asked.add(server.name);
      for (const [server, ms] of await this.play(round, former, best, signal)) {
        this.roundTrips.save(server, ms);
        best = Math.min(best, ms);
      }
    }
    this.report(servers);
  }

  /** Leaves out servers whose name cannot be looked up; throws if that is all of them. */
  private async sessionsFor(
    servers: readonly Server[],
    former: PreviousSession | null,
    signal: AbortSignal,
  ): Promise<Session[]> {
    const { resolver, name, slot, looksUpInside } = this.deps;
    const sessions: Session[] = [];
    let failure: unknown = null;
    for (const server of servers) {
      if (this.isUsed(server, former)) continue;
      const { host } = server.config.peer.endpoint;
      try {
        const [{ port }] = await this.deps.knownWays.to(server);
        const [address] = await resolver.resolve(
          host,
          egressPathOf(name, former, looksUpInside(former)),
          signal,
        );
        // A plain handshake would not be answered, and only show what it is.
        const transport = demandedBy(server);
        const end = { address, port, ...(transport !== null && { transport }) };
        sessions.push(sessionFor(slot, withoutRoutes(server), end, former?.session ?? null));
      } catch (error) {
        signal.throwIfAborted();
        failure = error;
      }
    }
    if (sessions.length === 0 && failure !== null) throw failure;
    return sessions;
  }

  /** Whether servers are reached by a relay here, or that was asked for. */
  private async isRelayed(server: Server): Promise<boolean> {
    const [first] = await this.deps.knownWays.to(server);
    return first.transport !== undefined;
  }

  /** Whether a tunnel has a session with it. A second one with the same key would end the first. */
  private isUsed(server: Server, former: PreviousSession | null): boolean {
    const isFormer = former?.alive === true && sameKeys(former.session.server, server);
    return isFormer || this.deps.conflictOf(server) !== null;
  }

  /** Sends handshakes to all servers of a round at once, from one interface that is removed afterwards. */
  private async play(
    [first, ...others]: Round,
    former: PreviousSession | null,
    best: number,
    signal: AbortSignal,
  ): Promise<[Server, number][]> {
    const { kernel, killSwitch, name } = this.deps;
    const [carrying, silent] = [carriedSince(former), silentSince(former)];
    await together([
      killSwitch.update(name, partOf(carrying, [...silent, first, ...others])),
      kernel.open(first, killSwitch.network.uplinkMtu),
    ]);
    await kernel.openRelay(first);
    const answered = await this.answers([first, ...others], best, signal);
    await together([kernel.close(first.link), killSwitch.update(name, partOf(carrying, silent))]);
    return answered;
  }

  private async answers(
    [first, ...others]: Round,
    best: number,
    signal: AbortSignal,
  ): Promise<[Server, number][]> {
    const { host, kernel } = this.deps;
    const answered = new Map<Server, number>();
    const began = { at: host.monotonic(), on: host.now() };
    await kernel.configure(first, others);
    for (let nearest = best; ; ) {
      const seen = host.monotonic() - began.at;
      const handshakes = await kernel.handshakes(first.link, answered.size);
      const passed = host.monotonic() - began.at;
      for (const { server } of [first, ...others]) {
        const at = handshakes.get(server.config.peer.publicKey);
        if (at === undefined || answered.has(server)) continue;
        const measured = at === null ? seen : at - began.on;
        // If the date was set meanwhile, the time of this check is the best estimate.
        answered.set(server, measured >= 0 && measured <= passed ? measured : passed);
      }
      nearest = Math.min(nearest, ...answered.values());
      const enough =
        nearest === Number.POSITIVE_INFINITY ? FIRST_ANSWER_MS : Math.max(2 * nearest, LEAST_WAIT_MS);
      if (answered.size === others.length + 1 || passed >= enough) return [...answered];
      await host.sleep(Math.min(Math.max(passed * POLL.part, POLL.shortestMs), POLL.longestMs), signal);
      signal.throwIfAborted();
    }
  }

  private report(servers: readonly Server[]): void {
    const answers = servers.map((server) => {
      const ms = this.roundTrips.of(server);
      return `${titleOf(server)} ${ms === null ? "no answer" : `${ms.toFixed(1)} ms`}`;
    });
    this.deps.log.info(`round trips: ${answers.join(", ")}`);
  }
}
