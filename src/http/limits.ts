import { networkOf, parsePrefix, unmapped } from "../address.ts";

/** What a client has left; times are those of the caller's clock, in milliseconds. */
export interface Budget {
  limit: number;
  remaining: number;
  /** When the whole limit is available again, if nothing more is asked. */
  resetAt: number;
  /** False where the request that was counted is over the limit. */
  allowed: boolean;
}

/** A request to a connection endpoint counts against the connection limit and against the general one. */
export type Endpoint = "general" | "connection";

/** Requests per client within one second, the rejected ones included. */
const LIMITS: Record<Endpoint, number> = { general: 10, connection: 5 };
const WINDOW_MS = 1_000;

/** More than the devices of a home; 10,000 clients take about 4 MB. */
const MAX_CLIENTS = 10_000;

/** Counts requests per client in a window that slides: within any one second no client gets more than its limit. */
export class Limiter {
  /** In the order of their latest request, so that those that went quiet come first. */
  private readonly clients = new Map<string, Client>();
  /**
   * Shared by the clients for whom there is no room. Making room by forgetting someone who was here within the
   * window would let a client with many addresses reset its own count.
   */
  private readonly crowd: Client = { general: [], connection: [] };

  /** Counts one request. */
  take(address: string, endpoint: Endpoint, now: number): Budget {
    this.forgetQuiet(now);
    const client = this.remember(clientOf(address));
    const general = count(client.general, LIMITS.general, now);
    if (endpoint === "general") return general;
    const connection = count(client.connection, LIMITS.connection, now);
    return {
      limit: LIMITS.connection,
      remaining: Math.min(connection.remaining, general.remaining),
      resetAt: now + WINDOW_MS,
      allowed: connection.allowed && general.allowed,
    };
  }

  /** What a client has left, without counting anything. */
  peek(address: string, endpoint: Endpoint, now: number): Budget {
    const client = this.clients.get(clientOf(address));
    const general = recent(client?.general ?? [], now);
    const used = endpoint === "general" ? general : recent(client?.connection ?? [], now);
    const remaining = Math.min(LIMITS[endpoint] - used.length, LIMITS.general - general.length);
    const latest = general.at(-1);
    const resetAt = latest === undefined ? now : latest + WINDOW_MS;
    return { limit: LIMITS[endpoint], remaining, resetAt, allowed: remaining > 0 };
  }

  get size(): number {
    return this.clients.size;
  }

  private forgetQuiet(now: number): void {
    for (const [key, client] of this.clients) {
      if (recent(client.general, now).length > 0) return;
      this.clients.delete(key);
    }
  }

  private remember(key: string): Client {
    const known = this.clients.get(key);
    if (known === undefined && this.clients.size >= MAX_CLIENTS) return this.crowd;
    // Whoever comes out of the crowd keeps what the crowd has used, which is at least what he has.
    const client = known ?? { general: [...this.crowd.general], connection: [...this.crowd.connection] };
    this.clients.delete(key);
    this.clients.set(key, client);
    return client;
  }
}

/** Times of the latest requests, oldest first, never more of them than the limit. */
type Client = Record<Endpoint, number[]>;

function count(times: number[], limit: number, now: number): Budget {
  times.splice(0, times.length - recent(times, now).length);
  const allowed = times.length < limit;
  if (!allowed) times.shift();
  times.push(now);
  return { limit, remaining: limit - times.length, resetAt: now + WINDOW_MS, allowed };
}

function recent(times: readonly number[], now: number): readonly number[] {
  const first = times.findIndex((time) => time > now - WINDOW_MS);
  return first < 0 ? [] : times.slice(first);
}

/** A household's device has a whole /64 to take addresses from (RFC 4291, section 2.5.4), so that is one client. */
export function clientOf(address: string): string {
  const plain = unmapped(address.replace(/%.*$/, ""));
  if (!plain.includes(":")) return plain;
  const network = parsePrefix(`${plain}/64`);
  return network === null ? plain : networkOf(network).address;
}
