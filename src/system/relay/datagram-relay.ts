import { ptr } from "bun:ffi";
import type { Disguise } from "../../transports/disguises/disguise.ts";
import { connectedUdp, freePort, LOOPBACK, portOf } from "../bound-socket.ts";
import { libc, SOL_SOCKET } from "../libc.ts";
import type { Batch } from "./batch.ts";

/** From the kernel's headers; the same on ARM and x86. */
const SO_RCVBUFFORCE = 33;
/** What may wait in each socket: some hundreds of packets, for bursts. */
const WAITING_BYTES = 512 * 1024;

/** Carries WireGuard's packets between a port on loopback and one UDP socket to the server, in a disguise. */
export class DatagramRelay {
  private constructor(
    /** Its two sockets. */
    readonly wireguard: number,
    readonly server: number,
    /** On loopback. */
    readonly port: number,
    /** For WireGuard to listen at. */
    readonly wireguardPort: number,
    private readonly disguise: Disguise,
  ) {}

  static open(
    { address, port, mark }: { address: string; port: number; mark: number },
    disguise: Disguise,
  ): DatagramRelay {
    const wireguardPort = freePort();
    // The kernel drops what any other socket sends.
    const local = connectedUdp({ link: null, mark: 0, peer: { address: LOOPBACK, port: wireguardPort } });
    try {
      const server = connectedUdp({ link: null, mark, peer: { address, port } });
      for (const socket of [local, server]) enlarge(socket);
      return new DatagramRelay(local, server, portOf(local), wireguardPort, disguise);
    } catch (error) {
      libc().close(local);
      throw error;
    }
  }

  close(): void {
    libc().close(this.wireguard);
    libc().close(this.server);
  }

  /** Carries what waits in each direction, a batch at most. */
  carry(batch: Batch): void {
    const { wireguard, server, disguise } = this;
    const out = batch.receive(wireguard);
    for (let index = 0; index < out; index++) {
      const [packet, length] = [batch.packets[index] as Uint8Array, batch.lengthOf(index)];
      for (const each of disguise.ahead?.(packet, length) ?? [])
        libc().send(server, ptr(each), each.length, 0);
      keep(batch, index, disguise.hide(packet, length));
    }
    batch.send(server);
    const back = batch.receive(server);
    for (let index = 0; index < back; index++)
      keep(batch, index, disguise.show(batch.packets[index] as Uint8Array, batch.lengthOf(index)));
    batch.send(wireguard);
  }
}

function keep(batch: Batch, index: number, length: number): void {
  if (length > 0) batch.keep(index, length);
}

function enlarge(socket: number): void {
  // Without the right to, the kernel's usual room has to do.
  libc().setsockopt(socket, SOL_SOCKET, SO_RCVBUFFORCE, ptr(Int32Array.of(WAITING_BYTES)), 4);
}
