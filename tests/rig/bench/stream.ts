import { join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { linesOf } from "../tools/lines.ts";
import { now } from "./clock.ts";

/** RFC 863: the discard of TCP port 9. */
const PORT = 9;
const CHUNK = new Uint8Array(256 * 1024);
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

/** What one TCP connection brings in so many seconds; throws if its end does not arrive. */
export async function streamed({ from, to, address }: Way, seconds: number): Promise<Received> {
  const sink = start(to, "sink", address);
  const said = linesOf(sink.stdout);
  await said.next();
  const source = start(from, "source", address, String(seconds));
  const late = setTimeout(() => sink.kill("SIGKILL"), seconds * 1_000 + PATIENCE_MS);
  try {
    const { value, done } = await said.next();
    if (done) throw new Error("the end of a stream has not arrived");
    return JSON.parse(value);
  } finally {
    clearTimeout(late);
    for (const program of [source, sink]) program.kill("SIGKILL");
    await Promise.all([source.exited, sink.exited]);
  }
}

/** Megabits a second. */
export function rateOf({ bytes, ms }: Received): number {
  return (bytes * 8) / 1_000 / ms;
}

function start(namespace: string, ...role: string[]): Bun.Subprocess<"ignore", "pipe", "inherit"> {
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
  Bun.listen({
    hostname,
    port: PORT,
    socket: {
      data(_, chunk) {
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
