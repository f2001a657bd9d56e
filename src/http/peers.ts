import { parseIp } from "../address.ts";
import type { Host } from "../system/host.ts";
import { shared } from "./single-flight.ts";

/** TCP connections with link-local peers, with the interface that each has come in by. */
const LIST = ["ss", "-Htn6", "state", "connected", "dst", "[fe80::/10]"];

/**
 * By which interface a link-local peer has come in. Its address does not tell, and the server that has the connection
 * does not say; the kernel binds such a connection to its interface. One look answers all who asked before it began.
 */
export class Peers {
  private readonly look: () => Promise<string>;

  constructor(host: Pick<Host, "run">) {
    this.look = shared(() => host.run(LIST));
  }

  /** Null where that is not known, or there is more than one. */
  async interfaceOf(address: string, port: number): Promise<string | null> {
    const listing = await this.look().catch(() => "");
    const names = new Set(
      listing
        .split("\n")
        .map((line) => line.trim().split(/\s+/).slice(-2))
        .filter(([, peer = ""]) => isOf(peer, address, port))
        .map(([own = ""]) => /%([^%:\]]+):\d+$/.exec(own)?.[1] ?? ""),
    );
    const [name = ""] = names;
    return names.size === 1 && name !== "" ? name : null;
  }
}

function isOf(shown: string, address: string, port: number): boolean {
  const [, peer = "", shownPort] = /^\[([0-9a-f:]+)\](?:%[^:]+)?:(\d+)$/.exec(shown) ?? [];
  return Number(shownPort) === port && parseIp(peer) === parseIp(address);
}
