import { type Address, addressOf, overlap, type Prefix, prefixOf } from "../base/address.ts";
import type { Alarm } from "../base/alert.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import type { Bus } from "../base/bus.ts";
import { GatewayError, messageOf } from "../base/errors.ts";
import type { Mac } from "../base/mac.ts";
import { Queue } from "../base/queue.ts";
import { meshesBeside, withMeshes } from "../network/entrances.ts";
import { type HostNetwork, NO_NETWORK, networkBeside } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";
import type { Slot } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { Connections } from "./connections.ts";
import { foreignRoutes, removeRoutes } from "./foreign-routes.ts";
import { bypassIn } from "./foreign-rule.ts";
import { leadsToHome } from "./homes.ts";
import { OWN_NUMBERS, ruleDifferences } from "./kernel-rules.ts";
import { LoadedLayers } from "./loaded-layers.ts";
import type { Progress } from "./loaded-table.ts";
import { usesPage } from "./networks.ts";
import { Notice } from "./notice.ts";
import { OwnChanges } from "./own-changes.ts";
import {
  canLeaveDirectly,
  type Exit,
  isAnyDirect,
  mergedPolicy,
  type PolicyPart,
  type Remote,
  tunnelsOf,
} from "./policy.ts";
import { Readings } from "./readings.ts";
import { homeAt } from "./remote-part.ts";
import type { Damage, Repairs } from "./repairs.ts";
import { type Inspection, inspectionOf, type Layers, layersOf } from "./report.ts";
import { interfacesTo, meshPrefixes, overlapOf, routersTo } from "./routed.ts";
import { type Wanted, wantedFor } from "./wanted.ts";

export interface KillSwitchEvents {
  /** Something goes through the uplink, outside the tunnel, or nothing any more, or it is another uplink. */
  direct_uplink_changed: null;
}

interface Surroundings {
  /** The slots whose routing tables, like the LAN's, must have no routes of other programs. */
  slots: readonly Slot[];
  events: Pick<Bus<KillSwitchEvents>, "publish">;
}

/** If the service cannot start, nothing else of it is there. */
const ALONE: Surroundings = { slots: [], events: { publish: () => {} } };

/**
 * The kill switch in the kernel: the firewall's table and the routing rules. It is the only writer of both, and merges
 * what all owners need. It checks what it has loaded, and repairs it. Changes and repairs run one after another, so
 * that a repair never restores an earlier state.
 */
export class KillSwitch {
  /** Why the last change did not reach the kernel, or null. */
  fault: string | null = null;
  /** A routing rule of another program that comes before ours: then only the firewall blocks. */
  readonly foreignRule: Notice<"foreign_rule">;
  /** A route of the machine that leads to a part of the LAN by another interface. */
  readonly lanRoute: Notice<"lan_route">;
  /** The uplink if anything goes through it, outside the tunnel; null otherwise. */
  directUplink: string | null = null;
  private own: HostNetwork | null = null;
  private readonly parts = new Map<string, PolicyPart>();
  private wanted: Wanted | null = null;
  private readonly loaded: LoadedLayers;
  private readonly ownChanges: OwnChanges;
  private readonly queue = new Queue();
  /** The number of the firewall's last change when the table was last found missing. */
  private foundGoneAt = -1;
  private readonly readings: Readings;
  private readonly connections: Connections;

  constructor(
    private readonly host: Host,
    /** Whether the operator wants the kill switch. If not, only what a tunnel needs is loaded. */
    private readonly isOn: () => boolean,
    private readonly repairs: Repairs,
    private readonly alarm: Alarm,
    private readonly surroundings: Surroundings = ALONE,
  ) {
    this.foreignRule = new Notice(alarm, "foreign_rule", () => alarm("foreign_rule_gone", {}));
    this.connections = new Connections(host, (address) => this.deviceAt(address));
    this.lanRoute = new Notice(alarm, "lan_route", () => alarm("lan_route_gone", {}));
    this.ownChanges = new OwnChanges(host);
    this.loaded = new LoadedLayers(host, this.ownChanges, () => void this.readings.compare());
    this.readings = new Readings({
      host,
      queue: this.queue,
      loaded: this.loaded.table,
      network: () => this.network,
      // The wanted state may still wait for its turn.
      rules: () => this.loaded.rules ?? this.wanted?.rules ?? [],
      onAltered: () => this.repairLater(),
    });
  }

