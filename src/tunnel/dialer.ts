import type { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import { MAIN } from "../killswitch/policy.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import { protocolOf } from "../servers/ways.ts";
import type { Host, Send } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import { clockArgs } from "./clock.ts";
import type { Kernel } from "./kernel.ts";
import type { KeyAgreement } from "./key-agreement.ts";
import type { KnownPaths } from "./known-paths.ts";
import { refused } from "./refusals.ts";
import type { EgressPath, Resolver } from "./resolver.ts";
import type { SavedState } from "./saved-state.ts";
import { partOf, type Session, sameKeys, sessionFor, usableOn } from "./session.ts";

/** How long a server may take to answer the handshake; WireGuard itself retries after 5 s. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** The same if it can be reached in other ways, too: two handshakes, and a second for the answer to the second one. */
const FIRST_WAY_MS = 6_500;
/** The same for each other way, or its share of what is left of the time for all of them. */
const OTHER_WAY_MS = { longest: 3_500, shortest: 1_000 };
const ALL_WAYS_MS = 26_000;
/** The pause between two checks for the handshake is a twentieth of the time passed, as a check costs time too. */
const POLL = { part: 1 / 20, shortestMs: 1, longestMs: 100 };

/** The tunnel that is up when a dial begins. */
export interface PreviousSession {
  session: Session;
  /** Whether its server answers. */
  alive: boolean;
  /** Whether it is known not to answer. For a session that may no longer work, neither is known. */
  dead: boolean;
}

interface Deps {
  host: Host;
  kernel: Kernel;
  killSwitch: KillSwitch;
  resolver: Resolver;
  savedState: SavedState;
  knownWays: KnownPaths;
  keyAgreement: KeyAgreement;
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  slot: Slot;
  /** Whether names are looked up through a live tunnel while this one has that former one. */
  looksUpInside: (former: PreviousSession | null) => boolean;
  sendOn: (path: EgressPath, signal: AbortSignal) => Send;
  register: Register;
  log: Pick<Log, "info">;
}

/** Registers a new key with a server that wants that before each connection. */
export type Register = (server: Server, send: Send) => Promise<Config>;

/** Brings up a tunnel beside the former one, and routes traffic into it once the server has answered. */
export class Dialer {
  constructor(private readonly deps: Deps) {}

  /**
   * Throws `GatewayError("no_answer")` if the server does not answer, or the signal's reason. After any error the
   * caller clears what was begun.
   */
  async dial(server: Server, former: PreviousSession | null, signal: AbortSignal): Promise<Session> {
    const { host: clock, kernel, killSwitch, resolver, savedState, name, slot, looksUpInside } = this.deps;
    const { knownWays } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    assertUplink(killSwitch.network);
    const path = egressPathOf(name, former, looksUpInside(former));
    const usable = usableOn(killSwitch.network, await this.registered(server, path, signal));
    const { host } = usable.config.peer.endpoint;
    const old = former?.session ?? null;
    const [address] = await resolver.resolve(host, path, signal);
    const tries = (await knownWays.to(usable)).map((each) =>
      sessionFor(slot, usable, { address, ...each }, old),
    ) as [Session, ...Session[]];
    signal.throwIfAborted();
    const [session] = tries;
    // The firewall already permits traffic inside the tunnel, because only routes lead there. This saves a change
    // before traffic flows.
    const live = carriedSince(former);
    const silent = silentSince(former);
    // That holds only while nothing else leads into it: to agree on keys, the gateway itself sends inside.
    const permit = (tried: Session, onServers?: () => void) =>
      killSwitch.update(
        name,
        usable.quantum === undefined ? partOf([...live, tried], silent) : partOf(live, silent, [tried]),
        onServers,
      );
    // Connections that a former session has left in the zone of this one.
    await killSwitch.settleConnections();
    // The interface's program starts while the firewall's table is made, which takes a millisecond or two.
    const opened = kernel.open(session, uplinkMtu);
    const serverPermitted = Promise.withResolvers<void>();
    // If this dial fails, the repair waits for it: the kill switch makes its changes one after another.
    const permitted = clock.nextTurn().then(() => permit(session, serverPermitted.resolve));
    // The handshake leaves before the rest of the firewall's table is there. Traffic has to wait for that.
    const canShakeHands =
      session.transport === undefined ? Promise.race([serverPermitted.promise, permitted]) : permitted;
    await together([canShakeHands, opened]);
    const twin = old !== null && sameKeys(old.server, session.server) ? old : null;
    // A dead session has nothing to lose. A live one carries traffic until the new one does.
    if (twin !== null && former?.dead === true) await this.silence(twin);
    try {
      await kernel.configure(session);
      const first = permitted.then(() => this.firstAnswered(tries, permit, signal));
      const answered =
        usable.quantum === undefined
          ? first
          : first.then(async (reached) => {
              const keyed = await this.keyed(reached, live.length > 0, signal);
              // Before routes lead there.
              await killSwitch.update(name, partOf([...live, keyed], silent));
              return keyed;
            });
      await together([
        kernel.route(session, old?.server.config ?? null, answered),
        // Questions to the gateway itself follow no route. The first session gets them.
        answered.then(async (reached) => {
          // The routes come first: to make the firewall's table takes a millisecond or two.
          await clock.nextTurn();
          await killSwitch.update(name, partOf([reached, ...live], silent));
        }),
      ]);
      savedState.saveHandshake(clock.now());
      if (twin !== null && former?.dead === false) await this.silence(twin);
      const reached = await answered;
      if (tries.length > 1) await knownWays.answered(reached);
      return reached;
    } catch (error) {
      if (twin !== null) await this.restoreTwin(twin, session);
      throw error;
    }
  }

  /** The session as its server has answered: in the first of these ways that is not silent. */
  private async firstAnswered(
    tries: readonly [Session, ...Session[]],
    permit: (tried: Session) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Session> {
    const { host, kernel, log } = this.deps;
    const begunAt = host.monotonic();
    for (const [at, tried] of tries.entries()) {
      const title = titleOf(tried.server);
      const before = tries[at - 1];
      if (before !== undefined) {
        log.info(`${title} does not answer ${wayText(before)}: trying ${wayText(tried)}`);
        // In this order: a first packet that is dropped would be repeated after 5 s only.
        await permit(tried);
        await kernel.configure(tried);
      }
      const patience = patienceMs(at, tries.length, host.monotonic() - begunAt);
      if (await this.hasAnswered(tried, patience, signal)) return tried;
    }
    throw this.silenceOf(tries);
  }

  private keyed(session: Session, isReplacing: boolean, signal: AbortSignal): Promise<Session> {
    const hasAnswered = (each: Session) => this.hasAnswered(each, HANDSHAKE_TIMEOUT_MS, signal);
    return this.deps.keyAgreement.keyed(session, { isReplacing, hasAnswered, signal });
  }

  /** Another program may have deleted its interface. */
  private async silence(twin: Session): Promise<void> {
    await this.deps.kernel.silence(twin).catch(() => {});
  }

  /** The former session may still recover by itself, but not while another one has its keys. */
  private async restoreTwin(twin: Session, session: Session): Promise<void> {
    const { kernel } = this.deps;
    await kernel.close(session.link).catch(() => {});
    // Without its interface, the server is dialled again.
    await kernel.configure(twin).catch(() => {});
  }

  private async registered(server: Server, path: EgressPath, signal: AbortSignal): Promise<Server> {
    if (server.registers === undefined) return server;
    const { sendOn, register } = this.deps;
    const config = await register(server, sendOn(path, signal));
    signal.throwIfAborted();
    return { ...server, config };
  }

  /** Throws if something else answers in the server's place: then it does so in the other ways, too. */
  private async hasAnswered(session: Session, withinMs: number, signal: AbortSignal): Promise<boolean> {
    const { host, kernel } = this.deps;
    const begunAt = host.monotonic();
    for (let passed = 0; passed < withinMs; passed = host.monotonic() - begunAt) {
      signal.throwIfAborted();
      if (await kernel.hasHandshake(session.link)) return true;
      const fault = kernel.relayFault(session);
      if (fault === "refused") return false;
      if (fault === "foreign") throw foreignAnswer(session);
      await host.sleep(Math.min(Math.max(passed * POLL.part, POLL.shortestMs), POLL.longestMs), signal);
    }
    signal.throwIfAborted();
    return false;
  }

  private silenceOf(tries: readonly [Session, ...Session[]]): GatewayError {
    const { host, savedState } = this.deps;
    const clock = clockArgs(host.now(), savedState.handshake());
    const server = titleOf(tries[0].server);
    const ways = Map.groupBy(tries, ({ transport }) => transport);
    if (tries.length === 1 && ways.has(undefined))
      return refused("server_silent", { server, seconds: HANDSHAKE_TIMEOUT_MS / 1000, ...clock });
    const texts = [...ways].map(
      ([transport, some]) => `by ${transport ?? "UDP"} at ${portsText(transport, some)}`,
    );
    return refused("server_silent_in_all_ways", { server, ways: texts.join(", nor "), ...clock });
  }
}

/** The time for the way at this index, of this many, when this much time has passed. */
function patienceMs(at: number, count: number, passedMs: number): number {
  if (count === 1) return HANDSHAKE_TIMEOUT_MS;
  if (at === 0) return FIRST_WAY_MS;
  const share = (ALL_WAYS_MS - passedMs) / (count - at);
  return Math.max(OTHER_WAY_MS.shortest, Math.min(OTHER_WAY_MS.longest, share));
}

function portsText(transport: Session["transport"], some: readonly Session[]): string {
  const kind = transport === undefined ? "" : `${protocolOf(transport).toUpperCase()} `;
  const ports = some.map(({ endpoint }) => endpoint.port).join(", ");
  return some.length === 1 ? `${kind}port ${ports}` : `any of its ${kind}ports ${ports}`;
}

function wayText(session: Session): string {
  const { transport } = session;
  const at = `at ${portsText(transport, [session])}`;
  return transport === undefined ? at : `by ${transport} ${at}`;
}

function foreignAnswer({ server, endpoint }: Session): GatewayError {
  return refused("answer_foreign", { server: titleOf(server), port: endpoint.port });
}

export function assertUplink({ uplink }: HostNetwork): void {
  if (uplink === null) {
    throw refused("uplink_missing");
  }
}

/** How a tunnel looks up the name of its next server. */
export function egressPathOf(owner: string, former: PreviousSession | null, inside: boolean): EgressPath {
  if (inside) return { inside: true, ...(owner === MAIN && former !== null && { session: former.session }) };
  return { inside: false, owner, part: partOf(carriedSince(former), silentSince(former)) };
}

/** The sessions that carry traffic until a new one does. */
export function carriedSince(former: PreviousSession | null): Session[] {
  return former?.dead === false ? [former.session] : [];
}

/** Sessions without traffic whose server may come back. */
export function silentSince(former: PreviousSession | null): Session[] {
  return former?.dead === true ? [former.session] : [];
}

/** Waits for all of them even if one fails, because work that is still running must not collide with the repair. */
export async function together(works: readonly (Promise<unknown> | null)[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
