/**
 * Divides what there is among clients. Each may have a ninth of what is left for the others then, or another part: the first
 * one gets a tenth of all, and the less is left, the less a client gets. So there is some left for one that comes later.
 */
export class Shares {
  private readonly held = new Map<string, number>();
  private total = 0;

  constructor(
    private readonly all: number,
    /** Times what a client has must be left. */
    private readonly leftToOthers = 9,
    /** What each client may have even if the others have taken all. There must be a bound on clients. */
    private readonly atLeast = 0,
  ) {}

  /** Takes an amount for a client; false, and nothing is taken, if it is more than the client's share. */
  take(client: string, amount = 1): boolean {
    const then = this.of(client) + amount;
    if (!this.isWithin(then, amount)) return false;
    this.held.set(client, then);
    this.total += amount;
    return true;
  }

  /** The same, whatever its share is. */
  add(client: string, amount = 1): void {
    this.held.set(client, this.of(client) + amount);
    this.total += amount;
  }

  /** Whether a client could take the amount. */
  has(client: string, amount = 1): boolean {
    return this.isWithin(this.of(client) + amount, amount);
  }

  give(client: string, amount = 1): void {
    const rest = this.of(client) - amount;
    if (rest > 0) this.held.set(client, rest);
    else this.held.delete(client);
    this.total -= amount;
  }

  /** Whether a client that takes the amount may have so much then. */
  private isWithin(then: number, amount: number): boolean {
    return then <= this.atLeast || this.leftToOthers * then <= this.all - this.total - amount;
  }

  /** How much a client has. */
  of(client: string): number {
    return this.held.get(client) ?? 0;
  }
}
