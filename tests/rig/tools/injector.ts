import { dlopen, FFIType, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";

/** Of <bits/socket.h>, <linux/if_ether.h> and <linux/if_packet.h>. */
const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_ALL = 0x0003;
/** Bytes of `struct sockaddr_ll`: family, protocol, interface index, hardware type, packet type, address length, address. */
const SOCKADDR_LL_BYTES = 20;

/** Puts frames on a link as they are, past every table of the namespace; what the link's other end sees is real. */
export async function inject(namespace: string, link: string, frames: readonly Uint8Array[]): Promise<void> {
  // The link's number and address are read from /sys, which must be that namespace's.
  const argv = ["ip", "netns", "exec", namespace, process.execPath, import.meta.path, link];
  const stdin = new TextEncoder().encode(frames.map((frame) => frame.toHex()).join("\n"));
  const child = Bun.spawn(argv, { stdin, stdout: "ignore", stderr: "pipe" });
  const [code, said] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new Error(`frames for ${link} were not sent: ${said}`);
}

function send(link: string, frames: readonly Uint8Array[]): void {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
  });
  const socket = symbols.socket(AF_PACKET, SOCK_RAW, 0);
  if (socket < 0) throw new Error("no packet socket: this needs root");
  const target = linkAddress(link);
  for (const frame of frames) {
    const sent = symbols.sendto(socket, ptr(frame), frame.length, 0, ptr(target), target.length);
    if (Number(sent) !== frame.length) throw new Error(`sendto took ${sent} of ${frame.length} bytes`);
  }
}

export function linkAddress(link: string): Uint8Array {
  const bytes = new Uint8Array(SOCKADDR_LL_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, AF_PACKET, true);
  view.setUint16(2, ETH_P_ALL);
  view.setInt32(4, Number(readFileSync(`/sys/class/net/${link}/ifindex`, "utf8")), true);
  return bytes;
}

if (import.meta.main) {
  const text = await Bun.stdin.text();
  send(
    process.argv[2] ?? "",
    text.split("\n").map((line) => Uint8Array.fromHex(line)),
  );
}
