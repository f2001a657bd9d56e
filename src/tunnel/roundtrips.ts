import { Queue } from "../base/queue.ts";
import type { Place } from "../servers/place.ts";
import type { Provider, Server } from "../servers/schema.ts";
import type { Host } from "../system/host.ts";

/** How long a measured round trip counts: routes on the internet change by the hour. */
const FRESH_MS = 600_000;

interface Measurement extends Pick<Server, "provider" | "name" | "via"> {
  ms: number;
  /** A time of the monotonic clock. */
  at: number;
  /** The server's key and endpoint at that time, because its name may be given to another server. */
  end: string;
}

/** Round-trip times of servers, kept for a while. */
export class RoundTrips {
  private readonly measured = new Map<string, Measurement>();
  /** When the servers of each place were last measured. */
  private readonly asked = new Map<string, number>();

  private readonly choices = new Queue();

  constructor(private readonly clock: Pick<Host, "monotonic">) {}

  /**
   * Measures and chooses while no other tunnel does. With one key they would end each other's sessions, and they must
   * not choose the same server. If the signal aborts while it waits, throws its reason at once.
   */
  async inTurn<T>(choose: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const begun = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => begun.reject(signal.reason), { once: true });
    const chosen = this.choices.add(() => {
      signal.throwIfAborted();
      begun.resolve();
      return choose();
    });
    await Promise.race([begun.promise, chosen]);
    return chosen;
  }

  /** Whether a recent one is known by this name, through `via` if given. The server with that name may have changed. */
  has(provider: Provider, name: string, via?: string): boolean {
    return this.isFresh(this.measured.get(keyOf(provider, name, via))?.at);
  }

  /** Whether a recent one of any server of the provider is known. */
  hasAny(provider: Provider): boolean {
    return [...this.measured].some(
      ([, measurement]) => measurement.provider === provider && this.isFresh(measurement.at),
    );
  }

  /** In milliseconds; null if not known. */
  of(server: Server): number | null {
    const known = this.measured.get(keyFor(server));
    return known?.end === endOf(server) && this.isFresh(known.at) ? known.ms : null;
  }

  /** All known ones, the shortest first. `find` gives the server that has the name now. */
  all(
    find: (provider: Provider, name: string, via?: string) => Server | null,
  ): { server: Server; ms: number; ageMs: number }[] {
    const known = [...this.measured.values()].flatMap(({ provider, name, via, at }) => {
      const server = find(provider, name, via?.name);
      const ms = server && this.of(server);
      return server === null || ms === null ? [] : [{ server, ms, ageMs: this.clock.monotonic() - at }];
    });
    return known.sort((one, other) => one.ms - other.ms);
  }

  nearest(servers: readonly Server[]): Server | null {
    let nearest: { server: Server; ms: number } | null = null;
    for (const server of servers) {
      const ms = this.of(server);
      if (ms !== null && (nearest === null || ms < nearest.ms)) nearest = { server, ms };
    }
    return nearest?.server ?? null;
  }

  save(server: Server, ms: number): void {
    for (const [key, { at }] of this.measured) if (!this.isFresh(at)) this.measured.delete(key);
    const at = this.clock.monotonic();
    const { provider, name, via } = server;
    const through = via === undefined ? {} : { via };
    this.measured.set(keyFor(server), { provider, name, ...through, ms, at, end: endOf(server) });
  }

  forget(server: Server): void {
    this.measured.delete(keyFor(server));
  }

  wasAsked(place: Place): boolean {
    return this.isFresh(this.asked.get(spotOf(place)));
  }

  noteAsked(place: Place): void {
    for (const [spot, at] of this.asked) if (!this.isFresh(at)) this.asked.delete(spot);
    this.asked.set(spotOf(place), this.clock.monotonic());
  }

  private isFresh(at: number | undefined): boolean {
    return at !== undefined && this.clock.monotonic() - at < FRESH_MS;
  }
}

/** Identifies a server by its key and endpoint, whatever its name is. */
export function endOf({ config: { peer } }: Server): string {
  return `${peer.publicKey} ${peer.endpoint.host} ${peer.endpoint.port}`;
}

function keyFor({ provider, name, via }: Server): string {
  return keyOf(provider, name, via?.name);
}

function keyOf(provider: Provider, name: string, via?: string): string {
  return JSON.stringify([provider, name, via]);
}

/** The servers of a place are all reached through the same one, or all directly. */
function spotOf({ provider, country, city, servers }: Place): string {
  return JSON.stringify([provider, country, city, servers[0]?.via?.name]);
}
