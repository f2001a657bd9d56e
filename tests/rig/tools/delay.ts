import { dlopen, FFIType } from "bun:ffi";
import { openSync } from "node:fs";
import { join } from "node:path";

/** The two ends of the delay line, in the namespace of the internet. */
const HOME_END = "delay-home";
const FAR_END = "delay-far";
/** Locally administered; nobody speaks to a port of a bridge. */
const PORT_ADDRESS = "02:00:00:00:00:01";
/** Frames that wait for the program to read them: a burst of a full TCP window. */
const QUEUE_FRAMES = 10_000;

/** What hangs on the internet by a cable. */
export type Port = "router" | "vpn1" | "vpn2";

/** The lab, as far as a cable needs it. */
interface Cabling {
  namespaces: { internet: string };
  exec(
    namespace: string,
    argv: readonly string[],
    stdin?: string,
  ): Promise<{ code: number; stdout: string; stderr: string }>;
}

/**
 * A long cable between the home router, or a VPN server, and the rest of the world: each frame arrives `ms` later, in order, so a
 * round trip takes twice that longer. It is a program with two TAP devices, for not every kernel has netem.
 */
export class DelayLine {
  private constructor(
    private readonly lab: Cabling,
    private readonly port: Port,
    private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">,
  ) {}

  static async insert(lab: Cabling, ms: number, port: Port): Promise<DelayLine> {
    const namespace = lab.namespaces.internet;
    const program = [process.execPath, join(import.meta.dir, "delay.ts"), String(ms)];
    // Before others: what it waits for its turn would add to the delay.
    const child = Bun.spawn(["ip", "netns", "exec", namespace, "nice", "-n", "-15", ...program], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const line = new DelayLine(lab, port, child);
    const { value } = await child.stdout.getReader().read();
    if (value === undefined) throw new Error("the delay line did not start");
    await line.batch([
      // A bridge takes the lowest address of its ports, and its neighbours would go on sending to the former; and
      // the port that leaves must not take this address along.
      `link set dev backbone address ${await line.backboneAddress()}`,
      `link set dev ${port} address ${PORT_ADDRESS}`,
      "link add name near type bridge mcast_snooping 0",
      ...["near", HOME_END, FAR_END].map((link) => `link set dev ${link} addrgenmode none`),
      ...[HOME_END, FAR_END].map((link) => `link set dev ${link} txqueuelen ${QUEUE_FRAMES} up`),
      `link set dev ${HOME_END} master near`,
      `link set dev ${FAR_END} master backbone`,
      "link set dev near up",
      `link set dev ${port} master near`,
    ]);
    return line;
  }

  /** The short cable again. */
  async remove(): Promise<void> {
    await this.batch([`link set dev ${this.port} master backbone`, "link delete dev near"]);
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async backboneAddress(): Promise<string> {
    const argv = ["cat", "/sys/class/net/backbone/address"];
    return (await this.lab.exec(this.lab.namespaces.internet, argv)).stdout.trim();
  }

  private async batch(lines: readonly string[]): Promise<void> {
    const text = `${lines.join("\n")}\n`;
    const { code, stderr } = await this.lab.exec(this.lab.namespaces.internet, ["ip", "-batch", "-"], text);
    if (code !== 0) throw new Error(`the delay line: ${stderr}`);
  }
}

/** linux/if_tun.h, poll.h */
const TUNSETIFF = 0x400454ca;
const IFF_TAP_WITHOUT_HEADER = 0x1002;
const IFREQ_BYTES = 40;
const POLLIN = 1;
/** Linux's O_RDWR | O_NONBLOCK, the same on x64 and arm64. */
const READ_WRITE_NONBLOCK = 0o4002;
/** Longest Ethernet frame of a link with any MTU. */
const FRAME_BYTES = 65_550;

interface Waiting {
  due: number;
  target: number;
  frame: Uint8Array;
}

type Libc = ReturnType<typeof openLibc>;

/** The four system calls that Bun has no way to make. */
export function openLibc() {
  return dlopen("libc.so.6", {
    ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
    ppoll: { args: ["ptr", "u64", "ptr", "ptr"], returns: "i32" },
    read: { args: ["i32", "ptr", "u64"], returns: FFIType.i64_fast },
    write: { args: ["i32", "ptr", "u64"], returns: FFIType.i64_fast },
  }).symbols;
}

export function openTap(libc: Libc, name: string): number {
  const fd = openSync("/dev/net/tun", READ_WRITE_NONBLOCK);
  const request = Buffer.alloc(IFREQ_BYTES);
  request.write(name, "latin1");
  request.writeUInt16LE(IFF_TAP_WITHOUT_HEADER, 16);
  if (libc.ioctl(fd, TUNSETIFF, request) !== 0) throw new Error(`cannot make the TAP device ${name}`);
  return fd;
}

/**
 * Never returns to the event loop: a timer of JavaScript is a millisecond late, `ppoll` a tenth of that. `passed` is what
 * becomes of a frame for that end, null for nothing.
 */
export function forward(
  libc: Libc,
  ends: readonly [number, number],
  ms: number,
  passed: (frame: Uint8Array, target: number) => Uint8Array | null = (frame) => frame,
): never {
  const polled = new Int32Array([ends[0], POLLIN, ends[1], POLLIN]);
  const patience = new BigInt64Array(2);
  const buffer = new Uint8Array(FRAME_BYTES);
  // Every frame waits equally long, so the order of arrival is the order of departure.
  const line: Waiting[] = [];
  const receive = (source: number, target: number) => {
    for (;;) {
      const size = Number(libc.read(source, buffer, FRAME_BYTES));
      if (size <= 0) return;
      const frame = passed(buffer.slice(0, size), target);
      if (frame !== null) line.push({ due: performance.now() + ms, target, frame });
    }
  };
  for (;;) {
    patience[1] = BigInt(Math.max(0, Math.round(((line[0]?.due ?? 0) - performance.now()) * 1e6)));
    libc.ppoll(polled, 2n, line.length === 0 ? null : patience, null);
    receive(ends[0], ends[1]);
    receive(ends[1], ends[0]);
    for (let first = line[0]; first !== undefined && first.due <= performance.now(); first = line[0]) {
      libc.write(first.target, first.frame, first.frame.length);
      line.shift();
    }
  }
}

if (import.meta.main) {
  const libc = openLibc();
  const ends = [openTap(libc, HOME_END), openTap(libc, FAR_END)] as const;
  process.stdout.write("ready\n");
  // What was written goes out before the loop that never yields.
  setTimeout(() => forward(libc, ends, Number(process.argv[2])), 1);
}
