import { dlopen, FFIType, ptr } from "bun:ffi";
import { readFileSync } from "node:fs";

/** Of <bits/socket.h>, <linux/if_ether.h>, <linux/if_packet.h> and <linux/netlink.h>. */
const AF_NETLINK = 16;
const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_ALL = 0x0003;
const SOL_PACKET = 263;
const PACKET_QDISC_BYPASS = 20;
const NETLINK_NETFILTER = 12;
/** Bytes of `struct sockaddr_ll`, of `struct mmsghdr` and of `struct iovec` on a 64-bit machine. */
const SOCKADDR_LL_BYTES = 20;
const MMSGHDR_BYTES = 64;
const IOVEC_BYTES = 16;
/** `nlmsghdr` and `nfgenmsg` of IPCTNL_MSG_CT_DELETE without attributes: all connections of the namespace. */
const FLUSH_CONNTRACK = Uint8Array.fromHex("1400000002010100000000000000000000000000");

const { symbols: libc } = dlopen("libc.so.6", {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  setsockopt: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32],
    returns: FFIType.i32,
  },
  send: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
  sendmmsg: { args: [FFIType.i32, FFIType.ptr, FFIType.u32, FFIType.i32], returns: FFIType.i32 },
});

/** What a sender is told, one JSON object a line. Each is answered with a number on a line of its own. */
type Order =
  | { do: "send"; frames: readonly string[]; times: number }
  /** The connections that the kernel of this namespace knows. */
  | { do: "forget connections" };

/** A program that puts frames on one link. No other program interrupts it, so that a busy machine can measure too. */
export class Sender {
  private readonly lines: AsyncIterator<string>;

  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    this.lines = linesOf(child.stdout);
  }

  static async start(namespace: string, link: string, processor: number): Promise<Sender> {
    const program = [process.execPath, import.meta.path, link];
    const alone = ["chrt", "--fifo", "1", "taskset", "-c", String(processor)];
    const sender = new Sender(
      Bun.spawn([...alone, "ip", "netns", "exec", namespace, ...program], {
        stdin: "pipe",
        stdout: "pipe",
        stderr: "inherit",
      }),
    );
    await sender.answer();
    return sender;
  }

  order(order: Order): Promise<number> {
    this.child.stdin.write(`${JSON.stringify(order)}\n`);
    this.child.stdin.flush();
    return this.answer();
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async answer(): Promise<number> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the program that sends frames has ended");
    return Number(value);
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

/** Nanoseconds from the first frame to the last. A cable between namespaces has no queue: by then each has arrived. */
function send(socket: number, frames: readonly Uint8Array[], times: number): number {
  const vectors = new BigUint64Array((frames.length * IOVEC_BYTES) / 8);
  const messages = new BigUint64Array((frames.length * MMSGHDR_BYTES) / 8);
  frames.forEach((frame, index) => {
    vectors.set([BigInt(ptr(frame)), BigInt(frame.length)], 2 * index);
    // The third and fourth word of `struct msghdr`: the vectors, and how many.
    messages.set([BigInt(ptr(vectors, index * IOVEC_BYTES)), 1n], 8 * index + 2);
  });
  const at = ptr(messages);
  const startedAt = Bun.nanoseconds();
  for (let time = 0; time < times; time += 1) {
    const sent = libc.sendmmsg(socket, at, frames.length, 0);
    if (sent !== frames.length) throw new Error(`sendmmsg sent ${sent} of ${frames.length} frames`);
  }
  return Bun.nanoseconds() - startedAt;
}

function packetSocket(link: string): number {
  const socket = libc.socket(AF_PACKET, SOCK_RAW, 0);
  const address = new Uint8Array(SOCKADDR_LL_BYTES);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_PACKET, true);
  view.setUint16(2, ETH_P_ALL);
  view.setInt32(4, Number(readFileSync(`/sys/class/net/${link}/ifindex`, "utf8")), true);
  const yes = Int32Array.of(1);
  if (
    libc.bind(socket, ptr(address), address.length) !== 0 ||
    libc.setsockopt(socket, SOL_PACKET, PACKET_QDISC_BYPASS, ptr(yes), 4) !== 0
  )
    throw new Error(`no packet socket on ${link}: this needs root`);
  return socket;
}

function forgetConnections(): number {
  const socket = libc.socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
  return Number(libc.send(socket, ptr(FLUSH_CONNTRACK), FLUSH_CONNTRACK.length, 0));
}

if (import.meta.main) {
  const socket = packetSocket(process.argv[2] ?? "");
  process.stdout.write("0\n");
  for await (const line of console) {
    const order = JSON.parse(line) as Order;
    const answer =
      order.do === "send"
        ? send(
            socket,
            order.frames.map((frame) => Uint8Array.fromHex(frame)),
            order.times,
          )
        : forgetConnections();
    process.stdout.write(`${answer}\n`);
  }
}
