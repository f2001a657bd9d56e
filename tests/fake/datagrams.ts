import { GatewayError } from "../../src/base/errors.ts";
import type { Datagram, UdpPlace, UdpSocket } from "../../src/system/host.ts";

/** UDP sockets, and what other machines send. */
export class Datagrams {
  /** Links that do not exist, or addresses that are not this machine's. */
  readonly missing = new Set<string>();
  /** Sent by the gateway. */
  readonly sent: { place: UdpPlace; to: string; hex: string }[] = [];
  /** What a peer answers: nothing, or that nothing listens there. */
  onSent: (bytes: Uint8Array, place: UdpPlace, to: string) => Uint8Array | "refused" | null = () => null;
  private readonly sockets = new Map<UdpSocket, { place: UdpPlace; waiting: Datagram[] }>();

  /** Where the open sockets are. */
  get places(): UdpPlace[] {
    return [...this.sockets.values()].map(({ place }) => place);
  }

  open(place: UdpPlace): UdpSocket {
    if (this.missing.has(place.link) || this.missing.has(place.own?.address ?? ""))
      throw new GatewayError("unable", `no UDP socket by ${place.link}`);
    const waiting: Datagram[] = [];
    let isRefused = false;
    const socket: UdpSocket = {
      send: (bytes, to = place.peer) => {
        if (to === undefined) throw new Error("a packet to nobody");
        this.sent.push({ place, to: `${to.address}:${to.port}`, hex: bytes.toHex() });
        const answer = this.onSent(bytes, place, to.address);
        if (answer === "refused") isRefused = true;
        else if (answer !== null) waiting.push({ ...to, bytes: answer });
      },
      received: () => {
        const refused = isRefused;
        isRefused = false;
        return refused ? "refused" : waiting.splice(0);
      },
      close: () => void this.sockets.delete(socket),
    };
    this.sockets.set(socket, { place, waiting });
    return socket;
  }

  /** Another machine sends to the gateway's own address on a link; only an open socket there gets it. */
  hear(link: string, own: string, datagram: Datagram): void {
    for (const { place, waiting } of this.sockets.values())
      if (place.link === link && place.own?.address === own) waiting.push(datagram);
  }
}
