import { commandIn } from "../../../src/sandbox/namespace.ts";
import { type Finding, findingOf, type WireguardEndpoint } from "./frame.ts";

export interface SnifferOptions {
  /** The VPN servers: WireGuard to and from anyone else is a leak. */
  endpoints: readonly WireguardEndpoint[];
  /** `in` and `out` as the sniffed interface sees them; both by default. */
  direction?: "in" | "out";
}

export interface Catch {
  frames: number;
  wireguard: number;
  arp: number;
  ndp: number;
  dhcp: number;
  mdns: number;
  /** One line for each frame that is none of these. */
  leaks: string[];
  /** Frames that the kernel saw and the sniffer did not get: a proof needs 0. */
  missed: number;
}

/** Enough for every header; sizes are read from the headers. */
const SNAPLEN = 192;
/** The Ethernet header and a packet that fills the cable. A longer frame would be several packets that are judged as one. */
const MAX_FRAME_BYTES = 14 + 1_500;
/** KiB of kernel memory for frames that wait; a flood of small packets fills the default of 2 MiB. */
const BUFFER_KIB = 32_768;
/** Frames reach the reader in about 5 ms; when none came for this long, all have. */
const QUIET_MS = 100;
/** How long tcpdump and the reader may take for what has passed; they take 5 ms where nothing else runs. */
const CATCH_UP_MS = 10_000;
/** Constant traffic never is quiet: what was caught until the call has come by then. */
const FLUSH_MS = 400;

/** Catches all that passes one interface, and tells leaks from what may pass. */
export class Sniffer {
  private pending: Uint8Array = new Uint8Array(0);
  private header = true;
  private lastFrame = 0;
  private captured = 0;
  private reading: Promise<unknown> = Promise.resolve();
  private notes = "";
  private readonly caught: Catch = {
    frames: 0,
    wireguard: 0,
    arp: 0,
    ndp: 0,
    dhcp: 0,
    mdns: 0,
    leaks: [],
    missed: 0,
  };

  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">,
    private readonly options: SnifferOptions,
    /** Hexadecimal, as in a frame. */
    private readonly own: string,
  ) {}

  static async start(namespace: string, link: string, options: SnifferOptions): Promise<Sniffer> {
    const own = await ownAddress(namespace, link);
    const capture = ["-n", "-U", "--immediate-mode", "-s", `${SNAPLEN}`, "-B", `${BUFFER_KIB}`, "-Z", "root"];
    const child = Bun.spawn(commandIn(namespace, ["tcpdump", "-i", link, ...capture, "-w", "-"]), {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const sniffer = new Sniffer(child, options, own);
    const listening = Promise.withResolvers<void>();
    sniffer.reading = Promise.all([sniffer.readFrames(), sniffer.readNotes(() => listening.resolve())]);
    void child.exited.then(() => listening.reject(new Error(`tcpdump on ${link} ended: ${sniffer.notes}`)));
    await listening.promise;
    return sniffer;
  }

  /** What was caught until now. */
  peek(): Readonly<Catch> {
    return { ...this.caught, leaks: [...this.caught.leaks] };
  }

  /** The lines of what has leaked until now, which are forgotten. */
  take(): string[] {
    return this.caught.leaks.splice(0);
  }

  /** The lines of what has leaked until now, without a copy. */
  get leaks(): readonly string[] {
    return this.caught.leaks;
  }

  /** Waits for the frames that have passed until now and returns what was caught; the sniffer goes on. */
  async count(): Promise<Catch> {
    const notesBefore = this.notes.length;
    this.child.kill("SIGUSR1");
    await this.within(CATCH_UP_MS, () => /dropped by kernel/.test(this.notes.slice(notesBefore)));
    const passed = this.noted("received by filter");
    await this.within(CATCH_UP_MS, () => this.captured >= passed);
    const missed = Math.max(0, passed - this.captured) + this.noted("dropped by kernel");
    return { ...this.peek(), missed };
  }

  /** Waits for the frames under way and returns what was caught. Throws where the interface went away meanwhile. */
  async stop(): Promise<Catch> {
    if (this.child.exitCode !== null) throw new Error(`the sniffer ended early: ${this.notes}`);
    const deadline = performance.now() + FLUSH_MS;
    const start = performance.now();
    while (performance.now() < deadline) {
      if (performance.now() - Math.max(this.lastFrame, start) > QUIET_MS) break;
      await Bun.sleep(10);
    }
    await this.count();
    this.child.kill("SIGINT");
    await this.child.exited;
    await this.reading;
    this.caught.missed = this.noted("received by filter") - this.captured + this.noted("dropped by kernel");
    return this.caught;
  }

  /** The pcap format: a header of 24 bytes, then for each frame 16 bytes: the third word is how much of it follows, the fourth is its length. */
  private async readFrames(): Promise<void> {
    for await (const chunk of this.child.stdout) {
      this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk]);
      let offset = 0;
      if (this.header && this.pending.length >= 24) {
        this.header = false;
        offset = 24;
      }
      const view = new DataView(this.pending.buffer, this.pending.byteOffset, this.pending.byteLength);
      while (!this.header && this.pending.length >= offset + 16) {
        const end = offset + 16 + view.getUint32(offset + 8, true);
        if (this.pending.length < end) break;
        this.note(this.pending.subarray(offset + 16, end), view.getUint32(offset + 12, true));
        offset = end;
      }
      this.pending = this.pending.subarray(offset);
    }
  }

  private note(frame: Uint8Array, bytes: number): void {
    this.captured += 1;
    this.lastFrame = performance.now();
    // tcpdump's own `inbound` misses the first frames, for it is checked again without what it asks for.
    const direction = frame.subarray(6, 12).toHex() === this.own ? "out" : "in";
    if (direction !== (this.options.direction ?? direction)) return;
    const finding: Finding =
      bytes > MAX_FRAME_BYTES
        ? { kind: "leak", description: `a frame of ${bytes} bytes` }
        : findingOf(frame, this.options.endpoints);
    this.caught.frames += 1;
    if (finding.kind === "leak") this.caught.leaks.push(finding.description);
    else this.caught[finding.kind] += 1;
  }

  private async readNotes(onListening: () => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stderr) {
      this.notes += decoder.decode(chunk, { stream: true });
      if (this.notes.includes("listening on")) onListening();
    }
  }

  private async within(ms: number, done: () => boolean): Promise<void> {
    const deadline = performance.now() + ms;
    while (!done() && this.child.exitCode === null && performance.now() < deadline) await Bun.sleep(2);
  }

  /** tcpdump's latest words: `12 packets received by filter`. */
  private noted(what: string): number {
    const said = [...this.notes.matchAll(new RegExp(`(\\d+) packets? ${what}`, "g"))].at(-1);
    return Number(said?.[1] ?? Number.NaN);
  }
}

async function ownAddress(namespace: string, link: string): Promise<string> {
  const file = `/sys/class/net/${link}/address`;
  const child = Bun.spawn(["ip", "netns", "exec", namespace, "cat", file], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const text = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`no ${link} in ${namespace}`);
  return text.trim().replaceAll(":", "");
}

/**
 * With one card: an error from the gateway's link-local address to that of the home router, which has sent it something
 * from there that is not forwarded. Such a packet stays on the cable.
 */
export function isNeighbourly(leak: string): boolean {
  return /^fe80:\S+ > fe80:\S+ ICMPv6 type 1 code \d$/.test(leak);
}
