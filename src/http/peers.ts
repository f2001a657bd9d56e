import { parseAddress } from "../base/address.ts";
import { shared } from "../base/readings.ts";
import type { Host } from "../system/host.ts";

/** Lists the TCP connections with link-local peers, each with its interface. */
const LIST = ["ss", "-Htn6", "state", "connected", "dst", "[fe80::/10]"];

/** The interface of each peer, named as `nameOf` does; null where there is none, or more than one. */
type Listing = ReadonlyMap<string, string | null>;

/**
 * Finds the interface on which a link-local peer is connected. Its address does not name it, and Bun does not either,
 * but the kernel binds such a connection to its interface. One run of `ss` answers all calls made before it began, and
 * is parsed once, so that the cost of many peers at once does not grow with their square.
 */
export class Peers {
  private readonly look: () => Promise<Listing>;

  constructor(host: Pick<Host, "run">) {
    this.look = shared(async () => listingOf(await host.run(LIST)));
  }

  /** Null if it is not known, or if there are several. */
  async interfaceOf(address: string, port: number): Promise<string | null> {
    const listing = await this.look().catch(() => null);
    return listing?.get(nameOf(address, port)) ?? null;
  }
}

function listingOf(text: string): Listing {
  const listing = new Map<string, string | null>();
  for (const line of text.split("\n")) {
    const [own = "", shown = ""] = line.trim().split(/\s+/).slice(-2);
    const [, address = "", port] = /^\[([0-9a-f:]+)\](?:%[^:]+)?:(\d+)$/.exec(shown) ?? [];
    if (address === "") continue;
    const peer = nameOf(address, Number(port));
    const link = /%([^%:\]]+):\d+$/.exec(own)?.[1] ?? null;
    listing.set(peer, listing.has(peer) && listing.get(peer) !== link ? null : link);
  }
  return listing;
}

function nameOf(address: string, port: number): string {
  return `${parseAddress(address)} ${port}`;
}
