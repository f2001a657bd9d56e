import type { Host } from "../system/host.ts";

/** The kernel reports a change within 4 ms, later on a busy Pi. */
const REPORTED_WITHIN_MS = 1_000;

/** The gateway's own changes to the table, which the kernel reports as it does those of other programs. */
export class OwnChanges {
  /** Those that the kernel has not reported yet. */
  private readonly unreported = new Set<symbol>();
  /** What to call when the kernel reports the commit of one of our programs, by process id. */
  private readonly commits = new Map<number, () => void>();

  constructor(private readonly host: Pick<Host, "sleep">) {}

  /** Makes a change whose report is to be ignored. */
  async make<T>(change: () => Promise<T>): Promise<T> {
    const token = Symbol();
    this.unreported.add(token);
    try {
      const result = await change();
      void this.host.sleep(REPORTED_WITHIN_MS).then(() => this.unreported.delete(token));
      return result;
    } catch (error) {
      this.unreported.delete(token);
      throw error;
    }
  }

  /** Takes in the report of a change; returns whether it is of one of ours. The kernel reports each once. */
  take(): boolean {
    for (const token of this.unreported) return this.unreported.delete(token);
    return false;
  }

  /** Reports may have been missed, ours among them: the next may be of another program's change. */
  forget(): void {
    this.unreported.clear();
  }

  /** To be called when the kernel reports that a program has committed a change. */
  committed(pid: number): void {
    this.commits.get(pid)?.();
  }

  /** Runs work that starts a program; `committed` resolves when the kernel reports that program's commit. */
  async untilCommitted(work: (committed: (pid: number) => Promise<void>) => Promise<void>): Promise<void> {
    let own: number | null = null;
    const committed = (pid: number) => {
      own = pid;
      return new Promise<void>((resolve) => this.commits.set(pid, resolve));
    };
    try {
      await work(committed);
    } finally {
      if (own !== null) this.commits.delete(own);
    }
  }
}
