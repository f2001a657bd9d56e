/**
 * A hint for the error after an unanswered handshake; empty unless the clock is behind. A server ignores a handshake
 * whose timestamp is not newer than the last one from the same key (WireGuard white paper, 5.1).
 */
export function clockHint(now: number, lastHandshake: number | null): string {
  if (lastHandshake === null || now >= lastHandshake) return "";
  const [clock, last] = [now, lastHandshake].map(minuteOf);
  return ` The clock of this machine may be behind: it says ${clock}, and the last handshake was at ${last}. Servers refuse a handshake from the past: set the clock: sudo date -u -s "YYYY-MM-DD HH:MM"`;
}

function minuteOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
