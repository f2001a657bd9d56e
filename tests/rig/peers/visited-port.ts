import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import type { Lab } from "../tools/lab.ts";

/** Something on a device that listens on a port, by TCP and UDP, answers with its name, and notes who has come. */
export class Doorbell {
  private constructor(
    private readonly notes: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(lab: Lab, namespace: string, port: number): Promise<Doorbell> {
    const notes = join(lab.sandbox.directory, `bell-${namespace}-${port}`);
    const argv = [process.execPath, import.meta.path, namespace, String(port), notes];
    const child = Bun.spawn(commandIn(namespace, argv), { stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    return new Doorbell(notes, child);
  }

  /** Who came since the last call, as protocol and address. */
  rings(): string[] {
    const text = readFileSync(this.notes, "utf8");
    rmSync(this.notes);
    appendFileSync(this.notes, "");
    return text.split("\n").filter((line) => line !== "");
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

async function listen(name: string, port: number, notes: string): Promise<void> {
  // A connection may be reset before it is seen.
  const note = (protocol: string, address = "") =>
    appendFileSync(notes, `${protocol} ${address.replace("::ffff:", "")}\n`);
  Bun.listen({
    hostname: "::",
    port,
    socket: {
      open: (socket) => note("tcp", socket.remoteAddress),
      error: () => {},
      data: (socket, bytes) => {
        const isHttp = bytes.toString().startsWith("GET ");
        socket.write(isHttp ? `HTTP/1.0 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name}` : bytes);
      },
    },
  });
  await Bun.udpSocket({
    hostname: "::",
    port,
    socket: {
      data: (socket, _, from, address) => {
        note("udp", address);
        try {
          socket.send(`${name}\n`, from, address);
        } catch {
          // The device is blocked, or an earlier answer was refused.
        }
      },
      // An ICMP error to an answer.
      error: () => {},
    },
  });
  appendFileSync(notes, "");
  process.stdout.write("listening\n");
}

if (import.meta.main) {
  const [name = "", port = "", notes = ""] = process.argv.slice(2);
  await listen(name, Number(port), notes);
}
