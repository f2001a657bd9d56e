import { commandIn } from "../../../src/sandbox/namespace.ts";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "./lab.ts";

const PORT = 9_009;
const CHUNK = new Uint8Array(64 * 1024);
/** How often the host says what has arrived there. */
const TELL_EVERY_MS = 100;

/** What a connection has carried, and in how long. */
export interface Carried {
  bytes: number;
  ms: number;
}

/** A host of the lab's internet that gives and takes bytes as fast as it goes; ends with the lab. */
export async function startStreams(lab: Lab): Promise<void> {
  const program = [process.execPath, import.meta.path, "serve"];
  const argv = commandIn(lab.namespaces.internet, program);
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  await child.stdout.getReader().read();
}

/** What one TCP connection carries for a host, counted where it arrives. */
export async function streamed(
  lab: Lab,
  namespace: string,
  way: "down" | "up",
  seconds: number,
  address: string = INTERNET.host4,
): Promise<Carried> {
  const program = [process.execPath, import.meta.path, way, String(seconds), address];
  const { code, stdout, stderr } = await lab.exec(namespace, program);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Counts from the first byte on, so that the start of a program is not on the clock. */
class Meter {
  private bytes = 0;
  private startedAt = 0;
  private latestAt = 0;

  count(chunk: Uint8Array): void {
    this.latestAt = performance.now();
    this.startedAt ||= this.latestAt;
    this.bytes += chunk.length;
  }

  get carried(): Carried {
    return { bytes: this.bytes, ms: this.latestAt - this.startedAt };
  }
}

interface Client {
  meter: Meter;
  isFed: boolean;
  telling: Timer | null;
}

/** The first byte of a client says what it wants: `d` for bytes, else it gives some. */
function serve(): void {
  Bun.listen<Client>({
    hostname: "::",
    port: PORT,
    socket: {
      open(socket) {
        socket.data = { meter: new Meter(), isFed: false, telling: null };
      },
      data(socket, chunk) {
        const { data } = socket;
        if (data.telling === null) {
          data.isFed = chunk[0] === "d".charCodeAt(0);
          const tell = () => void socket.write(`${JSON.stringify(data.meter.carried)}\n`);
          data.telling = setInterval(data.isFed ? () => {} : tell, TELL_EVERY_MS);
        }
        data.meter.count(chunk);
        if (data.isFed) fill(socket);
      },
      drain: (socket) => (socket.data.isFed ? fill(socket) : undefined),
      close: ({ data: { telling } }) => clearInterval(telling ?? undefined),
      error() {},
    },
  });
  console.log("ready");
}

function fill(socket: { write(chunk: Uint8Array): number }): void {
  while (socket.write(CHUNK) === CHUNK.length);
}

/** Ends after so many seconds, and prints what has arrived. */
async function stream(way: "down" | "up", seconds: number, hostname: string): Promise<void> {
  const meter = new Meter();
  let told = "";
  const data = (_: unknown, chunk: Uint8Array) => {
    if (way === "down") meter.count(chunk);
    else told += new TextDecoder().decode(chunk);
  };
  const drain = (socket: Bun.Socket) => (way === "up" ? fill(socket) : undefined);
  const socket = await Bun.connect({ hostname, port: PORT, socket: { data, drain, error() {} } });
  socket.write(way === "down" ? "d" : "u");
  if (way === "up") fill(socket);
  await Bun.sleep(seconds * 1_000);
  process.stdout.write(
    way === "down" ? JSON.stringify(meter.carried) : (told.trim().split("\n").at(-1) ?? ""),
  );
  process.exit(0);
}

if (import.meta.main) {
  const [role, seconds, address = ""] = process.argv.slice(2);
  if (role === "serve") serve();
  else await stream(role === "up" ? "up" : "down", Number(seconds), address);
}
