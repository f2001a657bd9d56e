import type { Prefix } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import { nextBeat } from "../base/beat.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import type { Host } from "../system/host.ts";
import { memoryBytes } from "../system/resources.ts";
import {
  BOUNDS_TABLE,
  boundsFor,
  mostConnections,
  OF_INTERFACE,
  type Refused,
  readRefused,
} from "./bounds-table.ts";
import { nftTable, OwnTable } from "./own-table.ts";
import { applySysctls, roomFor } from "./sysctls.ts";

const ALL = "/proc/sys/net/netfilter/nf_conntrack_max";
const TAKEN = "/proc/sys/net/netfilter/nf_conntrack_count";
/** Used if the kernel does not say it: the value of a machine with 1 to 4 GiB (nf_conntrack_core.c). */
const USUAL_PLACES = 65_536;
const LOOK_EVERY_MS = 12_000;
/** Parts of the table, four fifths of what an interface may take: an alert begins at the first and ends below the second. */
const FULL = 0.6;
const ROOMY = 0.52;

/** The kernel's connection table. */
export interface Places {
  taken: number;
  all: number;
}

interface Deps {
  host: Host;
  /** Of the gateway's own interface. */
  ports: readonly number[];
  alarm: Alarm;
  log: Pick<Log, "info" | "warn">;
}

/**
 * Keeps room in the kernel's tables, which all devices and the gateway share, and sends an alert when there is none.
 */
export class ConntrackGuard {
  private isFull = false;
  /** Before that, nothing is loaded. */
  private isWatched = false;
  private remote: string | null = null;
  private homes: readonly Prefix[] = [];
  /** One load after another, so that the last one wins. */
  private readonly loads = new Queue();
  private readonly table: OwnTable<string>;

  constructor(private readonly deps: Deps) {
    this.table = new OwnTable(deps.log, {
      ...nftTable(deps.host, BOUNDS_TABLE, (text: string) => text),
      fault: "one device may take all connections",
    });
  }

  /** Makes room, loads the limits of each device, and looks at the connection table until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, log } = this.deps;
    const changed = await applySysctls(host, roomFor(memoryBytes())).catch((error: unknown) => {
      log.warn(`the kernel's tables keep their size: ${messageOf(error)}`);
      return [];
    });
    for (const { path, value, why } of changed) log.info(`set net/${path} to ${value}: ${why}`);
    this.isWatched = true;
    while (!signal.aborted) {
      if (this.table.current === null) await this.load();
      await this.look();
      await nextBeat(host, LOOK_EVERY_MS, signal);
    }
  }

  /** Another program has changed the firewall, and may have removed the limits. */
  async check(): Promise<void> {
    if (this.isWatched) await this.loads.add(async () => this.table.check(await this.text()));
  }

  /** Limits devices and other homes that come in by this interface too; null while none may. */
  async limitRemote(link: string | null, homes: readonly Prefix[] = []): Promise<void> {
    if (link === this.remote && Bun.deepEquals(homes, this.homes)) return;
    this.remote = link;
    this.homes = homes;
    if (this.isWatched) await this.load();
  }

  /** Null if the kernel has no such table yet. */
  async places(): Promise<Places | null> {
    const [taken, all] = await Promise.all([this.read(TAKEN), this.read(ALL)]);
    return taken === null || all === null ? null : { taken, all };
  }

  /** What devices were refused in the last minutes; null if the limits are not in the kernel. */
  async refused(): Promise<Refused | null> {
    return (await this.table.isThere(await this.text())) ? readRefused(this.deps.host) : null;
  }

  private load(): Promise<void> {
    return this.loads.add(() => this.table.attempt(async () => this.table.load(await this.text())));
  }

  private async text(): Promise<string> {
    const places = (await this.read(ALL)) ?? USUAL_PLACES;
    return boundsFor({
      ...{ most: mostConnections(places), places },
      ...{ ports: this.deps.ports, remote: this.remote, homes: this.homes },
    });
  }

  private async look(): Promise<void> {
    const places = await this.places();
    if (places === null) return;
    const { taken, all } = places;
    if (!this.isFull && isNearlyFull(places)) {
      this.isFull = true;
      this.deps.alarm("connections_full", { taken, all, share: Math.floor(all * OF_INTERFACE) });
    } else if (this.isFull && taken < all * ROOMY) {
      this.isFull = false;
      this.deps.alarm("connections_free", {});
    }
  }

  private async read(path: string): Promise<number | null> {
    const text = (await this.deps.host.read(path))?.trim() ?? "";
    return /^\d+$/.test(text) ? Number(text) : null;
  }
}

/** Whether the table is full enough for an alert. */
export function isNearlyFull({ taken, all }: Places): boolean {
  return taken >= all * FULL;
}
