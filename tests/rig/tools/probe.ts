import dgram from "node:dgram";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { linesOf } from "./lines.ts";
import { until } from "./until.ts";

/** One thing that a probe sends again and again; `payload` is hexadecimal. */
export interface Target {
  protocol: "udp" | "tcp";
  address: string;
  port: number;
  payload: string;
  /** UDP only; told apart by it at a sniffer. */
  sourcePort?: number;
}

/** What came of one target. */
export interface Outcome {
  target: Target;
  sent: number;
  answered: number;
  /** Errors that came by themselves: resets, ICMP, EPERM. */
  refused: number;
  /** The last answer, in hexadecimal. */
  answer: string;
}

/** Sends what a test wants to see refused, kept inside or answered, out of one namespace, many times a second. */
export class Probe {
  private static readonly running = new Set<Probe>();

  private constructor(
    private readonly namespace: string,
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly lines: AsyncIterator<string>,
  ) {}

  /** Returns once everything has been sent a first time. */
  static async start(namespace: string, targets: readonly Target[]): Promise<Probe> {
    const argv = commandIn(namespace, [process.execPath, import.meta.path]);
    const child = Bun.spawn([...argv, JSON.stringify(targets)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const probe = new Probe(namespace, child, linesOf(child.stdout));
    Probe.running.add(probe);
    await probe.lines.next();
    return probe;
  }

  /** Ends those that a test which failed has left. */
  static async endIn(namespaces: readonly string[]): Promise<void> {
    for (const probe of [...Probe.running].filter((each) => namespaces.includes(each.namespace))) {
      Probe.running.delete(probe);
      probe.child.kill("SIGKILL");
      await probe.child.exited;
    }
  }

  /** Returns once each target has an outcome as wanted, however busy the machine is. */
  async until(wanted: (outcome: Outcome) => boolean): Promise<void> {
    let others: Outcome[] = [];
    const met = async () => {
      others = (await this.count()).filter((outcome) => !wanted(outcome));
      return others.length === 0;
    };
    await until(met, WANTED_WITHIN_MS, LOOK_MS).catch((cause) => {
      throw new Error(`not as wanted: ${JSON.stringify(others)}`, { cause });
    });
  }

  /** Returns once each has been sent so often: some 300 ms if nothing else runs. */
  sends(udp = 30, tcp = 6): Promise<void> {
    return this.until(({ target, sent }) => sent >= (target.protocol === "udp" ? udp : tcp));
  }

  /** Sends no more, waits for the answers under way; outcomes are in the targets' order. */
  async stop(): Promise<Outcome[]> {
    Probe.running.delete(this);
    this.child.stdin.end();
    return this.outcomes();
  }

  async count(): Promise<Outcome[]> {
    this.child.stdin.write("count\n");
    await this.child.stdin.flush();
    return this.outcomes();
  }

  private async outcomes(): Promise<Outcome[]> {
    return JSON.parse((await this.lines.next()).value ?? "[]");
  }
}

/** What takes a moment if nothing else runs has come by then. */
const WANTED_WITHIN_MS = 60_000;
/** Between two looks at the outcomes. */
const LOOK_MS = 30;
const UDP_INTERVAL_MS = 10;
/** A connection costs a socket and is left to time out where nobody answers. */
const TCP_INTERVAL_MS = 50;
/** How long answers may take after the last question: the lab's answer within 5 ms. */
const GRACE_MS = 200;

async function run(targets: readonly Target[]): Promise<void> {
  const outcomes = targets.map(
    (target): Outcome => ({ target, sent: 0, answered: 0, refused: 0, answer: "" }),
  );
  const stops = targets.map((target, index) => {
    const outcome = outcomes[index];
    if (outcome === undefined) return () => {};
    return target.protocol === "udp" ? datagrams(target, outcome) : connections(target, outcome);
  });
  console.log("ready");
  const stop = Promise.withResolvers<void>();
  const text = () => `${JSON.stringify(outcomes)}\n`;
  process.stdin.on("end", () => stop.resolve()).on("data", () => process.stdout.write(text()));
  await stop.promise;
  for (const end of stops) end();
  await Bun.sleep(GRACE_MS);
  process.stdout.write(text(), () => process.exit(0));
}

function datagrams({ address, port, payload, sourcePort }: Target, outcome: Outcome): () => void {
  const socket = dgram.createSocket(address.includes(":") ? "udp6" : "udp4");
  const bytes = Uint8Array.fromHex(payload);
  const refuse = () => {
    outcome.refused += 1;
  };
  let connected = false;
  let connecting = false;
  const connect = () => {
    connecting = true;
    socket.connect(port, address, ((error?: Error) => {
      connecting = false;
      connected = error === undefined || error === null;
      if (!connected) refuse();
    }) as () => void);
  };
  socket.on("error", refuse);
  socket.on("message", (message) => {
    outcome.answered += 1;
    outcome.answer = message.toHex();
  });
  socket.bind(sourcePort ?? 0);
  return every(UDP_INTERVAL_MS, () => {
    outcome.sent += 1;
    if (connected) socket.send(bytes, (error) => error && refuse());
    else if (!connecting) connect();
  });
}

function connections({ address, port, payload }: Target, outcome: Outcome): () => void {
  const refuse = () => {
    outcome.refused += 1;
  };
  return every(TCP_INTERVAL_MS, () => {
    outcome.sent += 1;
    const socket = {
      open: (opened: Bun.Socket) => void opened.write(Uint8Array.fromHex(payload)),
      data(opened: Bun.Socket, chunk: Buffer) {
        outcome.answered += 1;
        outcome.answer = chunk.toHex();
        opened.end();
      },
    };
    Bun.connect({ hostname: address, port, socket }).catch(refuse);
  });
}

/** At once, and then again and again. */
function every(ms: number, action: () => unknown): () => void {
  action();
  const timer = setInterval(action, ms);
  return () => clearInterval(timer);
}

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? "[]"));
