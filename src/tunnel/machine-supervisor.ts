import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { ARP_TABLE } from "../killswitch/arp.ts";
import type { KillSwitch } from "../killswitch/killswitch.ts";
import type { OtherFirewalls } from "../killswitch/other-firewalls.ts";
import { TABLE } from "../killswitch/ruleset.ts";
import { type KernelEvent, type Watched, watchKernel } from "../network/kernel-events.ts";
import type { Neighbour } from "../network/neighbours.ts";
import type { Slot } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { Backstop } from "./backstop.ts";
import type { Machine } from "./machine.ts";
import type { Tunnel } from "./tunnel.ts";

/** How often to check whether something failed to apply. */
const LOOK_MS = 1_500;
/**
 * How long an event waits for more of its kind: plugging in a cable, or a new address, causes many; another program's
 * firewall may change all day, and nothing here depends on it.
 */
const SETTLES_MS = { firewall: 0, "other firewalls": 2_000, rules: 0, network: 300 };
/** How often everything is checked while the kernel's changes are not reported. */
const UNWATCHED_CHECK_MS = 5_000;
/** How often the log reports the end of a program: one may live just long enough to listen, again and again. */
const TOLD_EVERY_MS = 3_600_000;
/** By then the programs that report events are listening, and no event is due for what was loaded before. */
const WATCHING_AFTER_MS = 1_500;

export interface MachineEvents {
  /** A change of the kernel's neighbour table; null if some may have been missed. */
  neighbour_changed: Neighbour | null;
  /** An interface may have lost something; null for any. */
  link_lost: string | null;
  /** Another table than the kill switch's has changed. */
  other_firewalls_changed: null;
}

interface Deps {
  host: Host;
  machine: Machine;
  killSwitch: KillSwitch;
  otherFirewalls: OtherFirewalls;
  /** All that there can be: a tunnel may come and go. */
  slots: readonly Slot[];
  /** The interface of remote devices. */
  remoteLink: string;
  tunnels: () => readonly Tunnel[];
  /** Tries again to remove tunnels that never had a server. */
  dropAgain: () => Promise<void>;
  events: Pick<Bus<MachineEvents>, "publish">;
  log: Pick<Log, "warn">;
}

type Matter = keyof typeof SETTLES_MS;

/** Watches what all tunnels share: the kill switch, the machine's network, and what the kernel reports. */
export class MachineSupervisor {
  private readonly waiting = new Set<Matter>();
  private readonly backstop: Backstop;
  private isWatched = false;
  /** When the log said of a program that it has ended. */
  private readonly toldAt = new Map<string, number>();

  constructor(private readonly deps: Deps) {
    this.backstop = new Backstop(deps.host, deps.log);
  }

  /** Runs until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    const { host, killSwitch, slots, remoteLink, events, log } = this.deps;
    this.backstop.checked();
    const watched: Watched = {
      links: [...slots.flatMap(({ links }) => links), remoteLink],
      routingTables: slots.map(({ table }) => table),
      lanLinks: () => killSwitch.network.lans.map((lan) => lan.interface),
      firewallTables: [TABLE, ARP_TABLE],
    };
    const listener = {
      onEvent: (event: KernelEvent) => void this.saw(event, signal),
      onWatching: (watching: boolean) => this.setWatched(watching),
      onGeneration: (generation: number) => killSwitch.reported(generation),
      onEnded: (command: string) => this.warnOfEnd(command),
      onNeighbour: (payload: Neighbour | null) => events.publish({ type: "neighbour_changed", payload }),
    };
    watchKernel(host, watched, listener, signal);
    // For what happened before the programs that report events were listening.
    void host
      .sleep(WATCHING_AFTER_MS, signal)
      .then(() => (signal.aborted ? undefined : killSwitch.mend()))
      .catch((error) => log.warn(messageOf(error)));
    while (!signal.aborted) {
      await this.look(signal).catch((error) => log.warn(messageOf(error)));
      await nextBeat(host, LOOK_MS, signal);
    }
  }

  /** One check: repairs what failed to apply. */
  async look(signal = new AbortController().signal): Promise<void> {
    if (this.backstop.isDue(this.isWatched ? undefined : UNWATCHED_CHECK_MS)) await this.checkAll(signal);
    if (this.deps.killSwitch.fault !== null) await this.deps.killSwitch.mend();
    await this.deps.dropAgain();
  }

