/**
 * A hint for the error after an unanswered handshake; empty unless the clock is behind the last handshake. A server
 * ignores a handshake whose timestamp is not newer than the last one from the same key (WireGuard white paper, 5.1).
 */
export function clockArgs(now: number, lastHandshake: number | null): { clock: string; last: string } {
  if (lastHandshake === null || now >= lastHandshake) return { clock: "right", last: "" };
  return { clock: minuteOf(now), last: minuteOf(lastHandshake) };
}

/** A time in words, to the minute. */
export function minuteOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
