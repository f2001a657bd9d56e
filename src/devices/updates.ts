import type { Host } from "../system/host.ts";
import type { DeviceUpdate } from "./schema.ts";

/** Changes are gathered this long, because one device causes several at once. */
const GATHERED_MS = 200;
/** At most so many updates each time: anyone on the LAN can invent devices, and listeners must keep up. */
const MOST_AT_ONCE = 50;

interface Deps {
  clock: Pick<Host, "sleep">;
  /** The devices of these ids as they are now; without those that no longer exist. */
  rowsOf: (ids: readonly string[]) => Promise<readonly DeviceUpdate[]>;
  publish: (update: DeviceUpdate) => void;
}

/** Tells listeners of each change of a device, and of nothing that they know already. */
export class Updates {
  private readonly told = new Map<string, DeviceUpdate>();
  private readonly changed = new Set<string>();
  private isGathering = false;

  constructor(private readonly deps: Deps) {}

  /** These devices may have changed. */
  touch(ids: Iterable<string>): void {
    for (const id of ids) this.changed.add(id);
    if (this.isGathering || this.changed.size === 0) return;
    this.isGathering = true;
    void this.deps.clock.sleep(GATHERED_MS).then(() => this.tell());
  }

  /** The devices that listeners take to be online. */
  get online(): string[] {
    return [...this.told.values()].filter(({ online }) => online).map(({ id }) => id);
  }

  private async tell(): Promise<void> {
    const ids = [...this.changed].slice(0, MOST_AT_ONCE);
    for (const id of ids) this.changed.delete(id);
    const rows = await this.deps.rowsOf(ids);
    const known = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!known.has(id)) this.told.delete(id);
    for (const { id, name, exit, online } of rows) {
      const update = { id, name, exit, online };
      if (Bun.deepEquals(this.told.get(id), update)) continue;
      this.told.set(id, update);
      this.deps.publish(update);
    }
    this.isGathering = false;
    this.touch([]);
  }
}
