import { GatewayError } from "../../src/base/errors.ts";
import type { Heard, LinkSocket, Received } from "../../src/system/host.ts";

/** The gateway's own MAC address on every link. */
export const OWN_MAC = "02:00:00:00:00:01";

/** Packet sockets, and what other machines of their links send. */
export class Listening {
  /** Links that are gone, or on which the kernel permits no socket. */
  readonly closed = new Set<string>();
  /** Sent by the gateway: link, MAC address, and packet. */
  readonly sent: { link: string; to: string; packet: Uint8Array }[] = [];
  /** Called with each packet that the gateway sends, so that a test can answer it. */
  onSent: (link: string, packet: Uint8Array) => void = () => {};
  private readonly sockets = new Map<LinkSocket, { link: string; heard: Heard; waiting: Received[] }>();

  /** How many sockets are open. */
  get count(): number {
    return this.sockets.size;
  }

  open(link: string, heard: Heard): LinkSocket {
    if (this.closed.has(link)) throw new GatewayError("unable", `there is no interface ${link}`);
    const waiting: Received[] = [];
    const socket: LinkSocket = {
      mac: OWN_MAC,
      send: (to, packet) => {
        this.sent.push({ link, to, packet });
        this.onSent(link, packet);
      },
      received: () => (this.closed.has(link) ? null : waiting.splice(0)),
      close: () => void this.sockets.delete(socket),
    };
    this.sockets.set(socket, { link, heard, waiting });
    return socket;
  }

  /** Another machine of the link sends a packet; it reaches the sockets that are open now. */
  hear(link: string, heard: Heard, received: Received): void {
    for (const each of this.sockets.values())
      if (each.link === link && each.heard === heard) each.waiting.push(received);
  }
}
