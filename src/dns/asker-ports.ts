import type { Address } from "../base/address.ts";
import { nextTurn } from "../base/queue.ts";
import { Shares } from "../base/shares.ts";
import type { DeviceId } from "../devices/id.ts";
import { FIRST_REMOTE_ZONE } from "../killswitch/remote-part.ts";
import { Listener } from "./listener.ts";
import { OTHERS, type Resolver } from "./resolver.ts";

/** Where devices are answered that have no port of their own; the ports of the others follow. */
export const RESOLVER_PORT = 10_053;
/** TCP connections. */
const MAX_CONNECTIONS = 256;
/** Times what a device has must be left to others, but each may have some. */
const [LEFT_TO_OTHERS, AT_LEAST] = [9, 2];
/** Anyone on the LAN can invent devices. Those that nobody has decided about share a port above this number. */
const MAX_UNDECIDED = 256;
/** Together with these, what `MAX_ASSIGNED` permits; each takes two sockets at each address. */
const MAX_ASKERS = 1_280;
/** Other programs may have some. */
const MAX_TRIES = 64;
/** The event loop gets its turn after this long. */
const TURN_MS = 5;

/** Those who may ask. */
export interface Askers {
  /** People have decided something about them. */
  decided: readonly DeviceId[];
  /** The other neighbours, those that were heard last at the end. */
  others: readonly DeviceId[];
}

/**
 * A port for each device. A source address can be forged, so the firewall leads the queries of each device to a port of
 * its own, by its MAC address.
 */
export class AskerPorts {
  private readonly listeners = new Map<DeviceId, { port: number; listener: Listener }>();
  private readonly connections = new Shares(MAX_CONNECTIONS, LEFT_TO_OTHERS, AT_LEAST);
  private next = RESOLVER_PORT + 1;

  constructor(
    private readonly resolver: Pick<Resolver, "answer">,
    /** Hears of what an answer threw. */
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The ports that are open, by device. */
  get open(): ReadonlyMap<DeviceId, number> {
    return new Map([...this.listeners].map(([id, { port }]) => [id, port]));
  }

  /** Whose ports are to be open. Those that have one keep it. */
  wanted({ decided, others }: Askers): DeviceId[] {
    const known = new Set<DeviceId>([OTHERS, ...decided]);
    const strangers = others.filter((id) => !known.has(id));
    const kept = strangers.filter((id) => this.listeners.has(id));
    const fresh = strangers.filter((id) => !this.listeners.has(id)).toReversed();
    return [...known, ...[...kept, ...fresh].slice(0, MAX_UNDECIDED)].slice(0, MAX_ASKERS);
  }

  /** Throws the system's error if there is no port for the devices without one of their own. */
  openFor(ids: readonly DeviceId[], addresses: readonly Address[]): Promise<void> {
    const missing = ids.filter((id) => !this.listeners.has(id));
    return inTurns(missing, (id) => this.openPort(id, addresses));
  }

  close(ids: Iterable<DeviceId> = this.listeners.keys()): Promise<void> {
    return inTurns([...ids], async (id) => {
      this.listeners.get(id)?.listener.stop();
      this.listeners.delete(id);
    });
  }

  private async openPort(id: DeviceId, addresses: readonly Address[]): Promise<void> {
    const answerer = {
      answer: (message: Uint8Array) => this.resolver.answer(message, id),
      enter: () => this.connections.take(id),
      leave: () => this.connections.give(id),
      failed: this.failed,
    };
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const port = id === OTHERS ? RESOLVER_PORT : this.nextPort();
      try {
        this.listeners.set(id, { port, listener: await Listener.open(addresses, port, answerer) });
        return;
      } catch (error) {
        if (id === OTHERS) throw error;
      }
    }
  }

  /** The ports of devices that are gone come last. */
  private nextPort(): number {
    const port = this.next;
    // The number of a port is that of a zone, too.
    this.next = port + 1 < FIRST_REMOTE_ZONE ? port + 1 : RESOLVER_PORT + 1;
    return port;
  }
}

async function inTurns<Each>(all: readonly Each[], work: (each: Each) => Promise<void>): Promise<void> {
  let turn = performance.now();
  for (const each of all) {
    await work(each);
    if (performance.now() - turn < TURN_MS) continue;
    await nextTurn();
    turn = performance.now();
  }
}
