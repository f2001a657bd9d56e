import { ptr, read } from "bun:ffi";
import { isIPv6 } from "node:net";
import type { GatewayError } from "../base/errors.ts";
import { libc, NONBLOCK_CLOEXEC, SOL_SOCKET } from "./libc.ts";
import { refused } from "./refusals.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [SO_BINDTODEVICE, SO_MARK, SOCK_STREAM, SOCK_DGRAM, EINPROGRESS] = [25, 36, 1, 2, 115];
const FAMILIES = { 4: { number: 2, bytes: 16, at: 4 }, 6: { number: 10, bytes: 28, at: 8 } };

export const LOOPBACK = "127.0.0.1";

/** The link, mark and peer that a socket is bound to: it sends and receives nothing else. */
export interface BoundTo {
  /** Null for the link that the routes say. */
  link: string | null;
  /** The firewall mark of what it sends. */
  mark: number;
  peer: { address: string; port: number };
}

/** What becomes of what a socket receives. */
export interface SocketHandlers {
  onData: (bytes: Uint8Array) => void;
  /** Nothing comes in any more. */
  onEnd: () => void;
}

/** A socket that belongs to Bun's event loop, bound to one link and peer. */
export interface BoundSocket {
  /** False if the kernel does not take it. */
  send(bytes: Uint8Array): boolean;
  close(): void;
}

/** Throws `GatewayError("unable")` if no route leads there. */
export async function openBoundUdp(to: BoundTo, { onData, onEnd }: SocketHandlers): Promise<BoundSocket> {
  const { address, port } = to.peer;
  const socket = await Bun.udpSocket({
    hostname: isIPv6(address) ? "::" : "0.0.0.0",
    socket: { data: (_, bytes) => onData(bytes), error: onEnd },
  });
  try {
    // Until then it has sent nothing, and has received nothing that `onData` could take for an answer.
    bind((socket as unknown as { fd: number }).fd, to);
  } catch (error) {
    socket.close();
    throw error;
  }
  return {
    send: (bytes) => socket.send(bytes, port, address),
    close: () => socket.close(),
  };
}

/** The same over TCP, after `set` has set what else it needs. What is sent before the connection is open waits for it. */
export async function openBoundTcp(
  to: BoundTo,
  { onData, onEnd }: SocketHandlers,
  set?: (fd: number) => boolean,
): Promise<BoundSocket> {
  const fd = connectingTcp(to, set);
  let waiting: Uint8Array[] | null = [];
  const socket = await Bun.connect({
    fd,
    socket: {
      data: (_: unknown, bytes: Uint8Array) => onData(bytes),
      // It can be written to: the first time, it is connected.
      drain: (connected: Bun.Socket<undefined>) => {
        for (const bytes of waiting ?? []) connected.write(bytes);
        waiting = null;
      },
      close: onEnd,
      error: onEnd,
      connectError: onEnd,
    },
  } as unknown as Bun.TCPSocketConnectOptions<undefined>);
  const send = (bytes: Uint8Array) => {
    if (waiting === null) return socket.write(bytes) === bytes.length;
    waiting.push(Uint8Array.from(bytes));
    return true;
  };
  return { send, close: () => socket.terminate() };
}

/** A TCP socket that is about to be connected, after `set` has set what else it needs. */
export function connectingTcp(to: BoundTo, set: (fd: number) => boolean = () => true): number {
  return connecting(to, SOCK_STREAM, set);
}

/** A UDP socket that belongs to no event loop. */
export function connectedUdp(to: BoundTo): number {
  return connecting(to, SOCK_DGRAM, () => true);
}

function connecting(to: BoundTo, type: number, set: (fd: number) => boolean): number {
  const fd = libc().socket(familyOf(to).number, type | NONBLOCK_CLOEXEC, 0);
  if (fd < 0) throw unable(to);
  try {
    if (!set(fd)) throw unable(to);
    bind(fd, to);
  } catch (error) {
    libc().close(fd);
    throw error;
  }
  return fd;
}

/** The port of an IPv4 socket. */
export function portOf(fd: number): number {
  const address = Buffer.alloc(FAMILIES[4].bytes);
  libc().getsockname(fd, ptr(address), ptr(Int32Array.of(address.length)));
  return address.readUInt16BE(2);
}

/** A UDP port that nobody has. It may be taken before it is used. */
export function freePort(): number {
  const fd = libc().socket(FAMILIES[4].number, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
  const anywhere = Buffer.alloc(FAMILIES[4].bytes);
  anywhere.writeUInt16LE(FAMILIES[4].number);
  libc().bind(fd, ptr(anywhere), anywhere.length);
  const port = portOf(fd);
  libc().close(fd);
  return port;
}

/** A socket that is connected receives nothing from others. */
function bind(fd: number, to: BoundTo): void {
  const c = libc();
  const name = Buffer.from(`${to.link}\0`);
  const mark = Buffer.from(Int32Array.of(to.mark).buffer);
  const isDone =
    (to.link === null || c.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ptr(name), name.length) === 0) &&
    c.setsockopt(fd, SOL_SOCKET, SO_MARK, ptr(mark), mark.length) === 0 &&
    isConnecting(fd, to);
  if (!isDone) throw unable(to);
}

/** Over TCP, the connection may open later. */
function isConnecting(fd: number, to: BoundTo): boolean {
  const c = libc();
  const peer = addressOf(to);
  // Found before the call: between a call and its error there must be no other.
  const errno = c.__errno_location();
  if (c.connect(fd, ptr(peer), peer.length) === 0) return true;
  return errno !== null && read.i32(errno, 0) === EINPROGRESS;
}

function familyOf({ peer }: BoundTo) {
  return FAMILIES[isIPv6(peer.address) ? 6 : 4];
}

function addressOf(to: BoundTo): Buffer {
  const { number, bytes, at } = familyOf(to);
  const address = Buffer.alloc(bytes);
  address.writeUInt16LE(number);
  address.writeUInt16BE(to.peer.port, 2);
  libc().inet_pton(number, ptr(Buffer.from(`${to.peer.address}\0`)), ptr(address, at));
  return address;
}

function unable({ link, peer }: BoundTo): GatewayError {
  return refused("socket_without_route", { kind: "any", address: peer.address, link: link ?? "any" });
}
