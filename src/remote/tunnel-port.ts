import { type GatewayError, messageOf } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { Queue } from "../base/queue.ts";
import { type Opener, type OpenPort, PortRefusal, type TunnelEnd } from "../forwards/opener.ts";
import { type ForwardPath, type Opened, PortLease } from "../forwards/port-lease.ts";
import type { ReservedPort } from "../forwards/reserved-port.ts";
import type { PolicyPart } from "../killswitch/policy.ts";
import type { Server } from "../servers/schema.ts";
import { STATE_WORDS, tunnelTitle } from "../shared/words.ts";
import type { Host } from "../system/host.ts";
import { carriedBy } from "../tunnel/state.ts";
import type { Tunnels } from "../tunnel/tunnels.ts";
import { refused } from "./refusals.ts";

/** What the provider is asked for. */
export interface WantedTunnelPort {
  tunnel: string;
  /** Where packets are to arrive: the port of the socket. */
  inside: number;
  /** The port that was open before, so that devices need not be told of another; null for any. */
  external: number | null;
}

interface Deps {
  host: Pick<Host, "sleep" | "monotonic">;
  killSwitch: { update(owner: string, part: PolicyPart | null): Promise<void> };
  tunnels: Pick<Tunnels, "all">;
  /** Throws `PortRefusal` if the provider of the server opens no ports. */
  openerFor: (server: Server) => Opener;
  /** Whether a forwarded port of a device has this number at the server of the tunnel. */
  isForwarded: (tunnel: string, inside: number) => boolean;
  /** Where devices must not be given this port. */
  reserved: Pick<ReservedPort, "set">;
  /** To be called when the port was opened or lost, or has another number. */
  onPort: () => void;
  log: Pick<Log, "warn">;
}

/** The owner of the questions to the provider in the kill switch; never a tunnel's name. */
const OWNER = "REMOTE PORT";

/** The port that a tunnel's provider forwards to the socket for remote devices. */
export class TunnelPort {
  private lease: PortLease | null = null;
  private wanted: WantedTunnelPort | null = null;
  private readonly queue = new Queue();

  constructor(private readonly deps: Deps) {}

  /** Asks for another port, or for none. What is asked for already goes on. */
  async want(wanted: WantedTunnelPort | null): Promise<void> {
    const insides = [this.wanted?.inside, this.open?.inside];
    const isSame = wanted?.tunnel === this.wanted?.tunnel && insides.includes(wanted?.inside);
    if (isSame) return;
    const { lease } = this;
    this.lease = null;
    this.wanted = wanted;
    this.reserve();
    await lease?.stop().catch((error: unknown) => this.warn(error));
    if (wanted === null) return this.deps.killSwitch.update(OWNER, null);
    const next = this.leaseFor(wanted);
    this.lease = next;
    void next.keep().catch((error: unknown) => this.warn(error));
  }

  /** Resolves once the provider has answered, or is known not to. */
  async tried(): Promise<void> {
    await this.lease?.tried;
  }

  /** To be called when a tunnel has changed. */
  wake(): void {
    this.lease?.wake();
  }

  /** The server has lost its ports. */
  lostBy({ session }: TunnelEnd): void {
    if (this.lease?.opened?.way.session === session) this.lease.renewNow();
  }

  /** The port as it is open now; null if none is. */
  get open(): OpenPort | null {
    return this.lease?.isOpen === true ? (this.lease.opened?.port ?? null) : null;
  }

  /** Why none is open, or null. */
  get trouble(): string | null {
    return this.lease?.trouble ?? null;
  }

  private leaseFor({ tunnel, inside, external }: WantedTunnelPort): PortLease {
    const { host, openerFor, isForwarded, onPort } = this.deps;
    const check = (port: number) => {
      if (!isForwarded(tunnel, port)) return;
      throw new PortRefusal("exhausted", refused("port_forwarded", { port, tunnel }));
    };
    const lease: PortLease = new PortLease({
      host,
      place: () => this.placeOf(tunnel),
      openerFor: ({ session }) => openerFor(session.server),
      wanted: () => {
        check(inside);
        return { protocol: "udp", inside, external: lease.opened?.port.external ?? external };
      },
      check: (_, port) => check(port.inside),
      inTurn: (_, work) => this.queue.add(work),
      changed: async () => {
        this.reserve();
        await this.permit(lease);
        onPort();
      },
    });
    return lease;
  }

  private placeOf(tunnel: string): ForwardPath {
    const controller = this.deps.tunnels.all().find(({ name }) => name === tunnel)?.controller;
    if (controller === undefined) return { way: null, why: `the ${tunnelTitle(tunnel)} does not exist` };
    const session = carriedBy(controller.state);
    const way = session === null ? null : { tunnel, session };
    if (controller.isAlive) return { way, why: null };
    return { way, why: `the ${tunnelTitle(tunnel)} ${STATE_WORDS[controller.state.name]}` };
  }

  private reserve(): void {
    const insides = [this.wanted?.inside ?? [], this.open?.inside ?? []].flat();
    this.deps.reserved.set(this.wanted?.tunnel ?? null, insides);
  }

  /** The firewall permits questions to the provider while there is something to ask. */
  private async permit(lease: PortLease): Promise<void> {
    if (this.lease !== lease) return;
    const contacts = [lease.asked, lease.opened].flatMap((each) => (each === null ? [] : contactOf(each)));
    await this.deps.killSwitch.update(OWNER, contacts.length === 0 ? null : { contacts });
  }

  private warn(error: unknown): void {
    this.deps.log.warn(`the port for remote devices: ${messageOf(error)}`);
  }
}

/** What to do if the provider opens none. */
export function noPort(trouble: string | null, tunnel: string): GatewayError {
  return refused("provider_opens_none", { tunnel, reason: trouble ?? "it does not answer" });
}

function contactOf({ way, opener }: Pick<Opened, "way" | "opener">) {
  const contact = opener.contact(way);
  return contact === null ? [] : [{ tunnel: way.tunnel, endpoint: way.session.endpoint, ...contact }];
}
