import dgram from "node:dgram";
import { connect } from "node:net";
import { join } from "node:path";
import { encode, RECURSION_DESIRED } from "dns-packet";
import { INTERNET, LAN } from "../../src/sandbox/topology.ts";
import { commandIn } from "../../src/system/linux.ts";
import { linesOf } from "./lines.ts";

const EVERY_MS = 4;
/** Rarer: each starts a connection or a program. */
const RARELY_MS = 40;
const FIRST_PORT = 10_000;
/** Marks of one device. */
const EPOCHS = 1_000;

/** A kind of packet of one device, and in which of its epochs it was sent. */
export interface Mark {
  device: number;
  epoch: number;
  kind: "udp4" | "udp6" | "tcp4" | "dns";
}

/** Packets of one device that say whose they are and when they were sent, also behind NAT. */
export class Marker {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  static async start(namespace: string, device: number): Promise<Marker> {
    const program = [process.execPath, join(import.meta.dir, "marker.ts"), `${device}`];
    const child = Bun.spawn(commandIn(namespace, program), {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const marker = new Marker(child, linesOf(child.stdout));
    await marker.lines.next();
    return marker;
  }

  /** What is sent from now on has the next epoch, which is returned. */
  async next(): Promise<number> {
    this.child.stdin.write("next\n");
    await this.child.stdin.flush();
    return Number((await this.lines.next()).value);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

/** The mark in a frame, in tcpdump's words; null without one. */
export function markIn(line: string): Mark | null {
  const [, name, number] = / A\? d(\d+)e(\d+)\.test\./.exec(line) ?? [];
  if (name !== undefined) return { device: Number(name), epoch: Number(number), kind: "dns" };
  const [, ip, text, rest = ""] = /^(IP6?) \S+ > \S+\.(\d+): (.*)$/.exec(line) ?? [];
  const port = Number(text);
  if (!(port > FIRST_PORT && port < 2 * FIRST_PORT)) return null;
  const device = Math.floor((port - FIRST_PORT) / EPOCHS);
  const kind = rest.startsWith("Flags") ? "tcp4" : ip === "IP6" ? "udp6" : "udp4";
  return { device, epoch: port % EPOCHS, kind };
}

function run(device: number): void {
  let epoch = 0;
  const port = () => FIRST_PORT + device * EPOCHS + epoch;
  const [v4, v6] = [dgram.createSocket("udp4"), dgram.createSocket("udp6")];
  // A refused datagram is sent again by the next tick.
  for (const socket of [v4, v6]) socket.on("error", () => {});
  setInterval(() => {
    v4.send("x", port(), INTERNET.host4, () => {});
    v6.send("x", port(), INTERNET.host6, () => {});
  }, EVERY_MS);
  setInterval(() => {
    const query = encode({
      type: "query",
      id: epoch,
      flags: RECURSION_DESIRED,
      questions: [{ type: "A", name: `d${device}e${epoch}.test` }],
    });
    for (const resolver of [LAN.gateway4, INTERNET.dns4]) v4.send(query, 53, resolver, () => {});
    for (const resolver of [LAN.gateway6, INTERNET.dns6]) v6.send(query, 53, resolver, () => {});
    const socket = connect({ host: INTERNET.host4, port: port() });
    socket.on("error", () => socket.destroy());
    setTimeout(() => socket.destroy(), 20 * RARELY_MS);
  }, RARELY_MS);
  process.stdin.on("data", () => {
    epoch += 1;
    console.log(epoch);
  });
  console.log("ready");
}

if (import.meta.main) run(Number(process.argv[2]));
