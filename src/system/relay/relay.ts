import { ptr } from "bun:ffi";
import { isWireGuard } from "../../wireguard/message.ts";
import { connectingTcp, freePort, LOOPBACK } from "../bound-socket.ts";
import type { RelayFault, RelayPlace } from "../host.ts";
import { libc } from "../libc.ts";
import { Outbox, Unframer } from "./frames.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [IPPROTO_TCP, TCP_NODELAY, TCP_NOTSENT_LOWAT] = [6, 1, 25];
/**
 * What may wait for the connection, here and in the kernel. A longer queue only adds delay: programs in the tunnel
 * adapt to what is dropped.
 */
const OUTBOX_BYTES = 128 * 1024;
const UNSENT_BYTES = 128 * 1024;
/** Several datagrams take one call, but a burst must not fill the outbox before. */
const SEND_AT_BYTES = 16 * 1024;
/** The pauses between attempts to connect. */
const AGAIN_MS = { first: 100, longest: 5_000 };

type UdpSocket = Bun.udp.ConnectedSocket<"buffer">;
type TcpSocket = Bun.Socket<undefined>;

/** Carries WireGuard's packets between a port on loopback and one TCP connection to the server (mullvad/udp-over-tcp). */
export class Relay {
  /** The present attempt to connect, or its connection: events of an earlier one mean nothing. */
  private attempt: symbol | null = null;
  private tcp: TcpSocket | null = null;
  private isOpen = false;
  private isSending = false;
  private pauseMs = AGAIN_MS.first;
  private again: Timer | null = null;
  private unframer = new Unframer();
  private readonly outbox = new Outbox(OUTBOX_BYTES);

  private constructor(
    private readonly udp: UdpSocket,
    /** For WireGuard to listen at. */
    readonly wireguardPort: number,
    private readonly place: RelayPlace,
    private readonly onFault: (fault: RelayFault | null) => void,
  ) {}

  /** `onFault` gets the reason why there is no connection, and null once there is one. */
  static async open(place: RelayPlace, onFault: (fault: RelayFault | null) => void): Promise<Relay> {
    // `data` before the relay is ready is not WireGuard's, which does not know the port yet.
    let relay: Relay | null = null;
    const wireguardPort = freePort();
    const udp = await Bun.udpSocket({
      hostname: LOOPBACK,
      // The kernel drops what any other socket sends.
      connect: { hostname: LOOPBACK, port: wireguardPort },
      // Until WireGuard listens there, each packet to it is refused.
      socket: { data: (_, bytes) => relay?.fromWireGuard(bytes), error: () => {} },
    });
    relay = new Relay(udp, wireguardPort, place, onFault);
    void relay.connect();
    return relay;
  }

  /** On loopback. */
  get port(): number {
    return this.udp.port;
  }

  close(): void {
    if (this.again !== null) clearTimeout(this.again);
    this.drop();
    this.udp.close();
  }

  private fromWireGuard(bytes: Uint8Array): void {
    if (!isWireGuard(bytes) || !this.outbox.add(bytes)) return;
    if (this.outbox.waiting.length >= SEND_AT_BYTES) this.send();
    else if (!this.isSending) {
      this.isSending = true;
      setImmediate(() => {
        this.isSending = false;
        this.send();
      });
    }
  }

  private send(): void {
    const { tcp, outbox } = this;
    if (tcp === null || !this.isOpen || outbox.waiting.length === 0) return;
    const written = tcp.write(outbox.waiting);
    if (written > 0) outbox.taken(written);
  }

  private fromServer(bytes: Uint8Array): void {
    const isStream = this.unframer.take(bytes, (datagram) => this.toWireGuard(datagram));
    if (isStream) this.pauseMs = AGAIN_MS.first;
    else this.lose("foreign");
  }

  private toWireGuard(datagram: Uint8Array): void {
    try {
      this.udp.send(datagram);
    } catch {
      // WireGuard does not listen any more, or not yet: the packet is lost, as on any link.
    }
  }

  private async connect(): Promise<void> {
    const attempt = Symbol();
    this.attempt = attempt;
    const during =
      <T extends unknown[]>(work: (...given: T) => void) =>
      (...given: T) => {
        if (this.attempt === attempt) work(...given);
      };
    try {
      const { address, port, mark } = this.place;
      const fd = connectingTcp({ link: null, mark, peer: { address, port } }, setOptions);
      const socket = await Bun.connect({
        fd,
        socket: {
          data: during((_: TcpSocket, bytes: Uint8Array) => this.fromServer(bytes)),
          // It can be written to: the first time, it is connected.
          drain: during((socket: TcpSocket) => this.opened(socket)),
          close: during(() => this.lose("refused")),
        },
      } as unknown as Bun.TCPSocketConnectOptions<undefined>);
      if (this.attempt === attempt) this.tcp = socket;
      else socket.terminate();
    } catch {
      // Nothing leads there now.
      if (this.attempt === attempt) this.lose("refused");
    }
  }

  private opened(socket: TcpSocket): void {
    this.tcp = socket;
    if (!this.isOpen) this.onFault(null);
    this.isOpen = true;
    this.send();
  }

  private lose(fault: RelayFault): void {
    this.drop();
    this.onFault(fault);
    this.unframer = new Unframer();
    // A part of a datagram may have been sent: the next connection begins with a whole one.
    this.outbox.clear();
    this.again = setTimeout(() => void this.connect(), this.pauseMs);
    this.pauseMs = Math.min(2 * this.pauseMs, AGAIN_MS.longest);
  }

  private drop(): void {
    this.attempt = null;
    this.isOpen = false;
    this.tcp?.terminate();
    this.tcp = null;
  }
}

function setOptions(fd: number): boolean {
  const set = (option: number, value: number) =>
    libc().setsockopt(fd, IPPROTO_TCP, option, ptr(Int32Array.of(value)), 4) === 0;
  return set(TCP_NODELAY, 1) && set(TCP_NOTSENT_LOWAT, UNSENT_BYTES);
}
