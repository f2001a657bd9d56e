import { familyOf } from "../base/address.ts";
import { ANY_SLOT_MASK, MAIN_SLOT, markOf } from "../network/slot.ts";
import { headerOf, hex, tableSet } from "./match.ts";
import type { FirewallTunnel, Policy } from "./policy.ts";

const FAMILIES = [4, 6] as const;
const SET = "servers_ipv";

/**
 * The servers that tunnels reach without a relay, by address and port, one set for each family. They exist even while
 * they are empty: a server is permitted by an element, before the rest of the table is made for its tunnel, so that no
 * handshake waits for that.
 */
export function serverSets(policy: Pick<Policy, "endpoints">): string[] {
  return FAMILIES.map((family) => {
    const servers = serversIn(policy, family).map(
      ({ endpoint: { address, port } }) => `${address} . ${port}`,
    );
    return tableSet(`${SET}${family}`, `ipv${family}_addr . inet_service`, servers);
  });
}

/** Whether a set or map is one of these, by its name. */
export function isServerSet(name: string): boolean {
  return name.startsWith(SET);
}

/** A match for the mark of WireGuard's own packets, of any tunnel, as the routing rules have it. */
export function isWireGuards(operator: "==" | "!=" = "=="): string {
  return `meta mark & ${hex(ANY_SLOT_MASK)} ${operator} ${hex(markOf(MAIN_SLOT))}`;
}

/** Matches for UDP packets to or from these servers, one for each family. */
export function withServers(direction: "s" | "d", families: readonly (4 | 6)[] = FAMILIES): string[] {
  return families.map(
    (family) => `${headerOf(family)} ${direction}addr . udp ${direction}port @${SET}${family}`,
  );
}

function serversIn({ endpoints }: Pick<Policy, "endpoints">, family: 4 | 6): FirewallTunnel[] {
  return endpoints.filter(
    ({ endpoint, relay }) => relay === undefined && familyOf(endpoint.address) === family,
  );
}