  /** The machine's own network, which both layers are made for. */
  get network(): HostNetwork {
    return this.own ?? NO_NETWORK;
  }

  /** The LAN, including the networks behind its routers. */
  get lans(): readonly Lan[] {
    return this.wanted?.lans ?? this.network.lans;
  }

  /** Those of it whose devices may use the page. */
  get served(): readonly Lan[] {
    const policy = this.wanted?.policy;
    return policy === undefined ? this.lans : this.lans.filter((lan) => usesPage(policy, lan));
  }

  /** Whether the operator wants the kill switch. */
  get isWanted(): boolean {
    return this.isOn();
  }

  /** How remote devices come in; null while none may. */
  get remote(): Remote | null {
    return this.wanted?.policy.remote ?? null;
  }

  /** Whether a tunnel with this name leads to another home now. */
  leadsToHome(tunnel: string): boolean {
    const policy = this.wanted?.policy;
    return policy !== undefined && tunnelsOf(tunnel, policy).some((each) => leadsToHome(each, policy.remote));
  }

  /** Where a network behind another router is: by which interfaces, and what else has its addresses. */
  wayTo(prefix: Prefix): { interfaces: string[]; overlap: string | null } {
    const network = this.countedIn(this.network);
    const { endpoints } = mergedPolicy(this.parts, network);
    return { interfaces: interfacesTo(prefix, network), overlap: overlapOf(prefix, network, endpoints) };
  }

  /** The MAC addresses of the routers that lead to a network, as far as they are known; null if its hosts are on the cable. */
  routersTo(prefix: Prefix): Mac[] | null {
    const routers = routersTo(prefix, this.network);
    return routers.includes(null) ? null : routers.flatMap((each) => (each && this.deviceAt(each)) ?? []);
  }

  /** What of the gateway's own networks has addresses of a prefix, for people; null if nothing has. */
  ownerOf(prefix: Prefix): string | null {
    const policy = mergedPolicy(this.parts, this.countedIn(this.network));
    const owner = overlapOf(prefix, this.countedIn(this.network), []);
    const [behind] = policy.routed.filter((network) => overlap(network.prefix, prefix));
    const [mesh] = meshPrefixes(policy).filter((network) => overlap(network, prefix));
    const [remote] = (policy.remote?.networks ?? []).filter((network) => overlap(network, prefix));
    if (owner !== null) return owner;
    if (mesh !== undefined) return `the network ${mesh} of a mesh`;
    if (behind !== undefined) return `the network ${behind.prefix} behind another router`;
    if (remote === undefined) return null;
    const home = homeAt(policy.remote, addressOf(remote));
    return home === undefined ? `the remote devices, ${remote}` : `${remote} of the linked home ${home.name}`;
  }

  /** Whether something carries what is to go through this exit. */
  isOpen(exit: Exit): boolean {
    const policy = this.wanted?.policy;
    if (policy === undefined) return false;
    switch (exit.to) {
      case "direct":
        return canLeaveDirectly(policy);
      case "tunnel":
        return tunnelsOf(exit.name, policy).length > 0;
      case "blocked":
        return false;
    }
  }

  /**
   * Replaces or withdraws what one owner needs; the parts of other owners stay. What is already loaded is not written
   * again. Nothing is loaded before `updateNetwork`, so that all live tunnels are known before the first load.
   * `onServers` may be called earlier: when the kernel permits the servers that tunnels reach without a relay.
   */
  async update(owner: string, part: PolicyPart | null, onServers?: () => void): Promise<void> {
    if (part === null) this.parts.delete(owner);
    else this.parts.set(owner, part);
    if (this.own !== null) await this.load(this.own, onServers);
  }

  /** To be called when the kill switch has been turned on. */
  async enforce(): Promise<void> {
    if (this.own !== null) await this.load(this.own);
  }

  /** To be called when the machine's own network is first known, and when it changes. */
  async updateNetwork(network: HostNetwork): Promise<void> {
    // A start says the same reading twice. What the kernel loses in between is put back once its events are heard.
    if (network !== this.own) this.loaded.forgetRoutes();
    this.own = network;
    this.lanRoute.set(leadAway(network));
    await this.load(network);
  }