  private setWatched(watching: boolean): void {
    this.isWatched = watching;
    this.deps.killSwitch.setWatched(watching);
  }

  private warnOfEnd(command: string): void {
    const now = this.deps.host.monotonic();
    if (now - (this.toldAt.get(command) ?? Number.NEGATIVE_INFINITY) < TOLD_EVERY_MS) return;
    this.toldAt.set(command, now);
    this.deps.log.warn(
      `${command} does not run and is started again; until it runs, everything is checked every ${UNWATCHED_CHECK_MS / 1_000} s`,
    );
  }

  private async checkAll(signal: AbortSignal): Promise<void> {
    const { machine, killSwitch, otherFirewalls } = this.deps;
    this.backstop.checked();
    await Promise.all([
      killSwitch.mend(),
      otherFirewalls.look(killSwitch),
      this.checkNetwork(),
      machine.setSysctls(),
    ])
      .then(() => {
        this.deps.events.publish({ type: "other_firewalls_changed", payload: null });
        // A tunnel checks itself rarely where it is told of its losses. Not where programs fail: it would count as lost.
        if (!this.isWatched) this.tell({ of: "tunnel", link: null, deleted: true }, signal);
      })
      .catch((error) => this.backstop.doubt(error));
  }

  /** Handles the kernel's events; those of one kind that come in before they are handled are handled once. */
  private async saw(event: KernelEvent, signal: AbortSignal): Promise<void> {
    const { host, killSwitch } = this.deps;
    if (event.of === "firewall" || event.of === "rules") killSwitch.changed();
    if (event.of === "firewall" && killSwitch.isOwnChange(event)) return;
    // In this turn of the event loop: the next one may be busy.
    if (event.of === "firewall" && event.goneAt !== null)
      return killSwitch.mend(event.goneAt).catch((error) => this.backstop.doubt(error));
    if (event.of === "tunnel") {
      this.tell(event, signal);
      // A route that was added to a tunnel's table and leads elsewhere.
      if (event.link !== null || event.deleted) return;
      return this.saw({ of: "rules" }, signal);
    }
    if (this.waiting.has(event.of)) return;
    this.waiting.add(event.of);
    await host.sleep(SETTLES_MS[event.of], signal);
    this.waiting.delete(event.of);
    if (!signal.aborted) await this.answer(event.of).catch((error) => this.backstop.doubt(error));
  }

  /** Each tunnel gets the losses that may be its own. */
  private tell(loss: Extract<KernelEvent, { of: "tunnel" }>, signal: AbortSignal): void {
    for (const { slot, supervisor } of this.deps.tunnels())
      if (loss.link === null || slot.links.includes(loss.link)) void supervisor.saw(loss, signal);
    this.deps.events.publish({ type: "link_lost", payload: loss.link });
  }

  private async answer(what: Matter): Promise<void> {
    const { killSwitch, otherFirewalls } = this.deps;
    switch (what) {
      case "firewall":
      case "rules":
        return killSwitch.mend();
      case "other firewalls":
        this.deps.events.publish({ type: "other_firewalls_changed", payload: null });
        return otherFirewalls.look(killSwitch);
      case "network":
        return this.checkNetwork();
    }
  }

  async checkNetwork(): Promise<void> {
    const { machine, killSwitch, tunnels } = this.deps;
    const before = killSwitch.network;
    // The network has changed even if the kernel refused what follows from it.
    await machine.checkNetwork().finally(() => {
      for (const { supervisor } of tunnels()) supervisor.networkChanged(before);
    });
  }
}
