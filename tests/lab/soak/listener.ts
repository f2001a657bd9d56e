import type { GatewayEvent } from "../../../src/http/event.ts";
import type { JournalEntry } from "../../../src/journal/schema.ts";

const AGAIN_MS = 250;

/** A client of `/ws` that comes back when it is closed, and keeps what it hears. */
export class Listener {
  /** Since the last `forget`. */
  readonly heard: GatewayEvent[] = [];
  /** All that was ever heard, and how often the socket was closed. */
  count = 0;
  closed = 0;
  private isGreeted = false;
  private hasStopped = false;
  private socket: WebSocket | null = null;

  constructor(private readonly port: number) {
    this.open();
  }

  /** Whether the first status has come. */
  get isOpen(): boolean {
    return this.isGreeted;
  }

  forget(count: number): void {
    this.heard.splice(0, count);
  }

  stop(): void {
    this.hasStopped = true;
    this.socket?.close();
  }

  private open(): void {
    if (this.hasStopped) return;
    const socket = new WebSocket(`ws://127.0.0.1:${this.port}/ws`);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const event: GatewayEvent = JSON.parse(`${data}`);
      this.isGreeted ||= event.type === "status_change";
      this.heard.push(event);
      this.count += 1;
    };
    socket.onclose = () => {
      if (this.isGreeted) this.closed += 1;
      this.isGreeted = false;
      setTimeout(() => this.open(), AGAIN_MS);
    };
  }
}

/** The first event of the journal that a socket, which was open all the time, did not hear; null if it heard all. */
export function unheard(entries: readonly JournalEntry[], heard: readonly GatewayEvent[]): string | null {
  return (
    missing(
      entries.map((entry) =>
        entry.type === "security_alert" ? `alert ${entry.code} ${entry.message}` : null,
      ),
      heard.map((event) =>
        event.type === "security_alert" ? `alert ${event.payload.code} ${event.payload.message}` : null,
      ),
    ) ??
    missing(
      entries.map((entry) => (entry.type === "tunnel_state" ? `${entry.tunnel} ${entry.state}` : null)),
      heard.map((event) =>
        event.type === "tunnel_update" ? `${event.payload.name} ${event.payload.state}` : null,
      ),
    ) ??
    missing(
      entries.map((entry) =>
        entry.type === "tunnel_state" && entry.tunnel === "main" ? `status ${entry.state}` : null,
      ),
      heard.map((event) => (event.type === "status_change" ? `status ${event.payload.state}` : null)),
    )
  );
}

/** The first of some texts that is not among others in their order; nulls count for nothing. */
function missing(texts: readonly (string | null)[], among: readonly (string | null)[]): string | null {
  let from = 0;
  for (const text of texts) {
    if (text === null) continue;
    const at = among.indexOf(text, from);
    if (at < 0) return text;
    from = at + 1;
  }
  return null;
}
