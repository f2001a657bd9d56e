/** A keepalive; all other messages are longer (WireGuard white paper, 5.4). */
export const SHORTEST_BYTES = 32;

/** A message's type and three reserved bytes, as `match.ts` of the kill switch has them. */
export function isWireGuard(bytes: Uint8Array, at = 0): boolean {
  const type = bytes[at] ?? 0;
  return type >= 1 && type <= 4 && bytes[at + 1] === 0 && bytes[at + 2] === 0 && bytes[at + 3] === 0;
}
