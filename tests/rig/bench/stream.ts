import { join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { linesOf } from "../tools/lines.ts";
import { now } from "./clock.ts";

/** RFC 863: the discard of TCP port 9. */
const PORT = 9;
const CHUNK = new Uint8Array(256 * 1024);
/** Longer than anything that is measured beside a stream. */
const WITHOUT_END_SECONDS = 3_600;
/** What was sent has arrived by then, or never does. */
const PATIENCE_MS = 30_000;

export interface Received {
  bytes: number;
  ms: number;
}

/** The namespace that a stream comes from, the one it goes to, and an address there. */
export interface Way {
  from: string;
  to: string;
  address: string;
}

/** From the LAN to the internet. */
export function wayOut({ namespaces }: Lab): Way {
  return { from: namespaces.client, to: namespaces.internet, address: INTERNET.host4 };
}

type Program = Bun.Subprocess<"ignore", "pipe", "inherit">;

/** One TCP connection that carries as much as its way does. */
export class Stream {
  private constructor(
    private readonly source: Program,
    private readonly sink: Program,
    private readonly said: AsyncGenerator<string>,
  ) {}

  /** Returns once it flows. Without a time it does so until it is ended. */
  static async begin({ from, to, address }: Way, seconds = WITHOUT_END_SECONDS): Promise<Stream> {
    const sink = start(to, "sink", address);
    const said = linesOf(sink.stdout);
    await said.next();
    const source = start(from, "source", address, String(seconds));
    const stream = new Stream(source, sink, said);
    const first = await Promise.race([said.next(), source.exited]);
    if (typeof first === "object" && !first.done) return stream;
    await stream.stop();
    throw new Error("no connection for a stream");
  }

  /** What it has brought by now; what is still on its way is lost. */
  end(): Promise<Received> {
    this.sink.kill("SIGTERM");
    return this.received(PATIENCE_MS);
  }

  /** What it has brought by its end; throws if that does not come. */
  async received(withinMs: number): Promise<Received> {
    const late = setTimeout(() => this.sink.kill("SIGKILL"), withinMs);
    const { value, done } = await this.said.next();
    clearTimeout(late);
    await this.stop();
    if (done) throw new Error("the end of a stream has not arrived");
    return JSON.parse(value);
  }

  private async stop(): Promise<void> {
    for (const program of [this.source, this.sink]) program.kill("SIGKILL");
    await Promise.all([this.source.exited, this.sink.exited]);
  }
}

/** What one TCP connection brings. */
export async function streamed(way: Way, seconds: number): Promise<Received> {
  return (await Stream.begin(way, seconds)).received(seconds * 1_000 + PATIENCE_MS);
}

/** Megabits a second. */
export function rateOf({ bytes, ms }: Received): number {
  return (bytes * 8) / 1_000 / ms;
}

function start(namespace: string, ...role: string[]): Program {
  const program = [process.execPath, join(import.meta.dir, "stream.ts"), ...role];
  return Bun.spawn(["ip", "netns", "exec", namespace, ...program], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
}

/** Counts from the first byte to the last, so that the start of a program is not on the clock. */
function serveSink(hostname: string): void {
  let bytes = 0;
  let startedAt = 0;
  const tell = () => {
    process.stdout.write(`${JSON.stringify({ bytes, ms: now() - startedAt } satisfies Received)}\n`);
  };
  process.on("SIGTERM", tell);
  Bun.listen({
    hostname,
    port: PORT,
    socket: {
      data(_, chunk) {
        if (startedAt === 0) process.stdout.write("flows\n");
        startedAt ||= now();
        bytes += chunk.length;
      },
      close: tell,
    },
  });
  process.stdout.write("ready\n");
}

async function send(hostname: string, seconds: number): Promise<void> {
  const deadline = now() + seconds * 1_000;
  const fill = (socket: Bun.Socket) => {
    while (now() < deadline) if (socket.write(CHUNK) < CHUNK.length) return;
    socket.end();
  };
  await Bun.connect({
    hostname,
    port: PORT,
    socket: { open: fill, drain: fill, data() {}, close: () => process.exit(0) },
  });
}

if (import.meta.main) {
  const [role, address = "", seconds] = process.argv.slice(2);
  if (role === "sink") serveSink(address);
  else await send(address, Number(seconds));
}
