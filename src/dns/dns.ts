import type { Address, Prefix } from "../base/address.ts";
import { nextBeat } from "../base/beat.ts";
import type { Bus } from "../base/bus.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Mac } from "../base/mac.ts";
import { Queue } from "../base/queue.ts";
import { isPrefixId } from "../devices/id.ts";
import { listeningOn } from "../killswitch/own-resolver.ts";
import type { Asker, PolicyPart } from "../killswitch/policy.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { AskerPorts, type Askers, RESOLVER_PORT } from "./asker-ports.ts";
import type { DeviceCounts } from "./device-counts.ts";
import type { DnsEvents } from "./events.ts";
import { hasOtherResolver } from "./other-resolver.ts";
import { type Counts, OTHERS, type Resolver } from "./resolver.ts";
import type { DnsStatus } from "./schema.ts";

/** The owner of this part of the kill switch; never a tunnel's name. */
const OWNER = "the resolver";
/** Another resolver may be started or stopped, and an address may come with a cable. */
const LOOK_EVERY_MS = 12_000;

type Owners = { update(owner: string, part: PolicyPart | null): Promise<void> };

/**
 * To be called before the kill switch is first loaded if anything needs the resolver: until it answers, the LAN's
 * questions are refused, and none goes through another exit.
 */
export function holdQuestions(killSwitch: Owners): void {
  void killSwitch.update(OWNER, { resolver: { port: RESOLVER_PORT, askers: [] } });
}

interface Deps {
  host: Pick<Host, "read" | "monotonic" | "sleep">;
  killSwitch: Owners;
  network: () => Pick<HostNetwork, "lans" | "addresses">;
  /** Whether anything needs it: a rule with names, or a list. */
  isWanted: () => boolean;
  resolver: Resolver;
  /** Those who may ask now. */
  askers: () => Askers;
  /** The MAC addresses of the routers that lead to a network; null if its hosts are on the cable. */
  routersTo: (network: Prefix) => readonly Mac[] | null;
  events: Pick<Bus<DnsEvents>, "publish">;
  log: Pick<Log, "info" | "warn">;
}

/** The gateway's own resolver, while anything needs it and no other resolver of the machine is in charge. */
export class Dns {
  state: DnsStatus["state"] = "off";
  /** Why it failed, or null. */
  reason: string | null = null;
  /** Where it listens; null while it does not. */
  private addresses: readonly Address[] | null = null;
  private readonly ports: AskerPorts;
  private readonly queue = new Queue();
  private isFollowing = false;
  private isTold = false;
  /** Which devices the firewall leads to which port; null if it leads none, or if that is not known. */
  private led: readonly Asker[] | null = null;

  constructor(private readonly deps: Deps) {
    this.ports = new AskerPorts(deps.resolver, (error) => this.tell(error));
  }

  get counts(): Counts {
    return this.deps.resolver.counts;
  }

  get byDevice(): DeviceCounts {
    return this.deps.resolver.byDevice;
  }

  /** To be called when what it depends on has changed. Resolves once the kernel has it. */
  update(): Promise<void> {
    return this.queue.add(() => this.settle());
  }

  /** Looks for changes that nothing reports, until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.update().catch((error: unknown) => this.deps.log.warn(`DNS: ${messageOf(error)}`));
      await nextBeat(this.deps.host, LOOK_EVERY_MS, signal);
    }
    await this.close();
  }

  /** To be called when there may be other devices. */
  follow(): void {
    if (this.isFollowing || this.state !== "on") return;
    this.isFollowing = true;
    const { addresses } = this;
    void this.queue
      .add(() => {
        this.isFollowing = false;
        return addresses !== null && addresses === this.addresses ? this.serve(addresses) : undefined;
      })
      .catch((error: unknown) => this.deps.log.warn(`DNS: ${messageOf(error)}`));
  }

  /** The firewall first: what is not led to the resolver any more is not refused, either. */
  private async settle(): Promise<void> {
    const { killSwitch, network, isWanted, host } = this.deps;
    const { lans, addresses } = network();
    const own = lans.flatMap((lan) => listeningOn(lan, addresses));
    const isElsewhere = isWanted() && (await hasOtherResolver(host, own));
    if (!isWanted() || isElsewhere) {
      this.led = null;
      await killSwitch.update(OWNER, null);
      await this.close();
      return this.become(isElsewhere ? "elsewhere" : "off");
    }
    if (!Bun.deepEquals(this.addresses, own)) {
      await this.lead({ decided: this.deps.askers().decided, others: [] });
      await this.close();
      this.addresses = own;
    }
    await this.serve(own);
  }

  /** No device is ever led to a port that is not its own: one is closed after that, and opened before. */
  private async serve(addresses: readonly Address[]): Promise<void> {
    const { ports } = this;
    const askers = this.deps.askers();
    const wanted = ports.wanted(askers);
    const left = new Set(ports.open.keys()).difference(new Set(wanted));
    await this.lead({ decided: askers.decided, others: wanted });
    await ports.close(left);
    const failure = await ports.openFor(wanted, addresses).then(
      () => null,
      (error: unknown) => messageOf(error),
    );
    // Questions are refused then: nothing else knows the rules.
    if (failure !== null) await this.close();
    await this.lead({ decided: askers.decided, others: wanted });
    this.become(failure === null ? "on" : "failed", failure ?? "");
  }

  /** Gives the firewall the port of each device. A device about which something is decided is refused without one. */
  private async lead({ decided, others }: Askers): Promise<void> {
    const { open } = this.ports;
    const ids = new Set([...decided, ...others.filter((id) => open.has(id))]);
    ids.delete(OTHERS);
    const askers = [...ids].map((id) => ({
      ...{ id, port: open.get(id) ?? null },
      routers: isPrefixId(id) ? this.deps.routersTo(id) : [],
    }));
    if (Bun.deepEquals(askers, this.led)) return;
    this.led = null;
    await this.deps.killSwitch.update(OWNER, { resolver: { port: RESOLVER_PORT, askers } });
    this.led = askers;
  }

  /** Once, because a device could repeat its question for ever. */
  private tell(error: unknown): void {
    if (!this.isTold) this.deps.log.warn(`DNS: a question stays without an answer: ${messageOf(error)}`);
    this.isTold = true;
  }

  private close(): Promise<void> {
    this.addresses = null;
    return this.ports.close();
  }

  private become(state: DnsStatus["state"], reason = ""): void {
    this.reason = state === "failed" ? reason : null;
    if (state === this.state) return;
    this.state = state;
    const { info, warn } = this.deps.log;
    if (state === "failed") warn.call(this.deps.log, `DNS: ${REMARK[state]}: ${reason}`);
    else info.call(this.deps.log, `DNS: ${REMARK[state]}`);
    this.deps.events.publish({ type: "dns_changed", payload: null });
  }
}

const REMARK: Record<DnsStatus["state"], string> = {
  on: "the gateway answers the LAN's questions itself",
  off: "nothing needs a resolver of the gateway's own",
  elsewhere: "another resolver of this machine answers at port 53, so rules for names have no effect",
  failed: "the LAN's questions are refused, because the resolver cannot listen",
};
