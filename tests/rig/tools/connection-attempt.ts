import { dlopen, ptr } from "bun:ffi";
import { commandIn } from "../../../src/sandbox/namespace.ts";

/** From the kernel's headers; the same on ARM and x86. */
const [AF_INET, SOCK_STREAM, SOCK_DGRAM, SOL_SOCKET] = [2, 1, 2, 1];
const [SO_SNDTIMEO, SO_BINDTODEVICE, SO_MARK] = [21, 25, 36];
const WAITS_S = 2;

export interface Knock {
  /** The only one of the machine's ports that it comes from. */
  sourcePort: number;
  /** The gateway's address that it comes from; any if absent. */
  from?: string;
  address: string;
  port: number;
  /** A datagram is sent then. */
  isUdp?: boolean;
  /** The firewall mark of what is sent; 0 for none. */
  mark?: number;
  /** The only interface by which it may leave; any if absent. */
  link?: string;
  /** Of the program; root if absent. */
  uid?: number;
}

/** Whether a program in the namespace opens such a TCP connection, or sends such a datagram. One that may not set the mark does not. */
export async function knock(namespace: string, given: Knock): Promise<boolean> {
  const argv = [process.execPath, import.meta.path, JSON.stringify(given)];
  const child = Bun.spawn(commandIn(namespace, argv), {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  return (await child.exited) === 0;
}

function connects({
  sourcePort,
  from = "0.0.0.0",
  address,
  port,
  mark = 0,
  link = "",
  uid = 0,
  isUdp = false,
}: Knock): boolean {
  const { symbols: c } = dlopen("libc.so.6", {
    setuid: { args: ["u32"], returns: "i32" },
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    send: { args: ["i32", "ptr", "usize", "i32"], returns: "i64" },
  });
  const addressOf = (host: string, at: number) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUInt16LE(AF_INET);
    bytes.writeUInt16BE(at, 2);
    bytes.set(host.split(".").map(Number), 4);
    return bytes;
  };
  if (c.setuid(uid) !== 0) return false;
  const socket = c.socket(AF_INET, isUdp ? SOCK_DGRAM : SOCK_STREAM, 0);
  const wait = BigInt64Array.of(BigInt(WAITS_S), 0n);
  const [own, to] = [addressOf(from, sourcePort), addressOf(address, port)];
  return (
    c.setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, ptr(wait), 16) === 0 &&
    (mark === 0 || c.setsockopt(socket, SOL_SOCKET, SO_MARK, ptr(Int32Array.of(mark)), 4) === 0) &&
    (link === "" ||
      c.setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, ptr(Buffer.from(`${link}\0`)), link.length + 1) ===
        0) &&
    c.bind(socket, ptr(own), own.length) === 0 &&
    c.connect(socket, ptr(to), to.length) === 0 &&
    (!isUdp || Number(c.send(socket, ptr(to), to.length, 0)) > 0)
  );
}

if (import.meta.main) process.exit(connects(JSON.parse(process.argv[2] ?? "")) ? 0 : 1);
