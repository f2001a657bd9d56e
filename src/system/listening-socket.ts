import { ptr } from "bun:ffi";
import { readdirSync } from "node:fs";
import { libc, SOL_SOCKET } from "./libc.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [SO_SNDBUF, SO_ACCEPTCONN] = [7, 30];
const ADDRESS_BYTES = 28;
const PORT_AT = 2;

/**
 * Bounds what the kernel keeps of unread answers for each connection to this port of this process. It doubles the number, for
 * its own use. Connections inherit it from the listening socket, of which Bun does not give the descriptor.
 */
export function boundSendBuffers(port: number, bytes: number): void {
  for (const fd of readdirSync("/proc/self/fd").map(Number))
    if (isListening(fd) && portOf(fd) === port) setOption(fd, SO_SNDBUF, bytes);
}

function isListening(fd: number): boolean {
  const [value, size] = [Int32Array.of(0), Int32Array.of(4)];
  return libc().getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, ptr(value), ptr(size)) === 0 && value[0] === 1;
}

function portOf(fd: number): number | null {
  const [address, size] = [Buffer.alloc(ADDRESS_BYTES), Int32Array.of(ADDRESS_BYTES)];
  return libc().getsockname(fd, ptr(address), ptr(size)) === 0 ? address.readUInt16BE(PORT_AT) : null;
}

function setOption(fd: number, option: number, value: number): void {
  libc().setsockopt(fd, SOL_SOCKET, option, ptr(Int32Array.of(value)), 4);
}
