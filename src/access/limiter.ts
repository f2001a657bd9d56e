/**
 * A request counts against the limit of its kind and the general one. A `visit` is what a page of another site may have made a
 * browser send.
 */
export type Endpoint = "connection" | "general" | "visit";

/** Requests that a client may send within one second; rejected requests count too. */
const LIMITS: Record<Endpoint, number> = { connection: 5, general: 10, visit: 5 };
const WINDOW_MS = 1_000;

/** The requests that a client may still send; times are those of the caller's clock, in milliseconds. */
export interface Budget {
  limit: number;
  remaining: number;
  /** When the whole limit is available again, if no more requests come. */
  resetAt: number;
  /** False if the request that was counted is over the limit. */
  allowed: boolean;
}

/** More than any home has; 10,000 clients take about 4 MB. */
const MAX_CLIENTS = 10_000;

/** Counts requests per client in a sliding window: within any time of its length no client gets more than its limit. */
export class Limiter {
  /** Sorted by the time of their latest request, so that idle clients come first. */
  private readonly clients = new Map<string, Client>();
  /**
   * Shared by the clients for which there is no room. Making room by forgetting a client that was seen within the
   * window would let a client with many addresses reset its own count.
   */
  private readonly crowd = noRequests();

  constructor(
    private readonly limits = LIMITS,
    private readonly windowMs = WINDOW_MS,
  ) {}

  /** Counts one request. */
  take(name: string, endpoint: Endpoint, now: number): Budget {
    this.forgetIdle(now);
    const client = this.remember(name);
    const own = this.count(client[endpoint], endpoint, now);
    // The rest of the general limit is for other requests of this client.
    if (endpoint === "general" || (endpoint === "visit" && !own.allowed)) return own;
    const general = this.count(client.general, "general", now);
    return {
      limit: this.limits[endpoint],
      remaining: Math.min(own.remaining, general.remaining),
      resetAt: now + this.windowMs,
      allowed: own.allowed && general.allowed,
    };
  }

  /** The requests that a client may still send, without counting one. */
  peek(name: string, endpoint: Endpoint, now: number): Budget {
    const { limits, windowMs } = this;
    const isFull = this.clients.size >= MAX_CLIENTS;
    const client = this.clients.get(name) ?? (isFull ? this.crowd : null);
    const general = this.recent(client?.general ?? [], now);
    const used = endpoint === "general" ? general : this.recent(client?.[endpoint] ?? [], now);
    const remaining = Math.min(limits[endpoint] - used.length, limits.general - general.length);
    const latest = general.at(-1);
    const resetAt = latest === undefined ? now : latest + windowMs;
    return { limit: limits[endpoint], remaining, resetAt, allowed: remaining > 0 };
  }

  get size(): number {
    return this.clients.size;
  }

  private count(times: number[], endpoint: Endpoint, now: number): Budget {
    const limit = this.limits[endpoint];
    times.splice(0, times.length - this.recent(times, now).length);
    const allowed = times.length < limit;
    if (!allowed) times.shift();
    times.push(now);
    return { limit, remaining: limit - times.length, resetAt: now + this.windowMs, allowed };
  }

  private recent(times: readonly number[], now: number): readonly number[] {
    const first = times.findIndex((time) => time > now - this.windowMs);
    return first < 0 ? [] : times.slice(first);
  }

  private forgetIdle(now: number): void {
    for (const [key, client] of this.clients) {
      if (this.recent(client.general, now).length > 0) return;
      this.clients.delete(key);
    }
  }

  private remember(key: string): Client {
    const known = this.clients.get(key);
    if (known === undefined && this.clients.size >= MAX_CLIENTS) return this.crowd;
    // A client that may have been counted in the crowd starts with the crowd's count, which is at least its own.
    const client = known ?? copyOf(this.crowd);
    this.clients.delete(key);
    this.clients.set(key, client);
    return client;
  }
}

/** Times of the latest requests, oldest first, never more of them than the limit. */
type Client = Record<Endpoint, number[]>;

function noRequests(): Client {
  return { connection: [], general: [], visit: [] };
}

function copyOf({ connection, general, visit }: Client): Client {
  return { connection: [...connection], general: [...general], visit: [...visit] };
}
