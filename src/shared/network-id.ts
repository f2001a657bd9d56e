/** All devices of one network of the LAN together, whatever each of them has: the network's interface. */
export type NetworkId = `network:${string}`;

const NETWORK = "network:";

export function networkIdOf(link: string): NetworkId {
  return `${NETWORK}${link}`;
}

/** The interface of a network; null for all that is none. */
export function linkIn(id: string): string | null {
  return id.startsWith(NETWORK) ? id.slice(NETWORK.length) : null;
}
