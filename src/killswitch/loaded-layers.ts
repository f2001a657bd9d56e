import { LAN_TABLE, ROUTED_TABLE } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { ArpTable } from "./arp.ts";
import { applyRules } from "./kernel-rules.ts";
import { LoadedTable, type Progress } from "./loaded-table.ts";
import type { OwnChanges } from "./own-changes.ts";
import { RouteTable } from "./routed.ts";
import type { Rule } from "./routing-rules.ts";
import type { Wanted } from "./wanted.ts";

/** What the kernel has been given: the firewall's tables, the routing rules, and the gateway's own routing tables. */
export class LoadedLayers {
  readonly table: LoadedTable;
  /** The routing rules that the kernel has; null if that is unknown, and during any change. */
  rules: readonly Rule[] | null = null;
  private readonly arp: ArpTable;
  private readonly routed: RouteTable;
  private readonly lanRoutes: RouteTable;

  constructor(
    private readonly host: Host,
    ownChanges: OwnChanges,
    /** Called when a listing of the firewall's table is needed. */
    onUncompared: () => void,
  ) {
    this.table = new LoadedTable(host, ownChanges, onUncompared);
    this.arp = new ArpTable(host, ownChanges);
    this.routed = new RouteTable(host, ROUTED_TABLE);
    this.lanRoutes = new RouteTable(host, LAN_TABLE);
  }

  has(wanted: Wanted): boolean {
    return wanted.ruleset === this.table.ruleset && this.hasRest(wanted);
  }

  /** Whether the kernel has everything but the firewall's table. */
  private hasRest({ rules, routes, lanRoutes }: Wanted): boolean {
    return Bun.deepEquals(rules, this.rules) && this.routed.has(routes) && this.lanRoutes.has(lanRoutes);
  }

  /** Reports progress only if nothing but the firewall's table changes. */
  async load(wanted: Wanted, progress: Progress): Promise<void> {
    const isOnlyTable = this.hasRest(wanted) && this.arp.has(wanted.arp);
    await this.loadBoth(wanted, isOnlyTable ? progress : {});
    // Without them, networks behind routers, or the gateway, are sometimes out of reach. Nothing else is wrong.
    await Promise.all([this.loadRoutes(wanted), this.arp.load(wanted.arp)]);
  }

  private async loadBoth({ ruleset, rules }: Wanted, progress: Progress): Promise<void> {
    const table = this.table.load(ruleset, progress);
    // An earlier version may have left rules that route packets without a mark, and a table that sets no marks. Only
    // the new table works with both.
    const ready = this.rules === null ? table.catch(() => {}) : null;
    const outcomes = await Promise.allSettled([table, this.loadRules(rules, ready)]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  private async loadRules(rules: readonly Rule[], ready: Promise<unknown> | null): Promise<void> {
    if (Bun.deepEquals(rules, this.rules)) return;
    this.rules = null;
    await applyRules(this.host, rules, ready);
    this.rules = rules;
  }

  async loadRoutes({ routes, lanRoutes }: Wanted): Promise<void> {
    await Promise.all([this.routed.load(routes), this.lanRoutes.load(lanRoutes)]);
  }

  /** Loads what the kernel has lost beside the firewall's table and the rules. */
  async restoreRest(wanted: Wanted): Promise<void> {
    this.forgetRoutes();
    await Promise.all([this.loadRoutes(wanted), this.arp.restore()]);
  }

  /** The next load of routes compares with the kernel. */
  forgetRoutes(): void {
    for (const table of [this.routed, this.lanRoutes]) table.forget();
  }
}
