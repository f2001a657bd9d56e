/**
 * A hint for the error after an unanswered handshake; empty unless the clock is behind the last handshake. A server
 * ignores a handshake whose timestamp is not newer than the last one from the same key (WireGuard white paper, 5.1).
 */
export function clockHint(now: number, lastHandshake: number | null): string {
  if (lastHandshake === null || now >= lastHandshake) return "";
  const [clock, last] = [now, lastHandshake].map(minuteOf);
  return ` The clock of this machine says ${clock}, and the last handshake was at ${last}; servers refuse a handshake from the past. If the clock is wrong, set it: sudo date -u -s "YYYY-MM-DD HH:MM". If it is right, it was ahead at that handshake: connect to another server, or replace this gateway's key.`;
}

/** A time in words, to the minute. */
export function minuteOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
