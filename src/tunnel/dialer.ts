import { GatewayError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf } from "../servers/hops.ts";
import { portsToTry } from "../servers/ports.ts";
import type { Server } from "../servers/schema.ts";
import type { Host, Send } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import { clockHint } from "./clock.ts";
import type { Kernel } from "./kernel.ts";
import { pathOf } from "./mtu.ts";
import type { Resolver, Way } from "./resolver.ts";
import type { SavedState } from "./saved-state.ts";
import { partOf, type Session, sessionFor, usableOn } from "./session.ts";

/** How long a server may take to answer the handshake; WireGuard itself retries after 5 s. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** The same at each of several ports: two handshakes, and a second for the answer to the second one. */
const PORT_TIMEOUT_MS = 6_500;
/** The pause between two checks for the handshake is a twentieth of the time passed, as a check costs time too. */
const POLL = { part: 1 / 20, shortestMs: 1, longestMs: 100 };

/** The tunnel that is up when a dial begins. */
export interface Former {
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
  /** The tunnel's name: the owner of its part of the kill switch. */
  name: string;
  slot: Slot;
  /** Whether names are looked up through a live tunnel while this one has that former one. */
  looksUpInside: (former: Former | null) => boolean;
  sendOn: (way: Way, signal: AbortSignal) => Send;
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
  async dial(server: Server, former: Former | null, signal: AbortSignal): Promise<Session> {
    const { host: clock, kernel, killSwitch, resolver, savedState, name, slot, looksUpInside } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    assertUplink(killSwitch.network);
    const way = wayOf(name, former, looksUpInside(former));
    const usable = usableOn(killSwitch.network, await this.registered(server, way, signal));
    const { host } = usable.config.peer.endpoint;
    const old = former?.session ?? null;
    const [address] = await resolver.resolve(host, way, signal);
    const tries = this.portsTo(usable).map((each) =>
      sessionFor(slot, usable, { address, port: each }, old),
    ) as [Session, ...Session[]];
    const [session] = tries;
    // The firewall already permits traffic inside the tunnel, because only routes lead there. This saves a change
    // before traffic flows.
    const live = carriedSince(former);
    const silent = silentSince(former);
    const permit = (tried: Session) => killSwitch.update(name, partOf([...live, tried], silent));
    // Connections that a former session has left in the zone of this one.
    await killSwitch.settleConnections();
    await together([permit(session), kernel.open(session, uplinkMtu)]);
    const twin = old !== null && haveSameKeys(old, session) ? old : null;
    // A dead session has nothing to lose. A live one carries traffic until the new one does.
    if (twin !== null && former?.dead === true) await this.silence(twin);
    try {
      await kernel.configure(session);
      const answered = this.firstAnswered(tries, permit, signal);
      await together([
        kernel.route(session, old?.server.config ?? null, answered),
        // Questions to the gateway itself follow no route. The first session gets them.
        answered.then((reached) => killSwitch.update(name, partOf([reached, ...live], silent))),
      ]);
      savedState.saveHandshake(clock.now());
      if (twin !== null && former?.dead === false) await this.silence(twin);
      const reached = await answered;
      if (tries.length > 1) this.remember(reached);
      return reached;
    } catch (error) {
      if (twin !== null) await this.restoreTwin(twin, session);
      throw error;
    }
  }

  /** The usual port comes first, or the one that was answered here before. Without an uplink nobody answers anywhere. */
  private portsTo({ ports = [], config }: Server): number[] {
    const { killSwitch, savedState } = this.deps;
    const usual = config.peer.endpoint.port;
    const { network } = killSwitch;
    return network.online ? portsToTry(usual, ports, savedState.serverPort(pathOf(network))) : [usual];
  }

  private remember({ server, endpoint }: Session): void {
    const { killSwitch, savedState } = this.deps;
    const isUsual = endpoint.port === server.config.peer.endpoint.port;
    savedState.saveServerPort(pathOf(killSwitch.network), isUsual ? null : endpoint.port);
  }

