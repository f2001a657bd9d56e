import type { Server } from "./schema.ts";

/** Without credentials anyone on the LAN can add servers: the disk and the memory they take are bounded. */
export const MOST_SERVERS = 4096;

/** Of all stored servers. Such as people have take half a kilobyte each; the largest there can be takes a hundred times that. */
export const MOST_STORED_BYTES = 8 * 2 ** 20;

/** What a server takes in the database, nearly: the texts of its row. */
export function sizeOf(server: Server): number {
  return Buffer.byteLength(JSON.stringify(server));
}

export function sizeOfAll(servers: readonly Server[]): number {
  return servers.reduce((sum, server) => sum + sizeOf(server), 0);
}
