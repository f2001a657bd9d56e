import type { Host } from "../system/host.ts";

/** The kernel reports a change within 4 ms, later on a busy Pi. */
const REPORTED_WITHIN_MS = 1_000;

interface Change {
  deletes: boolean;
}

/** The gateway's own changes to the table, which the kernel reports as it does those of other programs. */
export class OwnChanges {
  /** The changes that the kernel has not reported yet. */
  private readonly unreported = new Set<Change>();

  constructor(private readonly host: Pick<Host, "sleep">) {}

  /** Makes a change whose report is to be ignored; with `deletes`, one that leaves no main table. */
  async make<T>(change: () => Promise<T>, deletes = false): Promise<T> {
    const token = { deletes };
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

  /**
   * Takes in the report of a change; returns whether it is of one of ours. The kernel reports each once, unless it finds
   * nothing to change. That the main table is gone is never taken for the report of a change that leaves one.
   */
  take(gone = false): boolean {
    for (const token of this.unreported) if (!gone || token.deletes) return this.unreported.delete(token);
    return false;
  }

  /** Reports may have been missed, ours among them: the next may be of another program's change. */
  forget(): void {
    this.unreported.clear();
  }
}
