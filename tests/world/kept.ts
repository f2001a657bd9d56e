/** The database's state between two changes of it. */
interface State<Saved> {
  saved: Saved;
  /** Whether the kernel has refused something meanwhile. */
  isRefused: boolean;
}

/** More than a few decisions are never under way at once. */
const STATES = 8;

/** What the database had before an effect, so that what this opens can be compared with it. */
export class Kept<Saved> {
  /** The last states, the present one first. */
  private states: State<Saved>[] = [];
  /** What it had when the change that takes effect now was begun. */
  private given: readonly Saved[] = [];

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
    const saved = this.read();
    if (Bun.deepEquals(this.states[0]?.saved, saved)) return;
    this.states = [{ saved, isRefused: false }, ...this.states].slice(0, STATES);
  }

  /** By the kernel: a change of the firewall. */
  refused(): void {
    const [present] = this.states;
    if (present !== undefined) present.isRefused = true;
  }

  /**
   * Of which each may be in the kernel: what is refused goes back to what there was. What closes is saved while the kernel
   * gets it, which may have refused it by then.
   */
  get possible(): Saved[] {
    const { states } = this;
    const others = states.findIndex(
      ({ isRefused }, at) => at > 0 && !isRefused && states[at - 1]?.isRefused === false,
    );
    const possible = others < 0 ? states : states.slice(0, others);
    return [...possible.map(({ saved }) => saved), ...this.given];
  }
}
