import { commandIn } from "../../../src/sandbox/namespace.ts";

/** How long what is under way may take to arrive: in the lab 5 ms where nothing else runs. */
const GRACE_MS = 500;

/** Takes whatever reaches a port of a namespace, on every address of it, over UDP and TCP. */
export class Listener {
  private constructor(
    private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">,
    private readonly output: AsyncIterator<Uint8Array>,
  ) {}

  static async start(namespace: string, port: number): Promise<Listener> {
    const argv = commandIn(namespace, [process.execPath, import.meta.path, String(port)]);
    const child = Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
    const output = child.stdout[Symbol.asyncIterator]();
    if ((await output.next()).done) throw new Error(`nothing listens on port ${port} of ${namespace}`);
    return new Listener(child, output);
  }

  /** The addresses that were heard from, each once, sorted. */
  async stop(): Promise<string[]> {
    await Bun.sleep(GRACE_MS);
    this.child.stdin.end();
    let text = "";
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await this.output.next();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    return [...new Set(text.split("\n").filter((line) => line !== ""))].sort();
  }
}

async function listen(port: number): Promise<void> {
  const hear = (address: string) => console.log(address.replace(/^::ffff:/, ""));
  await Bun.udpSocket({
    hostname: "::",
    port,
    socket: { data: (_, __, ___, address) => hear(address), error: () => {} },
  });
  Bun.listen({
    hostname: "::",
    port,
    socket: { open: (socket) => hear(socket.remoteAddress), data: (socket, data) => void socket.write(data) },
  });
  console.log("ready");
  process.stdin.on("end", () => process.exit(0)).resume();
}

if (import.meta.main) await listen(Number(process.argv[2]));
