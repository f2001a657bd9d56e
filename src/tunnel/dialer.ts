import { GatewayError } from "../errors.ts";
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
/** The first pause between two checks for the handshake, and the longest. */
const POLL_MS = { first: 1, longest: 100 };

/** The tunnel that is up when a dial begins. */
export interface Former {
  session: Session;
  /** Whether its server answers. */
  alive: boolean;
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

/** Brings up a tunnel next to the former one, and routes traffic into it once the server has answered. */
export class Dialer {
  constructor(private readonly deps: Deps) {}

  /**
   * Throws `GatewayError("no_answer")` if the server does not answer, or the signal's reason. After any error the
   * caller clears what was begun.
   */
  async dial(server: Server, former: Former | null, signal: AbortSignal): Promise<Session> {
    const { kernel, killSwitch, resolver, name, slot, looksUpInside } = this.deps;
    const { uplinkMtu } = killSwitch.network;
    assertUplink(killSwitch.network);
    const way = wayOf(name, former, looksUpInside(former));
    const usable = usableOn(killSwitch.network, await this.registered(server, way, signal));
    const { host, port } = usable.config.peer.endpoint;
    const old = former?.session ?? null;
    const [address] = await resolver.resolve(host, way, signal);
    const endpoint = { address, port };
    const session = sessionFor(slot, usable, endpoint, old);
    // The firewall permits traffic inside it already: only routes lead there, and one change fewer comes before it flows.
    const sessions = old === null ? [session] : [old, session];
    await together([killSwitch.update(name, partOf(sessions)), kernel.open(session, uplinkMtu)]);
    await kernel.configure(session);
    await this.handshake(session, signal);
    await kernel.route(session, old?.server.config ?? null);
    return session;
  }

  private async registered(server: Server, way: Way, signal: AbortSignal): Promise<Server> {
    if (server.registers === undefined) return server;
    const { sendOn, register } = this.deps;
    const config = await register(server, sendOn(way, signal));
    signal.throwIfAborted();
    return { ...server, config };
  }

  private async handshake(session: Session, signal: AbortSignal): Promise<void> {
    const { host, kernel, savedState } = this.deps;
    const deadline = host.monotonic() + HANDSHAKE_TIMEOUT_MS;
    for (
      let pause = POLL_MS.first;
      host.monotonic() < deadline;
      pause = Math.min(pause * 1.2, POLL_MS.longest)
    ) {
      signal.throwIfAborted();
      if (await kernel.hasHandshake(session.link)) return savedState.saveHandshake(host.now());
      await host.sleep(pause, signal);
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
  return { inside: false, owner, part: partOf(carriedSince(former)) };
}

/** The sessions that carry traffic until a new one does. */
export function carriedSince(former: Former | null): Session[] {
  return former === null ? [] : [former.session];
}

/** Waits for all of them even if one fails: what is still running must not collide with the repair. */
export async function together(works: readonly (Promise<unknown> | null)[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