  /** The session as its server has answered: at the first of these ports that is not silent. */
  private async firstAnswered(
    tries: readonly [Session, ...Session[]],
    permit: (tried: Session) => Promise<void>,
    signal: AbortSignal,
  ): Promise<Session> {
    const { kernel, log } = this.deps;
    for (const [at, tried] of tries.entries()) {
      const title = titleOf(tried.server);
      if (at > 0) {
        log.info(
          `${title} does not answer at port ${tries[at - 1]?.endpoint.port}: trying port ${tried.endpoint.port}`,
        );
        // In this order: a first packet that is dropped would be repeated after 5 s only.
        await permit(tried);
        await kernel.configure(tried);
      }
      if (await this.hasAnswered(tried, tries.length > 1 ? PORT_TIMEOUT_MS : HANDSHAKE_TIMEOUT_MS, signal))
        return tried;
    }
    throw this.silenceOf(tries);
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

  private async registered(server: Server, way: Way, signal: AbortSignal): Promise<Server> {
    if (server.registers === undefined) return server;
    const { sendOn, register } = this.deps;
    const config = await register(server, sendOn(way, signal));
    signal.throwIfAborted();
    return { ...server, config };
  }

  private async hasAnswered({ link }: Session, withinMs: number, signal: AbortSignal): Promise<boolean> {
    const { host, kernel } = this.deps;
    const begunAt = host.monotonic();
    for (let passed = 0; passed < withinMs; passed = host.monotonic() - begunAt) {
      signal.throwIfAborted();
      if (await kernel.hasHandshake(link)) return true;
      await host.sleep(Math.min(Math.max(passed * POLL.part, POLL.shortestMs), POLL.longestMs), signal);
    }
    signal.throwIfAborted();
    return false;
  }

  private silenceOf(tries: readonly [Session, ...Session[]]): GatewayError {
    const { host, savedState } = this.deps;
    const title = titleOf(tries[0].server);
    const hint = clockHint(host.now(), savedState.handshake());
    const within = (ms: number) => `did not answer the WireGuard handshake within ${ms / 1000} s`;
    const ports = tries.map(({ endpoint }) => endpoint.port);
    return new GatewayError(
      "no_answer",
      ports.length === 1
        ? `${title} ${within(HANDSHAKE_TIMEOUT_MS)}: is it up, and are the keys right?${hint}`
        : `${title} ${within(PORT_TIMEOUT_MS)} at any of its ports ${ports.join(", ")}: is it up, are the keys right, and does this network let WireGuard through?${hint}`,
    );
  }
}

export function assertUplink({ uplink }: HostNetwork): void {
  if (uplink === null) {
    throw new GatewayError(
      "unable",
      "there is no default route: is the uplink's cable plugged in? If the uplink needs no default route, name it with --uplink",
    );
  }
}

/** How a tunnel looks up the name of its next server. */
export function wayOf(owner: string, former: Former | null, inside: boolean): Way {
  if (inside) return { inside: true };
  return { inside: false, owner, part: partOf(carriedSince(former), silentSince(former)) };
}

/** The sessions that carry traffic until a new one does. */
export function carriedSince(former: Former | null): Session[] {
  return former?.dead === false ? [former.session] : [];
}

/** Sessions without traffic whose server may come back. */
export function silentSince(former: Former | null): Session[] {
  return former?.dead === true ? [former.session] : [];
}

/**
 * Whether a server takes them for one peer, whose latest handshake counts. If both send, each can take the connection
 * from the other, which then waits 15 s until its next handshake (KEEPALIVE_TIMEOUT and REKEY_TIMEOUT).
 */
function haveSameKeys(one: Session, other: Session): boolean {
  const keysOf = ({ server: { config } }: Session) => [config.interface.privateKey, config.peer.publicKey];
  return Bun.deepEquals(keysOf(one), keysOf(other));
}

/** Waits for all of them even if one fails, because work that is still running must not collide with the repair. */
export async function together(works: readonly (Promise<unknown> | null)[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
