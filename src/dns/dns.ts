import type { Address } from "../base/address.ts";
import { nextBeat } from "../base/beat.ts";
import { messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { listeningOn } from "../killswitch/own-resolver.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import type { DeviceCounts } from "./device-counts.ts";
import { Listener } from "./listener.ts";
import { hasOtherResolver } from "./other-resolver.ts";
import type { Counts, Resolver } from "./resolver.ts";
import type { DnsStatus } from "./schema.ts";

/** Where the resolver listens; the firewall leads the LAN's questions there. */
const RESOLVER_PORT = 10_053;
/** The owner of this part of the kill switch; never a tunnel's name. */
const OWNER = "the resolver";
const PART: PolicyPart = { resolver: { port: RESOLVER_PORT } };
/** Another resolver may be started or stopped, and an address may come with a cable. */
const LOOK_EVERY_MS = 12_000;

type Owners = { update(owner: string, part: PolicyPart | null): Promise<void> };

/**
 * To be called before the kill switch is first loaded if anything needs the resolver: until it answers, the LAN's
 * questions are refused, and none leaves by another exit.
 */
export function holdQuestions(killSwitch: Owners): void {
  void killSwitch.update(OWNER, PART);
}

interface Deps {
  host: Pick<Host, "read" | "monotonic" | "sleep">;
  killSwitch: Owners;
  network: () => Pick<HostNetwork, "lans" | "addresses">;
  /** Whether anything needs it: a rule with names, or a list. */
  isWanted: () => boolean;
  resolver: Resolver;
  /** Called when its state has changed. */
  tell: () => void;
  log: Pick<Log, "info" | "warn">;
}

/** The gateway's own resolver, while anything needs it and no other resolver of the machine is in charge. */
export class Dns {
  state: DnsStatus["state"] = "off";
  /** Why it failed, or null. */
  reason: string | null = null;
  private listener: { addresses: readonly Address[]; open: Listener } | null = null;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {}

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
    this.close();
  }

  /** The firewall first: what is not led to the resolver any more is not refused, either. */
  private async settle(): Promise<void> {
    const { killSwitch, network, isWanted, host } = this.deps;
    const { lans, addresses } = network();
    const own = lans.flatMap((lan) => listeningOn(lan, addresses));
    const isElsewhere = isWanted() && (await hasOtherResolver(host, own));
    if (!isWanted() || isElsewhere) {
      await killSwitch.update(OWNER, null);
      this.close();
      return this.become(isElsewhere ? "elsewhere" : "off");
    }
    // If it cannot listen, questions are refused: nothing else knows the rules.
    await Promise.all([killSwitch.update(OWNER, PART), this.listen(own)]);
  }

  private async listen(addresses: readonly Address[]): Promise<void> {
    if (this.listener !== null && Bun.deepEquals(this.listener.addresses, addresses)) return;
    this.close();
    try {
      const open = await Listener.open(addresses, RESOLVER_PORT, this.deps.resolver);
      this.listener = { addresses, open };
      this.become("on");
    } catch (error) {
      this.become("failed", messageOf(error));
    }
  }

  private close(): void {
    this.listener?.open.stop();
    this.listener = null;
  }

  private become(state: DnsStatus["state"], reason = ""): void {
    this.reason = state === "failed" ? reason : null;
    if (state === this.state) return;
    this.state = state;
    const { info, warn } = this.deps.log;
    if (state === "failed") warn.call(this.deps.log, `DNS: ${REMARK[state]}: ${reason}`);
    else info.call(this.deps.log, `DNS: ${REMARK[state]}`);
    this.deps.tell();
  }
}

const REMARK: Record<DnsStatus["state"], string> = {
  on: "the gateway answers the LAN's questions itself",
  off: "nothing needs a resolver of the gateway's own",
  elsewhere: "another resolver of this machine answers at port 53, so rules for names have no effect",
  failed: "the LAN's questions are refused, because the resolver cannot listen",
};
