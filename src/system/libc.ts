import { dlopen, ptr } from "bun:ffi";

/** From the kernel's headers; the same on ARM and x86. */
export const NONBLOCK_CLOEXEC = 0o4000 | 0o2000000;
export const DATAGRAM_NONBLOCK_CLOEXEC = 0o2 | NONBLOCK_CLOEXEC;
export const SOL_SOCKET = 1;

export type Libc = ReturnType<typeof opened>;
/** Opened once: sockets come and go as long as the service runs. */
let symbols: Libc | null = null;

/**
 * Calls that Bun has none for: locks, what a thread of libc does meanwhile (aio(7)), and most of what sockets can do.
 * Bun's own can be neither packet sockets nor bound to a link nor marked.
 */
export function libc(): Libc {
  symbols ??= opened();
  return symbols;
}

function opened() {
  return dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    getsockname: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    send: { args: ["i32", "ptr", "usize", "i32"], returns: "i64" },
    sendto: { args: ["i32", "ptr", "usize", "i32", "ptr", "u32"], returns: "i64" },
    recvfrom: { args: ["i32", "ptr", "usize", "i32", "ptr", "ptr"], returns: "i64" },
    recvmmsg: { args: ["i32", "ptr", "u32", "i32", "ptr"], returns: "i32" },
    sendmmsg: { args: ["i32", "ptr", "u32", "i32"], returns: "i32" },
    poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
    eventfd: { args: ["u32", "i32"], returns: "i32" },
    read: { args: ["i32", "ptr", "usize"], returns: "i64" },
    write: { args: ["i32", "ptr", "usize"], returns: "i64" },
    ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
    if_nametoindex: { args: ["ptr"], returns: "u32" },
    inet_pton: { args: ["i32", "ptr", "ptr"], returns: "i32" },
    memfd_create: { args: ["ptr", "u32"], returns: "i32" },
    aio_read: { args: ["ptr"], returns: "i32" },
    aio_write: { args: ["ptr"], returns: "i32" },
    aio_error: { args: ["ptr"], returns: "i32" },
    aio_return: { args: ["ptr"], returns: "i64" },
    flock: { args: ["i32", "i32"], returns: "i32" },
    __errno_location: { args: [], returns: "ptr" },
    close: { args: ["i32"], returns: "i32" },
  }).symbols;
}

/** memfd_create(2). The programs that this one starts do not inherit it, and nobody runs it. */
const MFD_CLOEXEC = 1;
const MFD_NOEXEC_SEAL = 8;

/** The descriptor of a file in memory, which is gone once nobody has it open; negative if the kernel gives none. */
export function memoryFile(name: string): number {
  const text = ptr(Buffer.from(`${name}\0`));
  const file = libc().memfd_create(text, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  // Before Linux 6.3 there is no such flag; since then it can be obligatory (vm.memfd_noexec).
  return file >= 0 ? file : libc().memfd_create(text, MFD_CLOEXEC);
}

/** Packets that have come in, at most `most`, each with its sender: a `sockaddr` of `addressBytes`. */
export function* receivedFrom(
  socket: number,
  { buffer, addressBytes, most }: { buffer: Buffer; addressBytes: number; most: number },
): Generator<{ sender: Buffer; bytes: Uint8Array }> {
  const sender = Buffer.alloc(addressBytes);
  for (let count = 0; count < most; count++) {
    const length = Int32Array.of(addressBytes);
    const bytes = Number(libc().recvfrom(socket, ptr(buffer), buffer.length, 0, ptr(sender), ptr(length)));
    // An error, also when there is nothing more.
    if (bytes < 0) return;
    yield { sender, bytes: Uint8Array.from(buffer.subarray(0, bytes)) };
  }
}
