import { parseIp } from "../address.ts";
import type { Host } from "../system/host.ts";
import { shared } from "./single-flight.ts";

/** Lists the TCP connections with link-local peers, each with its interface. */
const LIST = ["ss", "-Htn6", "state", "connected", "dst", "[fe80::/10]"];

/**
 * Finds the interface on which a link-local peer is connected. Its address does not name it, and Bun does not either,
 * but the kernel binds such a connection to its interface. One run of `ss` answers all calls made before it began.
 */
export class Peers {
  private readonly list: () => Promise<string>;

  constructor(host: Pick<Host, "run">) {
    this.list = shared(() => host.run(LIST));
  }

  /** Null if it is not known, or if there are several. */
  async interfaceOf(address: string, port: number): Promise<string | null> {
    const listing = await this.list().catch(() => "");
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
