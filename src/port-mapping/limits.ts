import type { Address } from "../base/address.ts";

/** A client asks one thing at a time (RFC 6886, section 3.1); a torrent client may have several to renew. */
const MAX_OF_SENDER = 20;
const MAX_OF_ALL = 200;
const PERIOD_MS = 1_000;
/** Providers take seconds to answer. */
const MAX_AT_ONCE = 64;
/** Two for each port that a device may have. */
const MAX_AT_ONCE_OF_SENDER = 16;

/** Prevents one device, or many, from occupying the gateway and the provider. */
export class Limits {
  private since = Number.NEGATIVE_INFINITY;
  private all = 0;
  private readonly bySender = new Map<Address, number>();
  private readonly underWay = new Map<Address, Set<string>>();

  /** Whether a sender's packet is looked at, at that time of the monotonic clock. */
  allows(sender: Address, now: number): boolean {
    if (now - this.since >= PERIOD_MS) {
      this.since = now;
      this.all = 0;
      this.bySender.clear();
    }
    const count = this.bySender.get(sender) ?? 0;
    if (count >= MAX_OF_SENDER || this.all >= MAX_OF_ALL) return false;
    this.bySender.set(sender, count + 1);
    this.all += 1;
    return true;
  }

  /** To be called before a request is served; returns what to call then. Null if the same request is under way, or too many. */
  begin(sender: Address, request: string): (() => void) | null {
    const own = this.underWay.get(sender) ?? new Set();
    const all = [...this.underWay.values()].reduce((sum, { size }) => sum + size, 0);
    if (own.has(request) || own.size >= MAX_AT_ONCE_OF_SENDER || all >= MAX_AT_ONCE) return null;
    this.underWay.set(sender, own.add(request));
    return () => {
      own.delete(request);
      if (own.size === 0) this.underWay.delete(sender);
    };
  }
}
