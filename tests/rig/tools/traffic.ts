import dgram from "node:dgram";
import { join } from "node:path";
import { decode, encode, RECURSION_DESIRED } from "dns-packet";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET, TUNNEL } from "../../../src/sandbox/topology.ts";
import { linesOf } from "./lines.ts";
import { Pinger } from "./pinger.ts";
import { until } from "./until.ts";

export const KINDS = ["udp", "udp6", "flow", "web", "dns", "ping"] as const;
/**
 * `udp`, `udp6`: datagrams to an echo. `flow`: lines through one open TCP connection to an echo. `web`: a new TCP
 * connection each time, asking from which address it comes. `dns`: the same question for a name. `ping`: ICMP.
 */
export type Kind = (typeof KINDS)[number];

export interface TrafficOptions {
  kinds?: readonly Kind[];
  /** Between two datagrams or lines. */
  intervalMs?: number;
  /** Between two starts of `web`, `dns` and `ping`; ten times as long unless told. */
  rarelyMs?: number;
  /** Asked by `dns`; the default is the resolver inside the tunnel. */
  resolver?: string;
}

/** What was counted so far of traffic that goes on. */
export interface Progress {
  sent: number;
  answered: number;
  /** Errors that came by themselves: resets, ICMP, EPERM. */
  refused: number;
  /** From which addresses the internet saw this traffic, where it says so, and how often. */
  seenAs: Record<string, number>;
}

export interface Tally extends Progress {
  /** Between two answers. */
  longestGapMs: number;
  /** Sequence numbers, from 1, that no answer came for. */
  lost: number[];
}

export type TrafficProgress = Partial<Record<Kind, Progress>>;
export type TrafficReport = Partial<Record<Kind, Tally>>;

/** A hundred datagrams take half a second, and much longer on a busy machine. */
const SENT_WITHIN_MS = 60_000;
/** Between two looks at what was sent. */
const LOOK_MS = 30;

/** Constant traffic out of one namespace. */
export class Traffic {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  static async start(namespace: string, options: TrafficOptions = {}): Promise<Traffic> {
    const child = Bun.spawn(
      commandIn(namespace, [process.execPath, join(import.meta.dir, "traffic.ts"), JSON.stringify(options)]),
      { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    );
    const traffic = new Traffic(child, linesOf(child.stdout));
    await traffic.lines.next();
    return traffic;
  }

  /** What was counted since the start; the traffic goes on. */
  async count(): Promise<TrafficProgress> {
    this.child.stdin.write("count\n");
    await this.child.stdin.flush();
    const line = await this.lines.next();
    return JSON.parse(line.value ?? "{}");
  }

  /** Returns once so many more datagrams have been sent, however busy the machine is. */
  async sends(more: number): Promise<void> {
    const sent = async () => (await this.count()).udp?.sent ?? 0;
    const before = await sent();
    await until(async () => (await sent()) >= before + more, SENT_WITHIN_MS, LOOK_MS);
  }

  /** The machine has no processor for it for so long. */
  async stalls(ms: number): Promise<void> {
    this.child.kill("SIGSTOP");
    await Bun.sleep(ms);
    this.child.kill("SIGCONT");
  }

  /** Sends no more, waits for the answers under way, and counts. */
  async stop(): Promise<TrafficReport> {
    this.child.stdin.end();
    const line = await this.lines.next();
    await this.child.exited;
    return JSON.parse(line.value ?? "{}");
  }
}

/** How long answers may take after the last question: tunnels of the lab answer within 5 ms where nothing else runs. */
const GRACE_MS = { shortest: 300, longest: 1_500 };
/** A question that found no answer by then is lost, and its socket starts anew. */
export const PATIENCE_MS = 1_000;
/** So long a socket that was replaced still hears. */
const FORMER_MS = 10_000;
/** Between two looks for answers. */
const READ_MS = 10;
/** Identifiers of echo requests have 16 bits. */
const IDENTIFIERS = 0x10000;
/** As many bytes as `ping` sends. */
const PING = "x".repeat(56);

class Counter {
  refused = 0;
  private sent = 0;
  private answered = 0;
  private gap = 0;
  private last: number | null = null;
  private readonly open = new Set<number>();
  private readonly seenAs: Record<string, number> = {};

