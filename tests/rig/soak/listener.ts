import type { GatewayEvent } from "../../../src/http/event.ts";

const AGAIN_MS = 250;

/** A client of `/ws` that connects again when it is closed, and keeps what it hears. */
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
