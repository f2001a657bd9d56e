import type { Alarm } from "../base/alert.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { KillSwitch, KillSwitchEvents } from "../killswitch/killswitch.ts";
import { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import { MAIN } from "../killswitch/policy.ts";
import { Protection } from "../killswitch/protection.ts";
import { Repairs } from "../killswitch/repairs.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { allSlots, MAIN_SLOT, remoteLinkOf, slotOf } from "../network/slot.ts";
import type { Provider, Server } from "../servers/schema.ts";
import { tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import type { Config } from "../wireguard/schema.ts";
import type { Known } from "./adoption.ts";
import { HttpsClient } from "./https-client.ts";
import { Kernel } from "./kernel.ts";
import { conflicts } from "./key-conflicts.ts";
import { KeyHolders } from "./key-holders.ts";
import { Machine } from "./machine.ts";
import { type MachineEvents, MachineSupervisor } from "./machine-supervisor.ts";
import { assertTunnelName } from "./name.ts";
import type { OrderTarget } from "./order.ts";
import { PathMtu } from "./path-mtu.ts";
import { isPoor, type MeasuredPaths } from "./quality-verdict.ts";
import { refused } from "./refusals.ts";
import { Resolver } from "./resolver.ts";
import { RoundTrips } from "./roundtrips.ts";
import type { SavedState } from "./saved-state.ts";
import { clashOf } from "./session.ts";
import { freeSlot, removeOrphans } from "./slots.ts";
import type { Target } from "./target.ts";
import type { KnownOfTunnel, TargetFinder } from "./target-finder.ts";
import { type Tunnel, type TunnelDeps, tunnelIn } from "./tunnel.ts";
import { UplinkQuality } from "./uplink-quality.ts";

export interface TunnelEvents extends MachineEvents {
  /** At a start it is known which tunnels are up; the kill switch is not loaded yet. */
  tunnels_adopted: readonly Tunnel[];
}

/** What the tunnels need from the rest of the gateway. */
export interface TunnelsDeps
  extends Pick<
    TunnelDeps,
    | "killSwitch"
    | "repairs"
    | "userspace"
    | "autoconnect"
    | "latest"
    | "alternatives"
    | "register"
    | "qualitySettings"
    | "log"
  > {
  host: Host;
  savedState: SavedState;
  /** The machine's own network, as it is now. */
  findNetwork: () => Promise<HostNetwork>;
  /** Base name of all tunnels' interfaces. */
  base: string;
  alarm: Alarm;
  targets: Pick<TargetFinder, "found">;
  events: Pick<Bus<TunnelEvents>, "publish"> & Pick<Bus<KillSwitchEvents>, "subscribe">;
  /** Runs the removal of a tunnel unless a device uses it; nothing can begin to use it meanwhile. */
  unlessUsed: (tunnel: string, remove: () => Promise<void>) => Promise<void>;
}

/** All tunnels by name, and what they share. `main` always exists; others come and go, each with a slot of its own. */
export class Tunnels {
  readonly killSwitch: KillSwitch;
  readonly protection: Protection;
  readonly roundTrips: RoundTrips;
  readonly machine: Machine;
  /** Of the uplink to its router. */
  readonly uplink: UplinkQuality;
  readonly supervisor: MachineSupervisor;
  readonly main: Tunnel;
  /** Sends the gateway's own requests. */
  readonly httpsClient: HttpsClient;
  private readonly otherFirewalls: OtherFirewalls;
  private readonly resolver: Resolver;
  private readonly kernel: Kernel;
  private readonly keyHolders = new KeyHolders();
  private readonly others = new Map<string, { tunnel: Tunnel; number: number; watching: AbortController }>();
  /** Tunnels that never had a server, and whose removal the kernel refused. */
  private readonly undropped = new Set<Tunnel>();
  private readonly listeners: ((tunnel: Tunnel) => void)[] = [];
  private readonly removalListeners: ((name: string) => void)[] = [];
  /** Set while the tunnels are watched. */
  private watching: AbortSignal | null = null;

  constructor(private readonly deps: TunnelsDeps) {
    const { host, base, alarm } = deps;
    this.killSwitch = deps.killSwitch;
    this.protection = new Protection({ ...deps, unsettled: () => this.main.controller.unsettled });
    this.otherFirewalls = new OtherFirewalls(host, alarm, base, () =>
      this.all().flatMap(({ slot }) => slot.links),
    );
    deps.events.subscribe("direct_uplink_changed", () => this.otherFirewalls.look(this.killSwitch));
    this.resolver = new Resolver({ ...deps, killSwitch: this.killSwitch });
    this.roundTrips = new RoundTrips(host);
    this.uplink = new UplinkQuality(deps);
    this.kernel = new Kernel(host, slotOf(MAIN_SLOT, base), deps.userspace, () => null, this.keyHolders);
    const shared = { ...deps, killSwitch: this.killSwitch, otherFirewalls: this.otherFirewalls };
    const tunnels = () => this.all();
    this.machine = new Machine({ ...shared, tunnels });
    this.supervisor = new MachineSupervisor({
      ...shared,
      machine: this.machine,
      slots: allSlots(base),
      remoteLink: remoteLinkOf(base),
      tunnels,
      dropAgain: () => this.dropAgain(),
    });
    this.main = this.newTunnel(MAIN, MAIN_SLOT);
    this.httpsClient = new HttpsClient({
      ...shared,
      controller: this.main.controller,
      resolver: this.resolver,
    });
    this.takeUpSaved();
  }

  /** `main` first, then by name. */
  all(): readonly Tunnel[] {
    const others = [...this.others.values()].map(({ tunnel }) => tunnel);
    return [this.main, ...others.sort((a, b) => (a.name < b.name ? -1 : 1))];
  }

  /** Null if there is none of this name. */
  find(name: string): Tunnel | null {
    return name === MAIN ? this.main : (this.others.get(name)?.tunnel ?? null);
  }

  /** Throws `not_found`. */
  named(name: string, field = "name"): Tunnel {
    const tunnel = this.find(name);
    if (tunnel === null) throw refused("tunnel_unknown", { field });
    return tunnel;
  }

  /** The tunnel of that name; makes it if there is none. A new one is saved with its first server. */
  async opened(name: string): Promise<Tunnel> {
    assertTunnelName(name);
    const ending = this.others.get(name)?.tunnel.controller.ending;
    if (ending != null) {
      await ending.catch(() => {});
      return this.opened(name);
    }
    if (name === MAIN || this.others.has(name)) return this.named(name);
    const links = await this.kernel.links();
    // Another request may have made it meanwhile.
    if (this.others.has(name)) return this.named(name);
    return this.add(name, freeSlot(this.deps.base, this.takenSlots, links));
  }

  /**
   * Removes a tunnel that never had a server, unless another request is about to connect it, or a device has been given it
   * meanwhile.
   */
  async dropUnused(tunnel: Tunnel): Promise<void> {
    if (this.isUnsaved(tunnel)) await this.deps.unlessUsed(tunnel.name, () => this.dropUnsaved(tunnel));
  }

  /** The same although devices may have it: a restore decides anew who has what. */
  async dropUnsaved(tunnel: Tunnel): Promise<void> {
    const known = this.others.get(tunnel.name)?.tunnel;
    if (known === undefined || !this.isUnsaved(tunnel)) return;
    await this.end(known).catch((error: unknown) => {
      this.undropped.add(known);
      throw error;
    });
  }

  private isUnsaved({ name, controller }: Tunnel): boolean {
    if (name === MAIN || this.deps.savedState.tunnels().has(name) || controller.isAsked) return false;
    return this.others.get(name)?.tunnel.controller === controller;
  }

  private async dropAgain(): Promise<void> {
    const tunnels = [...this.undropped];
    this.undropped.clear();
    for (const tunnel of tunnels) await this.dropUnused(tunnel).catch(() => {});
  }

  /**
   * Ends a tunnel that no device uses, and frees its slot. If it throws, the tunnel is still there, or would be after a
   * restart, because the database cannot be written.
   */
  async remove(name: string): Promise<void> {
    const tunnel = this.named(name);
    if (name === MAIN) throw refused("tunnel_main_stays");
    await this.deps.unlessUsed(name, () => this.end(tunnel));
    this.deps.savedState.assertSaved();
  }

  /**
   * Turns the kill switch on; takes up the tunnels in the kernel, or reconnects them to their last servers. `seen` is the
   * machine's network if it is known that there is no tunnel.
   */
  async start(known: Known, seen: HostNetwork | null = null): Promise<void> {
    const network = seen ?? (await this.deps.findNetwork());
    const links = seen === null ? await this.kernel.links() : [];
    const left = { links, known, network };
    await this.each(({ start }) => start.adopt(left));
    this.deps.events.publish({ type: "tunnels_adopted", payload: this.all() });
    await this.killSwitch.updateNetwork(network);
    await this.each(({ start }) => start.begin(left));
    await this.each(async ({ start }) => start.beginElsewhere());
    await removeOrphans(
      { ...this.deps, kernel: this.kernel },
      links,
      this.all().map(({ slot }) => slot),
    );
    await this.machine.setSysctls();
  }

  /** Watches the machine and all tunnels until `signal` aborts. */
  watch(signal: AbortSignal): void {
    this.watching = signal;
    void this.supervisor.watch(signal);
    void this.main.supervisor.watch(signal);
    new PathMtu({ ...this.deps, killSwitch: this.killSwitch }).watch(this.main.controller, signal);
    for (const { tunnel, watching } of this.others.values())
      void tunnel.supervisor.watch(AbortSignal.any([signal, watching.signal]));
  }

  /** Ends what is under way; the tunnels stay. */
  async stop(): Promise<void> {
    await Promise.all(this.all().map(({ controller }) => controller.stop()));
  }

  /** Calls back for every tunnel, at once or when it is made. */
  onTunnel(listener: (tunnel: Tunnel) => void): void {
    this.listeners.push(listener);
    for (const tunnel of this.all()) listener(tunnel);
  }

  /** Calls back with the name of each tunnel that has been removed. */
  onRemoved(listener: (name: string) => void): void {
    this.removalListeners.push(listener);
  }

  /** A target, as a tunnel can reach it now; null if it cannot. */
  found(wanted: OrderTarget, name: string): Target | null {
    return this.deps.targets.found(wanted, this.knownOf(name));
  }

  /** What is known of the tunnel of that name, which may not exist. */
  knownOf(name: string): KnownOfTunnel {
    const tunnel = this.find(name);
    return {
      name,
      isMeasured: (...which) => this.roundTrips.has(...which),
      quantum: tunnel?.controller.quantum,
    };
  }

  /** Makes the tunnels that are saved and do not exist yet. */
  takeUpSaved(): void {
    for (const [name, { slot }] of this.deps.savedState.tunnels())
      if (!this.others.has(name)) this.add(name, slot);
  }

  /** What is measured now. */
  get measured(): MeasuredPaths {
    const tunnels = this.all().flatMap(({ name, quality, controller }) => {
      const measured = quality.measuredIn(controller.state);
      return measured === null ? [] : [{ name, ...measured }];
    });
    return { tunnels, uplink: this.uplink.quality.measured };
  }

  /** To be called when the settings of the measurement have changed. */
  qualityChanged(): void {
    this.uplink.changed();
    for (const { quality } of this.all()) quality.changed();
  }

  /** Why the links and routes of a tunnel other than `main` may differ from what it requires, or null. */
  get fault(): string | null {
    const faulty = this.all().find(({ name, controller }) => name !== MAIN && controller.unsettled !== null);
    return faulty === undefined
      ? null
      : `the ${tunnelTitle(faulty.name)} could not be configured: ${faulty.controller.unsettled}`;
  }

  /** Refuses a server whose addresses belong to the LAN. */
  assertNoClash(config: Config): void {
    const clash = clashOf(this.main.controller.network, config);
    if (clash !== null) throw refused("address_clash", { reason: clash });
  }

  /** The tunnel that uses a server, or null. */
  using(provider: Provider, name: string): Tunnel | null {
    return this.all().find(({ controller }) => controller.uses(provider, name)) ?? null;
  }

  private async end(tunnel: Tunnel): Promise<void> {
    const { name, controller } = tunnel;
    const { savedState } = this.deps;
    const known = this.others.get(name);
    // Another request may have removed it meanwhile, and a third made a new one.
    if (known?.tunnel !== tunnel) return;
    // First, so that a crash leaves no tunnel without its server: the next start removes the interface of an unknown one.
    const saved = savedState.tunnels().get(name);
    const [quantum, last] = [savedState.quantum(name), savedState.last(name)];
    savedState.forgetTunnel(name);
    await controller.end().catch((error: unknown) => {
      if (saved !== undefined) savedState.saveTunnel(name, { ...saved, connection: null });
      savedState.saveQuantum(quantum, name);
      savedState.saveLast(name, last);
      throw error;
    });
    if (this.others.get(name) !== known) return;
    // A connect that arrived meanwhile has saved it again.
    if (savedState.tunnels().has(name)) savedState.forgetTunnel(name);
    known.watching.abort();
    this.others.delete(name);
    for (const listener of this.removalListeners) listener(name);
  }

  /** Does the same with one after the other; only what fails for `main` is thrown. */
  private async each(work: (controller: Tunnel["controller"]) => Promise<void>): Promise<void> {
    for (const { name, controller } of this.all()) {
      await work(controller).catch((error: unknown) => {
        if (name === MAIN) throw error;
        this.deps.log.warn(`${name}: ${messageOf(error)}`);
      });
    }
  }

  private add(name: string, number: number): Tunnel {
    const tunnel = this.newTunnel(name, number);
    const watching = new AbortController();
    this.others.set(name, { tunnel, number, watching });
    for (const listener of this.listeners) listener(tunnel);
    if (this.watching === null) return tunnel;
    void tunnel.supervisor.watch(AbortSignal.any([this.watching, watching.signal]));
    // Their rules may accept what enters the other tunnels only.
    void this.otherFirewalls.look(this.killSwitch);
    return tunnel;
  }

  private newTunnel(name: string, number: number): Tunnel {
    const { host, base, log, repairs, alarm } = this.deps;
    const prefixed = (text: string) => (name === MAIN ? text : `${name}: ${text}`);
    return tunnelIn({
      ...this.deps,
      killSwitch: this.killSwitch,
      otherFirewalls: this.otherFirewalls,
      resolver: this.resolver,
      roundTrips: this.roundTrips,
      onAsked: () => this.uplink.ask(),
      found: (wanted, tunnel) => this.found(wanted, tunnel),
      isUplinkPoor: () => this.uplink.quality.measured !== null && isPoor(this.uplink.quality.measured),
      name,
      // A program that contests one tunnel must not delay the repair of another.
      repairs: name === MAIN ? repairs : new Repairs(host, alarm),
      slot: slotOf(number, base),
      conflictOf: (server) => this.conflictOf(name, server),
      keyHolders: this.keyHolders,
      // The gateway's own packets use main.
      looksUpInside: (former) => (name === MAIN ? former?.alive === true : this.main.controller.carriesData),
      sendOn: (way, signal) => this.httpsClient.sendOn(way, signal),
      log: { info: (text) => log.info(prefixed(text)), warn: (text) => log.warn(prefixed(text)) },
    });
  }

  /** The other tunnel that uses a server with the same key, or null. */
  private conflictOf(name: string, server: Server): string | null {
    const other = this.all().find(
      (tunnel) => tunnel.name !== name && tunnel.controller.servers.some((each) => conflicts(each, server)),
    );
    return other?.name ?? null;
  }

  private get takenSlots(): number[] {
    return [MAIN_SLOT, ...[...this.others.values()].map(({ number }) => number)];
  }
}
