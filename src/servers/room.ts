import type { Server } from "./schema.ts";

/**
 * The limit for all stored servers together. A usual one takes half a kilobyte, the largest possible one a hundred
 * times that.
 */
export const MAX_STORED_BYTES = 8 * 2 ** 20;

/** The approximate size of a server in the database: the text of its row. */
export function sizeOf(server: Server): number {
  return Buffer.byteLength(JSON.stringify(server));
}

export function sizeOfAll(servers: readonly Server[]): number {
  return servers.reduce((sum, server) => sum + sizeOf(server), 0);
}