  /**
   * To be called when the machine's network has changed and is now as before. When an interface or an address
   * disappears, the kernel silently removes routes, also from these tables.
   */
  restoreRoutes(): Promise<void> {
    return this.queue.add(async () => {
      this.loaded.forgetRoutes();
      if (this.wanted !== null) await this.loaded.loadRoutes(this.wanted);
    });
  }

  /** Settles once all changes and readings that were asked for so far are done. */
  settled(): Promise<void> {
    return this.queue.drained();
  }

  /**
   * Resolves when the connections that the policy has ended are gone. With `repaired`, a repair has taken place before
   * which some connections may have become wrong.
   */
  async settleConnections(repaired = false): Promise<void> {
    if (this.wanted !== null) await this.connections.settle(this.wanted.policy, repaired);
  }

  /**
   * Reads the kernel's state, and reverts what another program has changed. A table that another program has deleted, by
   * the change with the number `goneAt`, is loaded before anything is read: on a busy event loop each command is a turn to
   * wait for.
   */
  mend(goneAt: number | null = null): Promise<void> {
    return this.queue.add(() => this.restore(goneAt));
  }

  /**
   * Whether a change to the table that the kernel reports is ours; it reports each of ours once. If reports may have been
   * missed, ours may be among them, and the next report may be of another program's change.
   */
  isOwnChange({ missed, goneAt }: { missed: boolean; goneAt: number | null }): boolean {
    if (missed || !this.readings.isWatched) this.ownChanges.forget();
    return this.ownChanges.take(goneAt !== null);
  }

  /** To be called when the kernel reports a change of either layer, ours included: what was read before is not used again. */
  changed(): void {
    this.readings.forget();
  }

  /** Whether every change is reported from now on. While it is not, each question reads the kernel again. */
  setWatched(watched: boolean): void {
    this.readings.setWatched(watched);
  }

  /** To be called once all changes of the firewall up to this number have been reported to `changed`. */
  reported(generation: number): void {
    this.readings.reported = generation;
  }

  /** The device that has an address of the LAN, or had it last; null if no owner knows one. */
  private deviceAt(address: Address): Mac | null {
    for (const { deviceAt } of this.parts.values()) if (deviceAt !== undefined) return deviceAt(address);
    return null;
  }

  private readonly repairLater = () => void this.mend().catch(() => {});

  /** Whether the kernel has the blocking firewall, unaltered. If not, a repair is scheduled. */
  stands(): Promise<boolean> {
    return this.readings.stands();
  }

  /** Each part as the kernel has it. */
  async inspection(fault: string | null): Promise<Inspection> {
    return inspectionOf(await this.readings.parts(), fault);
  }

  /** The same by layer, and how many devices may leave outside the tunnel. */
  async layers(): Promise<Layers & { direct: number }> {
    const found = await this.readings.parts();
    return { ...layersOf(found), direct: found.direct };
  }

  private async load(network: HostNetwork, onServers?: () => void): Promise<void> {
    this.wanted = this.wantedOn(network);
    // A call that changes nothing waits only for changes, and not for readings.
    if (await this.queue.addReading(async () => this.isApplied())) return;
    const inForce = Promise.withResolvers<void>();
    // By then another owner may have changed its part: one load is enough for both.
    const applied = this.queue.add(() => this.apply({ onServers, onCommitted: inForce.resolve }));
    return Promise.race([inForce.promise, applied]);
  }

  private isApplied(): boolean {
    return this.fault === null && this.wanted !== null && this.loaded.has(this.wanted);
  }

  /** The network with its meshes, without prefixes that have addresses of tunnels or of remote devices. */
  private countedIn(network: HostNetwork): HostNetwork {
    const parts = [...this.parts.values()];
    const tunnels = parts.flatMap(({ endpoints = [] }) => endpoints);
    const inside = tunnels.flatMap(({ addresses }) => addresses);
    const ofTunnels = [...inside, ...tunnels.flatMap(({ resolvers }) => resolvers)].map(prefixOf);
    const ofRemotes = parts.flatMap(({ remote }) => remote?.networks ?? []);
    return withMeshes(meshesBeside(networkBeside(network, inside), [...ofTunnels, ...ofRemotes]));
  }

