import { GatewayError } from "../base/errors.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Slot } from "../network/slot.ts";
import { titleOf } from "../servers/hops.ts";
import type { Server } from "../servers/schema.ts";
import type { Host, Send } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import { clockHint } from "./clock.ts";
import type { Kernel } from "./kernel.ts";
import type { Resolver, Way } from "./resolver.ts";
import type { SavedState } from "./saved-state.ts";
import { partOf, type Session, sessionFor, usableOn } from "./session.ts";

/** How long a server may take to answer the handshake; WireGuard itself retries after 5 s. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
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
    const { kernel, killSwitch, resolver, savedState, name, slot, looksUpInside } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    assertUplink(killSwitch.network);
    const way = wayOf(name, former, looksUpInside(former));
    const usable = usableOn(killSwitch.network, await this.registered(server, way, signal));
    const { host, port } = usable.config.peer.endpoint;
    const old = former?.session ?? null;
    const [address] = await resolver.resolve(host, way, signal);
    const endpoint = { address, port };
    const session = sessionFor(slot, usable, endpoint, old);
    // The firewall already permits traffic inside the tunnel, because only routes lead there. This saves a change
    // before traffic flows.
    const carrying = [...carriedSince(former), session];
    const silent = silentSince(former);
    // Connections that a former session has left in the zone of this one.
    await killSwitch.settleConnections();
    await together([killSwitch.update(name, partOf(carrying, silent)), kernel.open(session, uplinkMtu)]);
    const twin = old !== null && haveSameKeys(old, session) ? old : null;
    // A dead session has nothing to lose. A live one carries traffic until the new one does.
    if (twin !== null && former?.dead === true) await this.silence(twin);
    try {
      await kernel.configure(session);
      const answered = this.handshake(session, signal);
      await together([
        kernel.route(session, old?.server.config ?? null, answered),
        // Questions to the gateway itself follow no route. The first session gets them.
        answered.then(() => killSwitch.update(name, partOf(carrying.toReversed(), silent))),
      ]);
      savedState.saveHandshake(await answered);
      if (twin !== null && former?.dead === false) await this.silence(twin);
    } catch (error) {
      if (twin !== null) await this.restoreTwin(twin, session);
      throw error;
    }
    return session;
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

  /** When the server has answered, in milliseconds since 1970. */
  private async handshake(session: Session, signal: AbortSignal): Promise<number> {
    const { host, kernel, savedState } = this.deps;
    const begunAt = host.monotonic();
    for (let passed = 0; passed < HANDSHAKE_TIMEOUT_MS; passed = host.monotonic() - begunAt) {
      signal.throwIfAborted();
      if (await kernel.hasHandshake(session.link)) return host.now();
      await host.sleep(Math.min(Math.max(passed * POLL.part, POLL.shortestMs), POLL.longestMs), signal);
    }
    signal.throwIfAborted();
    throw new GatewayError(
      "no_answer",
      `${titleOf(session.server)} did not answer the WireGuard handshake within ${HANDSHAKE_TIMEOUT_MS / 1000} s: is it up, and are the keys right?${clockHint(host.now(), savedState.handshake())}`,
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
