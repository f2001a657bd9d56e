import dgram from "node:dgram";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { encode, RECURSION_DESIRED } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import { linesOf } from "./lines.ts";
import { Pinger } from "./pinger.ts";

/** Between two datagrams of each family. */
const EVERY_MS = 4;
/** Rarer: each starts a connection or is answered with errors. */
const RARELY_MS = 100;
const FIRST_PORT = 10_000;
/** Marks of one device. */
const EPOCHS = 1_000;
/** The ports of all marks, in the language of nft. */
export const MARKED_PORTS = `${FIRST_PORT + EPOCHS}-${10 * EPOCHS + FIRST_PORT - 1}`;

const KINDS = ["udp4", "udp6", "tcp4", "tcp6", "dns4", "dns6", "ping4", "ping6"] as const;
export type MarkKind = (typeof KINDS)[number];

/** A kind of packet of one device, and in which of its epochs it was sent. */
export interface Mark {
  device: number;
  epoch: number;
  kind: MarkKind;
}

/** An epoch that has begun, and how many datagrams the device sent over UDP in the one before. */
export interface Turn {
  epoch: number;
  sent: { udp4: number; udp6: number };
}

/** Packets of one device that say whose they are and when they were sent, also behind NAT. */
export class Marker {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  static async start(namespace: string, device: number, everyMs = EVERY_MS): Promise<Marker> {
    const program = [process.execPath, join(import.meta.dir, "marker.ts"), `${device}`, `${everyMs}`];
    const child = Bun.spawn(commandIn(namespace, program), {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const marker = new Marker(child, linesOf(child.stdout));
    await marker.lines.next();
    return marker;
  }

  /** What is sent from now on has the next epoch. */
  async next(): Promise<Turn> {
    this.child.stdin.write("next\n");
    await this.child.stdin.flush();
    return JSON.parse((await this.lines.next()).value ?? "{}");
  }

  async stop(): Promise<void> {
    this.child.stdin.end();
    await this.child.exited;
  }
}

export function portOf(device: number, epoch: number): number {
  return FIRST_PORT + device * EPOCHS + epoch;
}

/** The mark of a TCP or UDP packet, by the port that it is sent to; null without one. */
export function markAt(port: number): Omit<Mark, "kind"> | null {
  if (!(port >= FIRST_PORT + EPOCHS && port < 10 * EPOCHS + FIRST_PORT)) return null;
  return { device: Math.floor((port - FIRST_PORT) / EPOCHS), epoch: port % EPOCHS };
}

/** Four characters: the first label of the names that a device asks for, and what its pings carry. */
export function labelOf(device: number, epoch: number): string {
  return `d${device}${epoch.toString(36).padStart(2, "0")}`;
}

/** The mark in a label; null without one. */
export function markOf(label: string): Omit<Mark, "kind"> | null {
  const [, device, epoch] = /^d([1-9])([\da-z]{2})$/.exec(label) ?? [];
  return epoch === undefined ? null : { device: Number(device), epoch: Number.parseInt(epoch, 36) };
}

/** The mark in a frame, in the sniffer's words, and from which address it came; null without one. */
export function markInLeak(line: string): (Mark & { from: string }) | null {
  const [, from = "", protocol = "", rest = ""] = /^(\S+) > \S+ (UDP|TCP|ICMP|ICMPv6) (.*)$/.exec(line) ?? [];
  const [, port] = / > (\d+)/.exec(rest) ?? [];
  const [, label = ""] = /, (\w{4})$/.exec(rest) ?? [];
  const named = markOf(label);
  const mark = named ?? markAt(Number(port));
  const name = protocol.startsWith("ICMP")
    ? "ping"
    : protocol === "TCP"
      ? "tcp"
      : named === null
        ? "udp"
        : "dns";
  return mark === null ? null : { ...mark, from, kind: `${name}${from.includes(":") ? 6 : 4}` };
}

function run(device: number, everyMs: number): void {
  let epoch = 0;
  let sent = { udp4: 0, udp6: 0 };
  const pingers = [INTERNET.host4, INTERNET.host6].map((host) => new Pinger(host));
  const [v4, v6] = [socket("udp4"), socket("udp6")];
  // Each has a socket of its own: the refusal of one question is told when the next is sent, which is then not sent.
  const resolvers = [LAN.gateway4, INTERNET.dns4, LAN.gateway6, INTERNET.dns6].map((address) => ({
    ...{ address, asker: socket(address.includes(":") ? "udp6" : "udp4") },
  }));
  setInterval(() => {
    datagram(v4, "udp4", INTERNET.host4);
    datagram(v6, "udp6", INTERNET.host6);
  }, everyMs);
  setInterval(() => {
    for (const { address, asker } of resolvers) asker.send(query(), 53, address, () => {});
    for (const host of [INTERNET.host4, INTERNET.host6]) flow(host, portOf(device, epoch));
    ping();
  }, RARELY_MS);
  process.stdin
    .on("end", () => process.exit(0))
    .on("data", () => {
      epoch += 1;
      // The kernel would repeat their first packets a second later, perhaps by the next exit but one.
      for (const connection of opening) connection.destroy();
      ping();
      console.log(JSON.stringify({ epoch, sent }));
      sent = { udp4: 0, udp6: 0 };
    });
  ping();
  console.log("ready");

  function datagram(socket: dgram.Socket, kind: keyof typeof sent, host: string): void {
    const current = sent;
    current[kind] += 1;
    socket.send("x", portOf(device, epoch), host, (error) => {
      if (error) current[kind] -= 1;
    });
  }

  /** The answer says from where it was asked. */
  function query(): Uint8Array {
    const name = `${labelOf(device, epoch)}.whoami.test`;
    return encode({ type: "query", id: epoch, flags: RECURSION_DESIRED, questions: [{ type: "TXT", name }] });
  }

  /** They carry the label twice, and each epoch has a connection of its own. */
  function ping(): void {
    for (const pinger of pingers) pinger.send(portOf(device, epoch), labelOf(device, epoch).repeat(2));
  }
}

/** What cannot be sent is sent again by the next tick. */
function socket(family: "udp4" | "udp6"): dgram.Socket {
  return dgram.createSocket(family).on("error", () => {});
}

/** Connections that nobody has answered yet. */
const opening = new Set<Socket>();

/** A connection; if someone listens there, it stays open and carries data both ways until it is reset. */
function flow(host: string, port: number): void {
  const connection = connect({ host, port });
  opening.add(connection);
  connection.on("close", () => opening.delete(connection));
  const unanswered = setTimeout(() => connection.destroy(), 20 * RARELY_MS);
  connection.on("error", () => connection.destroy());
  connection.on("connect", () => {
    clearTimeout(unanswered);
    opening.delete(connection);
    connection.write("x".repeat(4_096));
  });
  connection.on("data", (data) => void connection.write(data));
}

if (import.meta.main) run(Number(process.argv[2]), Number(process.argv[3]));
