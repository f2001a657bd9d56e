/** RFC 863: what arrives there is thrown away. */
const DISCARD_PORT = 9;
const DATAGRAM = Buffer.from("flood").toString("hex");
const BATCH = 20;
/** Makes some five thousand datagrams a second where nothing else runs. */
const PAUSE_MS = 4;

/** As many datagrams to one host as one program sends. */
export class Flood {
  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {}

  /** By default to a port where nobody answers, a few bytes long; `hex` is another datagram. */
  static start(namespace: string, host: string, { port = DISCARD_PORT, hex = DATAGRAM } = {}): Flood {
    const words = [host, `${port}`, hex];
    const argv = ["ip", "netns", "exec", namespace, process.execPath, import.meta.path, ...words];
    return new Flood(Bun.spawn(argv, { stdin: "pipe", stdout: "pipe", stderr: "inherit" }));
  }

  /** How many were sent, those included that the kernel refused. */
  async stop(): Promise<number> {
    this.child.stdin.end();
    return Number(await this.child.stdout.text());
  }
}

async function run(host: string, port: number, datagram: Uint8Array): Promise<void> {
  const socket = await Bun.udpSocket({ socket: { data() {}, error() {} } });
  const batch = Array.from({ length: BATCH }, () => [datagram, port, host]).flat();
  let sent = 0;
  const timer = setInterval(() => {
    sent += BATCH;
    try {
      socket.sendMany(batch);
    } catch {
      // EPERM is an answer.
    }
  }, PAUSE_MS);
  process.stdin
    .on("end", () => {
      clearInterval(timer);
      process.stdout.write(String(sent), () => process.exit(0));
    })
    .resume();
}

if (import.meta.main) {
  const [host = "", port, hex = ""] = process.argv.slice(2);
  await run(host, Number(port), Buffer.from(hex, "hex"));
}
