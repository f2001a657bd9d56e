import type { Address } from "../base/address.ts";

/** More than a device asks at a time when a page with a hundred names opens. */
export const MAX_UNDER_WAY_OF_CLIENT = 128;
export const MAX_UNDER_WAY = 1_024;
/** More than any device asks in a second; a flood above it is not even read. */
export const MAX_A_SECOND_OF_CLIENT = 1_000;
const MAX_A_SECOND = 4_000;
const SECOND_MS = 1_000;

/** How much the clients ask, so that none of them holds up the others. */
export class UnderWay {
  private readonly waiting = new Map<Address, number>();
  private total = 0;
  private readonly asked = new Map<Address, number>();
  private askedInAll = 0;
  private second = 0;

  constructor(private readonly monotonic: () => number) {}

  /** Counts a message. Whether it is read. */
  takes(client: Address): boolean {
    const second = Math.floor(this.monotonic() / SECOND_MS);
    if (second !== this.second) {
      this.second = second;
      this.asked.clear();
      this.askedInAll = 0;
    }
    const count = this.asked.get(client) ?? 0;
    if (count >= MAX_A_SECOND_OF_CLIENT || this.askedInAll >= MAX_A_SECOND) return false;
    this.asked.set(client, count + 1);
    this.askedInAll += 1;
    return true;
  }

  /** Begins a query that leaves the gateway; false if there are too many. */
  begin(client: Address): boolean {
    const count = this.waiting.get(client) ?? 0;
    if (count >= MAX_UNDER_WAY_OF_CLIENT || this.total >= MAX_UNDER_WAY) return false;
    this.waiting.set(client, count + 1);
    this.total += 1;
    return true;
  }

  end(client: Address): void {
    const count = (this.waiting.get(client) ?? 1) - 1;
    if (count === 0) this.waiting.delete(client);
    else this.waiting.set(client, count);
    this.total -= 1;
  }
}
