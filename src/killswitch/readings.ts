import type { Queue } from "../base/queue.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { Reading } from "../system/reading.ts";
import { readAllRules, type ShownRules } from "./kernel-rules.ts";
import type { LoadedTable } from "./loaded-table.ts";
import {
  allHold,
  directIn,
  type Found as FoundParts,
  leadsOutside,
  type Part,
  readSysctls,
  ruleParts,
  type SysctlParts,
  tableParts,
} from "./report.ts";
import type { Rule } from "./routing-rules.ts";
import { listTable } from "./table.ts";

/** The last reading, and a sentence about it for people. */
interface Found {
  /** With the number of the firewall's last change when the reading began. */
  table: { generation: number | null; listing: string | null; asLoaded: boolean; parts: readonly Part[] };
  rules: ShownRules & { parts: readonly Part[] };
}

/** The limit for a monitor that has lost an event or hangs. */
const READING_EXPIRES_MS = 30_000;
/** The kernel reports no change of a sysctl, so they are read again after this time. */
const SYSCTLS_EXPIRE_MS = 1_000;

interface Deps {
  host: Host;
  /** Readings take turns with changes: otherwise our own replacement of the table would look like an alteration. */
  queue: Queue;
  loaded: Pick<LoadedTable, "learnSpelling" | "isAsLoaded">;
  network: () => HostNetwork;
  /** The wanted routing rules. */
  rules: () => readonly Rule[];
  /** Called when the table is not as it was loaded. */
  onAltered: () => void;
}

/** What the kernel has of the kill switch, as it was read last. */
export class Readings {
  private readonly table: Reading<Found["table"]>;
  private readonly rules: Reading<Found["rules"]>;
  private readonly sysctls: Reading<SysctlParts>;
  /** Whether the kernel's changes are reported to `forget`. */
  private watched = false;
  /** The number of the firewall's last change that was reported. */
  reported: number | null = null;

  constructor(private readonly deps: Deps) {
    this.table = new Reading(deps.host, READING_EXPIRES_MS);
    this.rules = new Reading(deps.host, READING_EXPIRES_MS);
    this.sysctls = new Reading(deps.host, SYSCTLS_EXPIRE_MS);
  }

  /** Whether every change is reported from now on. While it is not, each question reads the kernel again. */
  setWatched(watched: boolean): void {
    this.watched = watched;
    this.forget();
  }

  get isWatched(): boolean {
    return this.watched;
  }

  /** Forgets the last reading, so that it is not used again. */
  forget(): void {
    this.table.forget();
    this.forgetUncounted();
  }

  /** Of the firewall's changes, the kernel tells the number. */
  private forgetUncounted(): void {
    this.rules.forget();
    this.sysctls.forget();
  }

  /** Whether the kernel has the blocking firewall, unaltered. */
  async stands(): Promise<boolean> {
    return allHold((await this.tableFound()).parts);
  }

  async parts(): Promise<FoundParts> {
    if (!this.watched) this.forgetUncounted();
    const { host, queue, network } = this.deps;
    const [table, rules, sysctls] = await Promise.all([
      this.tableFound(),
      this.rules.get(() => queue.addReading(() => this.readRules())),
      this.sysctls.get(() => readSysctls(host, network())),
    ]);
    return {
      table: table.parts,
      rules: rules.parts,
      sysctls,
      direct: directIn(table.listing),
      destinations: leadsOutside(table.listing),
    };
  }

  /** Reads the table and the rules now; to be called in a turn of the queue. Questions that come meanwhile share this look. */
  renewed(): Promise<[Found["table"], Found["rules"]]> {
    return Promise.all([this.table.renew(() => this.readTable()), this.rules.renew(() => this.readRules())]);
  }

  /** Without a look: what is asked until the table is loaded again is answered at once. */
  tableIsGone(): void {
    const parts = tableParts(null, () => false);
    void this.table.renew(async () => ({ generation: null, listing: null, asLoaded: false, parts }));
  }

  /** Lets the loaded table learn nft's spelling from a listing, which answers the next questions, too. */
  async compare(): Promise<void> {
    const listed = this.deps.queue.addReading(() => this.table.renew(() => this.readTable()));
    await listed.then((found) => this.see(found)).catch(() => {});
  }

  /**
   * A report takes milliseconds: until then, the number of the firewall's last change tells that one is due. While nothing
   * is reported, only that number tells whether the last listing is still true.
   */
  private async tableFound(): Promise<Found["table"]> {
    if (!this.watched && (await this.deps.host.firewallGeneration()) === null) this.table.forget();
    const found = await this.lastFound();
    if (await this.isCurrent(found)) return found;
    this.table.forget();
    return this.lastFound();
  }

  private async isCurrent({ generation }: Found["table"]): Promise<boolean> {
    const now = await this.deps.host.firewallGeneration();
    return now === null || now === generation || (this.watched && now === this.reported);
  }

  private lastFound(): Promise<Found["table"]> {
    const { queue } = this.deps;
    return this.table.get(async () => this.see(await queue.addReading(() => this.readTable())));
  }

  private see(found: Found["table"]): Found["table"] {
    if (!found.asLoaded) this.deps.onAltered();
    return found;
  }

  private async readTable(): Promise<Found["table"]> {
    const { host, loaded } = this.deps;
    // First: of a change that comes in between, the listing may have all, and the number must not.
    const generation = await host.firewallGeneration();
    const listing = await listTable(host);
    loaded.learnSpelling(listing);
    const asLoaded = loaded.isAsLoaded(listing);
    return { generation, listing, asLoaded, parts: tableParts(listing, () => asLoaded) };
  }

  private async readRules(): Promise<Found["rules"]> {
    const { host, rules, network } = this.deps;
    const shown = await readAllRules(host);
    return { ...shown, parts: ruleParts(shown, { rules: rules(), network: network() }) };
  }
}
