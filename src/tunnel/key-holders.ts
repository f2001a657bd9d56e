import { Queue } from "../base/queue.ts";
import type { Slot } from "../network/slot.ts";
import { type Session, sameKeys } from "./session.ts";

/** An interface of a tunnel. */
interface Holder {
  slot: Slot;
  link: string;
  /** Takes all other servers from it. Nothing else configures it meanwhile. */
  keep: (servers: readonly Session[]) => Promise<void>;
}

/**
 * Which interfaces have which servers, of all tunnels. A server knows a client by its key: of two interfaces with one
 * key, each takes the connection from the other.
 */
export class KeyHolders {
  private readonly holders = new Map<string, Holder & { servers: readonly Session[] }>();
  /** By interface: what one gives up must not come after what it gets next. */
  private readonly queues = new Map<string, Queue>();

  /** The interface is going to have these servers, and no others, once `configure` resolves. */
  async give(holder: Holder, servers: readonly Session[], configure: () => Promise<void>): Promise<void> {
    await this.release(holder, servers);
    await this.queueOf(holder).add(() => this.configured(holder, servers, configure));
  }

  private async configured(
    holder: Holder,
    servers: readonly Session[],
    configure: () => Promise<void>,
  ): Promise<void> {
    const former = this.holders.get(holder.link)?.servers ?? [];
    // If that fails, it may have all of them.
    this.holders.set(holder.link, { ...holder, servers: [...former, ...servers] });
    await configure();
    if (this.holders.has(holder.link)) this.found(holder, servers);
  }

  /** An earlier process has given it these. */
  found(holder: Holder, servers: readonly Session[]): void {
    this.holders.set(holder.link, { ...holder, servers });
  }

  /** The interface is gone. */
  delete(link: string): void {
    this.holders.delete(link);
  }

  /**
   * No other tunnel uses these servers with the same key, but one that was just led away from them, or could not be led
   * there, may still have the interface.
   */
  private async release({ slot }: Holder, servers: readonly Session[]): Promise<void> {
    const isTaken = ({ server }: Session) => servers.some((taken) => sameKeys(taken.server, server));
    const others = [...this.holders.values()].filter((other) => other.slot.mark !== slot.mark);
    for (const other of others.filter((each) => each.servers.some(isTaken)))
      await this.queueOf(other).add(async () => {
        const present = this.holders.get(other.link);
        if (!present?.servers.some(isTaken)) return;
        const kept = present.servers.filter((held) => !isTaken(held));
        await this.configured(present, kept, () => present.keep(kept));
      });
  }

  private queueOf({ link }: Pick<Holder, "link">): Queue {
    const queue = this.queues.get(link) ?? new Queue();
    this.queues.set(link, queue);
    return queue;
  }
}
