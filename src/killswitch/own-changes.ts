import type { Host } from "../system/host.ts";

/** The kernel reports a change within 4 ms, later on a busy Pi. */
const REPORTED_WITHIN_MS = 1_000;

/** The gateway's own changes to the table, which the kernel reports as it does those of other programs. */
export class OwnChanges {
  /** The changes that the kernel has not reported yet. */
  private readonly unreported = new Set<symbol>();
  /** The changes of elements whose commit the kernel has not reported yet, in their order. */
  private readonly uncommitted = new Set<{ key: string; committed: () => void }>();

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

  /** To be called when the kernel reports a commit, with all its changes of elements. */
  committed(changes: readonly string[]): void {
    const key = keyOf(changes);
    for (const change of this.uncommitted) {
      if (change.key !== key) continue;
      this.uncommitted.delete(change);
      change.committed();
      return;
    }
  }

  /**
   * Runs work that commits these changes of elements; `committed` resolves when the kernel reports them. Changes are
   * recognised by their content: the reported number of the process (nf_tables_api.c, `nf_tables_fill_gen_info`) is
   * that of the machine, and a process in a container knows only its number there.
   */
  async untilCommitted(
    changes: readonly string[],
    work: (committed: Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const change = { key: keyOf(changes), committed: resolve };
    this.uncommitted.add(change);
    try {
      await work(promise);
    } catch (error) {
      this.uncommitted.delete(change);
      throw error;
    }
    // If the program ends first, the report is still to come. It must not be taken for the report of the same change
    // made again.
    void this.host.sleep(REPORTED_WITHIN_MS).then(() => this.uncommitted.delete(change));
  }
}

function keyOf(changes: readonly string[]): string {
  return changes.toSorted().join("\n");
}
