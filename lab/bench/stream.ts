import { join } from "node:path";
import { INTERNET } from "../../src/sandbox/topology.ts";
import type { Lab } from "../lab.ts";
import { now } from "./clock.ts";

/** RFC 863: the discard of TCP port 9. */
const PORT = 9;
const CHUNK = new Uint8Array(256 * 1024);

interface Received {
  bytes: number;
  ms: number;
}

/** Megabits a second that one TCP connection from the LAN brings to the internet. */
export async function throughputOf(lab: Lab, seconds: number): Promise<number> {
  const sink = start(lab.namespaces.internet, "sink");
  const lines = sink.stdout.getReader();
  await lines.read();
  const source = start(lab.namespaces.client, "source", String(seconds));
  const { value } = await lines.read();
  sink.kill("SIGKILL");
  await Promise.all([source.exited, sink.exited]);
  const { bytes, ms }: Received = JSON.parse(new TextDecoder().decode(value));
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
function serveSink(): void {
  let bytes = 0;
  let startedAt = 0;
  Bun.listen({
    hostname: INTERNET.host4,
    port: PORT,
    socket: {
      data(_, chunk) {
        startedAt ||= now();
        bytes += chunk.length;
      },
      close() {
        process.stdout.write(`${JSON.stringify({ bytes, ms: now() - startedAt } satisfies Received)}\n`);
      },
    },
  });
  process.stdout.write("ready\n");
}

async function send(seconds: number): Promise<void> {
  const deadline = now() + seconds * 1_000;
  const fill = (socket: Bun.Socket) => {
    while (now() < deadline) if (socket.write(CHUNK) < CHUNK.length) return;
    socket.end();
  };
  await Bun.connect({
    hostname: INTERNET.host4,
    port: PORT,
    socket: { open: fill, drain: fill, data() {}, close: () => process.exit(0) },
  });
}

if (import.meta.main) {
  if (process.argv[2] === "sink") serveSink();
  else await send(Number(process.argv[3]));
}