  next(): number {
    this.sent += 1;
    this.open.add(this.sent);
    return this.sent;
  }

  answer(sequence: number, seenAs?: string): void {
    if (!this.open.delete(sequence)) return;
    const now = performance.now();
    this.answered += 1;
    this.gap = Math.max(this.gap, now - (this.last ?? now));
    this.last = now;
    if (seenAs !== undefined) this.seenAs[seenAs] = (this.seenAs[seenAs] ?? 0) + 1;
  }

  /** How long nothing came back. */
  silence(): number {
    return performance.now() - (this.last ?? 0);
  }

  get complete(): boolean {
    return this.open.size === 0;
  }

  progress(): Progress {
    const { sent, answered, refused, seenAs } = this;
    return { sent, answered, refused, seenAs };
  }

  tally(): Tally {
    return { ...this.progress(), longestGapMs: Math.round(this.gap), lost: [...this.open] };
  }
}

/** Each starts its traffic and returns what ends it. */
const SOURCES: Record<Kind, (counter: Counter, options: Required<TrafficOptions>) => () => void> = {
  udp: (counter, { intervalMs }) => datagrams(counter, "udp4", INTERNET.host4, intervalMs),
  udp6: (counter, { intervalMs }) => datagrams(counter, "udp6", INTERNET.host6, intervalMs),
  flow: (counter, { intervalMs }) => flow(counter, intervalMs),
  web: (counter, { rarelyMs }) => every(rarelyMs, () => visit(counter)),
  dns: (counter, { rarelyMs, resolver }) => every(rarelyMs, () => question(counter, resolver)),
  ping: (counter, { rarelyMs }) => pings(counter, rarelyMs),
};

function datagrams(counter: Counter, family: "udp4" | "udp6", host: string, intervalMs: number): () => void {
  let socket: dgram.Socket | null = null;
  let state: "connecting" | "connected" | "refused" = "connecting";
  let started = 0;
  /** At the last look: answers that came while this process had no processor are read before the next one. */
  let wasSilent = false;
  const refuse = () => {
    counter.refused += 1;
  };
  const connect = () => {
    const fresh = dgram.createSocket(family);
    fresh.on("error", refuse);
    fresh.on("message", (message) => counter.answer(Number(message.toString())));
    const done = (error?: Error) => {
      if (socket === fresh) state = error === undefined || error === null ? "connected" : "refused";
    };
    [socket, state, started] = [fresh, "connecting", performance.now()];
    fresh.connect(7, host, done as () => void);
  };
  /** On a busy machine answers are late: those to the former socket still count. */
  const renew = () => {
    const former = socket;
    setTimeout(() => former?.close(), FORMER_MS);
    connect();
  };
  connect();
  return every(intervalMs, () => {
    // A connected socket hears of ICMP errors, but keeps the source address it began with: silence renews it.
    const isSilent = Math.min(counter.silence(), performance.now() - started) > PATIENCE_MS;
    if (isSilent && wasSilent) renew();
    wasSilent = isSilent;
    if (state === "connecting") return;
    const sequence = counter.next();
    if (state === "refused") return refuse();
    socket?.send(String(sequence), (error) => {
      if (error) refuse();
    });
  });
}

function flow(counter: Counter, intervalMs: number): () => void {
  let socket: Bun.Socket | null = null;
  let connecting = false;
  let rest = "";
  const connect = async () => {
    connecting = true;
    try {
      await Bun.connect({
        hostname: INTERNET.host4,
        port: 7,
        socket: {
          open(opened) {
            rest = "";
            socket = opened;
          },
          data(_, chunk) {
            const parts = (rest + chunk.toString()).split("\n");
            rest = parts.pop() ?? "";
            for (const part of parts) counter.answer(Number(part));
          },
          close() {
            if (socket !== null) counter.refused += 1;
            socket = null;
          },
        },
      });
    } catch {
      counter.refused += 1;
    }
    connecting = false;
  };
  void connect();
  return every(intervalMs, () => {
    if (socket === null) {
      if (!connecting) void connect();
      return;
    }
    socket.write(`${counter.next()}\n`);
  });
}

async function visit(counter: Counter): Promise<void> {
  const sequence = counter.next();
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    const response = await fetch(`http://${INTERNET.host4}/ip`, { signal, headers: { connection: "close" } });
    counter.answer(sequence, (await response.text()).trim());
  } catch {
    if (!signal.aborted) counter.refused += 1;
  }
}

