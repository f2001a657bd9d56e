import { createServer, type Socket } from "node:net";
import { generate } from "mqtt-packet";

const CHUNK = Buffer.alloc(65_536, Buffer.from([0xd0, 0]));
/** By then nothing is on its way. */
const SILENT_MS = 1_000;

/** A broker that accepts a session and then sends packets of two bytes without end; a process of its own. */
export class FloodingBroker {
  /** More than the kernel buffers on both sides. */
  static readonly FOREVER_BYTES = 64 * 1024 * 1024;

  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">,
    private readonly lines: AsyncIterator<number>,
    readonly port: number,
  ) {}

  static async start(): Promise<FloodingBroker> {
    const argv = [process.execPath, import.meta.path];
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    const lines = numbersIn(child.stdout);
    return new FloodingBroker(child, lines, (await lines.next()).value);
  }

  /** How many bytes it could send until nobody took more; or more than `FOREVER_BYTES`. */
  async sentInTheEnd(): Promise<number> {
    let before = 0;
    for (;;) {
      const { value: sent } = await this.lines.next();
      if (sent > FloodingBroker.FOREVER_BYTES || (sent === before && sent > 0)) return sent;
      before = sent;
    }
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function* numbersIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<number, never> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) yield* decoder.decode(chunk).trim().split("\n").map(Number);
  throw new Error("the broker has ended");
}

async function run(): Promise<void> {
  let sent = 0;
  const flood = (socket: Socket) => {
    let takesMore = true;
    while (takesMore) {
      takesMore = socket.write(CHUNK);
      sent += CHUNK.length;
    }
  };
  const server = createServer((socket) => {
    socket.once("data", () => {
      socket.write(generate({ cmd: "connack", returnCode: 0, sessionPresent: false }));
      socket.on("drain", () => flood(socket));
      flood(socket);
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const say = (value: number) => process.stdout.write(`${value}\n`);
  say((server.address() as { port: number }).port);
  setInterval(() => say(sent), SILENT_MS);
}

if (import.meta.main) await run();
