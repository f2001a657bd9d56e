import { dlopen, FFIType, ptr } from "bun:ffi";
import { linkAddress } from "./injector.ts";

/** Of <bits/socket.h>. */
const [AF_PACKET, SOCK_RAW] = [17, 3];
const PER_MS = 20;

/** Some 20,000 ARP requests a second for one address, each from another MAC address and one of 250 IP addresses. */
export class ArpFlood {
  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {}

  static start(namespace: string, link: string, target: string): ArpFlood {
    const argv = ["ip", "netns", "exec", namespace, process.execPath, import.meta.path, link, target];
    return new ArpFlood(Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" }));
  }

  /** How many were sent. */
  async stop(): Promise<number> {
    this.child.stdin.end();
    return Number(await this.child.stdout.text());
  }
}

function run(link: string, target: string): void {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    sendto: {
      args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
      returns: FFIType.i64,
    },
  });
  const socket = symbols.socket(AF_PACKET, SOCK_RAW, 0);
  const ends = linkAddress(link);
  const wanted = target.split(".").map(Number);
  // Ethernet and ARP (RFC 826): broadcast, from a local MAC address, a request.
  const frame = Uint8Array.fromHex(
    `ffffffffffff020000000000080600010800060400010200000000000000000000000000000000000000`,
  );
  frame.set(wanted, 38);
  frame.set(wanted, 28);
  let sent = 0;
  const start = performance.now();
  const timer = setInterval(() => {
    for (const due = (performance.now() - start) * PER_MS; sent < due; sent++) {
      for (const at of [8, 24]) new DataView(frame.buffer).setUint32(at, sent);
      frame[31] = 2 + (sent % 250);
      symbols.sendto(socket, ptr(frame), frame.length, 0, ptr(ends), ends.length);
    }
  }, 1);
  process.stdin
    .on("end", () => {
      clearInterval(timer);
      process.stdout.write(String(sent), () => process.exit(0));
    })
    .resume();
}

if (import.meta.main) run(process.argv[2] ?? "", process.argv[3] ?? "");
