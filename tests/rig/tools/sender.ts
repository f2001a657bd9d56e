import dgram from "node:dgram";
import { connect, type Socket } from "node:net";
import { encode, RECURSION_DESIRED } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import { CHARGEN_PORT } from "./chargen.ts";
import type { LanDevice } from "./lan-device.ts";
import { linesOf } from "./lines.ts";
import { until } from "./until.ts";

/** Datagrams of both families, one TCP connection, and queries to the gateway. */
export const KINDS = ["u", "v", "t", "d"] as const;
type Kind = (typeof KINDS)[number];

/** Between two datagrams of one family. */
const EVERY_MS = 15;
/** Between two lines, or two queries. */
const SELDOM_MS = 30;
/** Linux sends a lost SYN again after a second; what has no answer by then is tried by a new connection. */
const HANGS_AFTER_MS = 3_000;
/** How long answers may take after the last packet; where nothing else runs they take 5 ms. */
const GRACE_MS = { shortest: 200, longest: 3_000 };
const LOOK_MS = 4;

/** A packet of one device, as its payload tells it: also behind NAT, and whatever the clocks say. */
export interface Mark {
  device: number;
  kind: Kind;
  /** Numbers grow with time; all kinds share them. */
  number: number;
}

export interface Progress {
  /** Of the last packet that was sent. */
  number: number;
  /** The latest number that was answered, of each kind. */
  answered: Record<Kind, number>;
  /** Number at which the open connection was opened; null without one. */
  opened: { line: number | null; download: number | null };
  /** Connections that were open and ended. */
  resets: number;
  /** Connections that were refused at once. */
  refused: number;
  /** Connections that got no answer at all. */
  hung: number;
  /** That were downloaded. */
  bytes: number;
  /** Datagrams without an answer; empty until the end. */
  lost: number[];
}

export function marksIn(text: string): Mark[] {
  return [...text.matchAll(/m([1-9])([uvtd])(\d+)m/g)].map(([, device, kind, number]) => ({
    device: Number(device),
    kind: kind as Kind,
    number: Number(number),
  }));
}

/** A device's traffic under load: each packet has a number, and a download never pauses. */
export class Sender {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  /** `slower` times fewer packets than usual; then it does not count what is lost. */
  static async start({ namespace, number }: LanDevice, slower = 1): Promise<Sender> {
    const argv = commandIn(namespace, [process.execPath, import.meta.path, `${number}`, `${slower}`]);
    const child = Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    const sender = new Sender(child, linesOf(child.stdout));
    await sender.lines.next();
    return sender;
  }

  /** Every packet that is sent from now on has a higher number. */
  now(): Promise<Progress> {
    return this.ask();
  }

  /** Waits for progress; throws without it after a minute. */
  async until(met: (progress: Progress) => boolean, ms?: number): Promise<Progress> {
    let progress = await this.now();
    await until(
      async () => {
        progress = await this.now();
        return met(progress);
      },
      ms,
      LOOK_MS,
    );
    return progress;
  }

  private async ask(): Promise<Progress> {
    this.child.stdin.write("now\n");
    await this.child.stdin.flush();
    return JSON.parse((await this.lines.next()).value ?? "{}");
  }

  /** Sends no more datagrams and waits for the answers under way. */
  async stop(): Promise<Progress> {
    this.child.stdin.end();
    const line = await this.lines.next();
    await this.child.exited;
    return JSON.parse(line.value ?? "{}");
  }
}

/** Whether packets of every kind that were sent after that number have been answered; or all but questions for names. */
export function isServed({ answered, opened }: Progress, after: number, withQuestions = true): boolean {
  const kinds = KINDS.filter((kind) => withQuestions || kind !== "d");
  return kinds.every((kind) => answered[kind] > after) && opened.download !== null;
}

function run(device: number, slower: number): void {
  const state: Progress = {
    number: 0,
    answered: { u: 0, v: 0, t: 0, d: 0 },
    opened: { line: null, download: null },
    ...{ resets: 0, refused: 0, hung: 0, bytes: 0, lost: [] },
  };
  const open = new Set<number>();
  const next = (kind: Kind) => {
    state.number += 1;
    if (slower === 1 && (kind === "u" || kind === "v")) open.add(state.number);
    return `m${device}${kind}${state.number}m`;
  };
  const answer = (message: Buffer) => {
    for (const { kind, number } of marksIn(message.toString("latin1"))) {
      state.answered[kind] = Math.max(state.answered[kind], number);
      open.delete(number);
    }
  };
  const [v4, v6] = [dgram.createSocket("udp4"), dgram.createSocket("udp6")];
  for (const socket of [v4, v6]) socket.on("error", () => {}).on("message", answer);
  const timers = [
    setInterval(() => {
      v4.send(next("u"), 7, INTERNET.host4, () => {});
      v6.send(next("v"), 7, INTERNET.host6, () => {});
    }, slower * EVERY_MS),
    setInterval(() => v4.send(query(next("d")), 53, LAN.gateway4, () => {}), slower * SELDOM_MS),
  ];
  stayConnected(state, "line", 7, (socket) => {
    socket.on("data", answer);
    const timer = setInterval(() => socket.writable && socket.write(`${next("t")}\n`), slower * SELDOM_MS);
    socket.on("close", () => clearInterval(timer));
  });
  stayConnected(state, "download", CHARGEN_PORT, (socket) => {
    socket.on("data", (data) => {
      state.bytes += data.length;
    });
  });
  const text = (lost: readonly number[]) => `${JSON.stringify({ ...state, lost })}\n`;
  const finish = async () => {
    for (const timer of timers) clearInterval(timer);
    const ended = performance.now();
    const waited = () => performance.now() - ended;
    while (waited() < GRACE_MS.shortest || (waited() < GRACE_MS.longest && open.size > 0))
      await Bun.sleep(10);
    process.stdout.write(text([...open]), () => process.exit(0));
  };
  process.stdin.on("end", () => void finish()).on("data", () => process.stdout.write(text([])));
  console.log("ready");
}

/** Opens a connection again whenever it has ended. */
function stayConnected(
  state: Progress,
  what: keyof Progress["opened"],
  port: number,
  onOpen: (socket: Socket) => void,
): void {
  const again = () => setTimeout(() => stayConnected(state, what, port, onOpen), SELDOM_MS);
  const socket = connect({ host: INTERNET.host4, port, noDelay: true });
  let outcome: "refused" | "hung" | "resets" = "refused";
  const patience = setTimeout(() => {
    outcome = "hung";
    socket.destroy();
  }, HANGS_AFTER_MS);
  socket.on("error", () => socket.destroy());
  socket.on("connect", () => {
    clearTimeout(patience);
    outcome = "resets";
    // A number of its own: higher than all that `now` has told before.
    state.number += 1;
    state.opened[what] = state.number;
    onOpen(socket);
  });
  socket.on("close", () => {
    clearTimeout(patience);
    state[outcome] += 1;
    state.opened[what] = null;
    again();
  });
}

function query(label: string): Uint8Array {
  return encode({
    type: "query",
    id: 1,
    flags: RECURSION_DESIRED,
    questions: [{ type: "TXT", name: `${label}.whoami.test` }],
  });
}

if (import.meta.main) run(Number(process.argv[2]), Number(process.argv[3]));
