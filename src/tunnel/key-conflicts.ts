import type { Place } from "../servers/place.ts";
import type { Server } from "../servers/schema.ts";
import { refused } from "./refusals.ts";
import { sameKeys } from "./session.ts";
import { candidatesOf, isPlace } from "./target.ts";

/**
 * Other tunnels that use a server with the same key. WireGuard servers know a client by its key: each of two sessions
 * with one key would end the other.
 */
export class KeyConflicts {
  /** `conflictOf`: the name of the other tunnel that uses the server with the same key, or null. */
  constructor(private readonly conflictOf: (server: Server) => string | null) {}

  /** Why this tunnel cannot use the server, or null. */
  faultOf(server: Server): string | null {
    const tunnel = this.conflictOf(server);
    return tunnel === null ? null : refused("key_in_use", { tunnel }).message;
  }

  assertNone(server: Server): void {
    const tunnel = this.conflictOf(server);
    if (tunnel !== null) throw refused("key_in_use", { field: "server", tunnel });
  }

  /** The target without the servers that another tunnel uses. Throws if none is left. */
  without<T extends Server | Place>(wanted: T): T {
    const all = candidatesOf(wanted);
    const servers = all.filter((server) => this.conflictOf(server) === null);
    const [first] = all;
    if (servers.length === 0 && first !== undefined) this.assertNone(first);
    return isPlace(wanted) ? { ...wanted, servers } : wanted;
  }
}

/** Whether a server in use by one tunnel cannot be used by another. */
export function conflicts(used: Server, server: Server): boolean {
  // One that registers assigns another key to each connection.
  return server.registers !== true && sameKeys(used, server);
}
