/** What the database had before an effect, so that what this opens can be compared with it. */
export class Kept<Saved> {
  private known: { now: Saved; before: Saved } | null = null;
  /** What it had when the change that takes effect now was begun. */
  private given: readonly Saved[] = [];
  /** Whether the kernel has refused something, since then and before: what is refused goes back to what there was. */
  private isRefused = { since: false, before: false };

  constructor(private readonly read: () => Saved) {}

  /**
   * To be called when a change of the firewall begins; what it returns, before that takes effect. The program that makes it
   * has its input from the start: what is saved while it runs comes with the next one.
   */
  begin(): () => void {
    const given = this.read();
    return () => {
      this.remember();
      this.given = [given];
    };
  }

  /** To be called when the database has been read again. */
  remember(): void {
    this.given = [];
    const { known } = this;
    const saved = this.read();
    if (Bun.deepEquals(known?.now, saved)) return;
    this.known = { now: saved, before: known?.now ?? saved };
    // What closes is saved while the kernel gets it, which may have refused it by then.
    this.isRefused = { since: false, before: this.isRefused.since };
  }

  /** By the kernel: a change of the firewall. */
  refused(): void {
    this.isRefused.since = true;
  }

  /** Of which each may be in the kernel. */
  get possible(): Saved[] {
    const { known } = this;
    if (known === null) return [];
    const { since, before } = this.isRefused;
    return [known.now, ...(since || before ? [known.before] : []), ...this.given];
  }
}