  private wantedOn(found: HostNetwork): Wanted {
    const network = this.countedIn(found);
    const policy = mergedPolicy(this.parts, network);
    this.setDirect(isAnyDirect(policy) ? network.uplink : null);
    return wantedFor(policy, network, this.isOn());
  }

  private setDirect(uplink: string | null): void {
    if (uplink === this.directUplink) return;
    this.directUplink = uplink;
    this.surroundings.events.publish({ type: "direct_uplink_changed", payload: null });
  }

  /**
   * Without the kill switch, the former table would let out what comes by a tunnel that it does not know, so servers wait
   * for the next one.
   */
  private async apply({ onServers, onCommitted }: Progress = {}): Promise<void> {
    const { wanted } = this;
    if (wanted === null) return;
    try {
      await this.loaded.load(wanted, { onServers: this.isOn() ? onServers : undefined, onCommitted });
      void this.connections.settleOnceAnswered(wanted.policy);
      if (this.fault !== null) this.alarm("protection_restored", {});
      this.fault = null;
    } catch (error) {
      const first = this.fault === null;
      this.fault = messageOf(error);
      if (first) this.alarm("protection_failed", { what: whatFailed(error), reason: this.fault });
      throw error;
    } finally {
      this.changed();
    }
  }

  /** The parts that block are loaded first. While they are missing, the rest lets nothing out. */
  private async restore(goneAt: number | null): Promise<void> {
    if (this.wanted === null) return;
    try {
      // A report that comes late may be of what a look has found: that was told, and mended.
      if (goneAt !== null && goneAt > this.foundGoneAt) await this.restoreTable();
      await this.restoreBoth();
    } finally {
      await this.removeForeignRoutes();
      await this.loaded.restoreRest(this.wanted);
    }
  }

  private restoreTable(): Promise<void> {
    this.readings.tableIsGone();
    return this.repairs.repair([REMOVED], () => this.reload(), this.repairLater);
  }

  private async restoreBoth(): Promise<void> {
    const damages = await this.damages();
    if (damages.length === 0 && this.fault === null) return;
    const work = () => {
      this.loaded.rules = null;
      return this.reload();
    };
    await this.repairs.repair(damages, work, this.repairLater);
  }

  private async reload(): Promise<void> {
    this.loaded.table.forget();
    await this.apply();
    void this.settleConnections(true);
  }

  private async removeForeignRoutes(): Promise<void> {
    const lanLinks = [
      ...this.lans.map((lan) => lan.interface),
      ...(this.remote === null ? [] : [this.remote.interface]),
    ];
    const { slots } = this.surroundings;
    const routes = slots.length === 0 ? [] : await foreignRoutes(this.host, slots, lanLinks);
    if (routes.length === 0) return;
    const args = { what: "route", route: routes[0]?.text ?? "" } as const;
    const work = () => removeRoutes(this.host, routes);
    await this.repairs.repair([{ layer: "routing", args }], work, this.repairLater);
  }

  /** Compares the kernel with what was loaded last. The wanted state may still wait for its turn. */
  private async damages(): Promise<Damage[]> {
    // Questions that come meanwhile share this look. They see the damage and do not wait for its repair.
    const [{ listing, asLoaded, generation }, { ours, ahead }] = await this.readings.renewed();
    if (listing === null) this.foundGoneAt = generation ?? this.foundGoneAt;
    this.foreignRule.set(this.wanted?.rules.length === 0 ? null : bypassIn(ahead));
    const damages: Damage[] = [];
    if (!asLoaded) damages.push(listing === null ? REMOVED : ALTERED);
    if (this.loaded.rules !== null && ruleDifferences(ours, this.loaded.rules) > 0) {
      damages.push({ layer: "routing", args: { what: "rules", rules: OWN_NUMBERS } });
    }
    return damages;
  }
}

const REMOVED = { layer: "firewall", args: { what: "removed" } } as const;
const ALTERED = { layer: "firewall", args: { what: "altered" } } as const;

/** Routes that lead to a part of the LAN by another interface, or null. */
function leadAway({ routesAgainstLan: [route, ...others] }: HostNetwork): AlertArgs<"lan_route"> | null {
  return route === undefined ? null : { route, more: others.length };
}

/** A command that was killed may have taken effect. */
function whatFailed(error: unknown): "late" | "refused" {
  return error instanceof GatewayError && error.code === "timed_out" ? "late" : "refused";
}
