import { commandIn } from "../../../src/sandbox/namespace.ts";

/** Between two datagrams. */
const EVERY_MS = 20;

/** The first of each address family that sends a datagram to this port gets others from there, until it stops. */
export class Streamer {
  private constructor(private readonly child: Bun.Subprocess<"ignore", "pipe", "inherit">) {}

  static async start(namespace: string, port: number): Promise<Streamer> {
    const argv = commandIn(namespace, [process.execPath, import.meta.path, String(port)]);
    const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    if ((await child.stdout.getReader().read()).done) throw new Error(`nothing streams from port ${port}`);
    return new Streamer(child);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }
}

async function stream(port: number): Promise<void> {
  const families = new Set<boolean>();
  await Bun.udpSocket({
    hostname: "::",
    port,
    socket: {
      data: (socket, _, from, address) => {
        const isIpv4 = address.startsWith("::ffff:");
        if (families.has(isIpv4)) return;
        families.add(isIpv4);
        setInterval(() => {
          try {
            socket.send("x", from, address);
          } catch {
            // An earlier one was refused.
          }
        }, EVERY_MS);
      },
      error: () => {},
    },
  });
  console.log("ready");
}

if (import.meta.main) await stream(Number(process.argv[2]));
