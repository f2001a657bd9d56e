import type { Slot } from "../network/slot.ts";
import { type Session, sameKeys } from "./session.ts";

/** An interface of a tunnel. */
interface Holder {
  slot: Slot;
  link: string;
  /** Takes all other servers from it. */
  keep: (servers: readonly Session[]) => Promise<void>;
}

/**
 * Which interfaces have which servers, of all tunnels. A server knows a client by its key: of two interfaces with one
 * key, each takes the connection from the other.
 */
export class KeyHolders {
  private readonly holders = new Map<string, Holder & { servers: readonly Session[] }>();

  /** The interface is going to have these servers, and no others, once `configure` resolves. */
  async give(holder: Holder, servers: readonly Session[], configure: () => Promise<void>): Promise<void> {
    await this.release(holder, servers);
    const former = this.holders.get(holder.link)?.servers ?? [];
    // If that fails, it may have all of them.
    this.holders.set(holder.link, { ...holder, servers: [...former, ...servers] });
    await configure();
    this.found(holder, servers);
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
    for (const other of others)
      if (other.servers.some(isTaken)) await other.keep(other.servers.filter((held) => !isTaken(held)));
  }
}