function question(counter: Counter, resolver: string): void {
  const sequence = counter.next();
  const socket = dgram.createSocket(resolver.includes(":") ? "udp6" : "udp4");
  let done = false;
  const finish = (refused: boolean) => {
    if (done) return;
    done = true;
    if (refused) counter.refused += 1;
    socket.close();
  };
  // An answer that came while this process had no processor is read before the second timer ends.
  setTimeout(() => setTimeout(() => finish(false), READ_MS), PATIENCE_MS);
  socket.on("error", () => finish(true));
  socket.on("message", (message) => {
    const [answer] = decode(message).answers ?? [];
    counter.answer(sequence, answer?.type === "TXT" ? String(answer.data) : undefined);
    finish(false);
  });
  const query = encode({
    type: "query",
    id: sequence & 0xffff,
    flags: RECURSION_DESIRED,
    questions: [{ type: "TXT", name: "whoami.test" }],
  });
  const connected = (error?: Error) => {
    if (error || done) finish(true);
    else socket.send(query, (failure) => failure && finish(true));
  };
  socket.connect(53, resolver, connected as () => void);
}

/** Answers are read until the end, also those that come after the last question. */
function pings(counter: Counter, intervalMs: number): () => void {
  const pinger = new Pinger(INTERNET.host4);
  /** By the identifier of the echo request: its sequence number here. */
  const open = new Map<number, number>();
  const first = Math.floor(Math.random() * IDENTIFIERS);
  every(READ_MS, () => {
    for (const { id, isRefused } of pinger.echoes()) {
      const sequence = open.get(id);
      if (sequence === undefined) continue;
      open.delete(id);
      if (isRefused) counter.refused += 1;
      else counter.answer(sequence);
    }
  });
  return every(intervalMs, () => {
    const sequence = counter.next();
    const id = (first + sequence) % IDENTIFIERS;
    if (pinger.send(id, PING)) open.set(id, sequence);
    else counter.refused += 1;
  });
}

function every(ms: number, action: () => unknown): () => void {
  const timer = setInterval(action, ms);
  return () => clearInterval(timer);
}

async function run(given: TrafficOptions): Promise<void> {
  const intervalMs = given.intervalMs ?? 5;
  const options = { kinds: KINDS, rarelyMs: intervalMs * 10, resolver: TUNNEL.server4, ...given, intervalMs };
  const counters = new Map(options.kinds.map((kind) => [kind, new Counter()]));
  const stops = [...counters].map(([kind, counter]) => SOURCES[kind](counter, options));
  const text = (of: (counter: Counter) => Progress) =>
    `${JSON.stringify(Object.fromEntries([...counters].map(([kind, counter]) => [kind, of(counter)])))}\n`;
  const stop = Promise.withResolvers<void>();
  process.on("SIGTERM", () => stop.resolve());
  process.stdin
    .on("end", () => stop.resolve())
    .on("data", () => process.stdout.write(text((counter) => counter.progress())));
  console.log("ready");
  await stop.promise;
  for (const end of stops) end();
  const ended = performance.now();
  const waited = () => performance.now() - ended;
  const isComplete = () => [...counters.values()].every((counter) => counter.complete);
  while (waited() < GRACE_MS.shortest || (waited() < GRACE_MS.longest && !isComplete())) await Bun.sleep(20);
  // If this process had no processor until now, answers have come.
  await Bun.sleep(READ_MS);
  process.stdout.write(
    text((counter) => counter.tally()),
    () => process.exit(0),
  );
}

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? "{}"));
