import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { until } from "../tools/until.ts";

const SERVER = join(import.meta.dir, "ephemeral-peers.js");

/** What becomes of a request: an answer, none before or after its effect, a refusal, or an answer that is none. */
export type Behaviour = "answer" | "silent" | "lost" | "refuse" | "short" | "flood";

/** A server's service for ephemeral peers, which runs in Node.js. */
export class EphemeralService {
  /** What it has said, a line each. */
  readonly lines: string[] = [];
  port = 0;

  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe", "inherit">) {
    void this.read();
  }

  /** With the name of a WireGuard interface, it gives that the peers; without a namespace it runs in this one. */
  static async start(
    address: string,
    port: number,
    { namespace, wireguard = "" }: { namespace?: string; wireguard?: string } = {},
  ): Promise<EphemeralService> {
    const argv = ["node", SERVER, address, String(port), wireguard];
    const command = namespace === undefined ? argv : commandIn(namespace, argv);
    const service = new EphemeralService(
      Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: "inherit" }),
    );
    await until(() => service.said("listening").length === 1);
    service.port = Number(service.said("listening")[0]);
    return service;
  }

  async behave(how: Behaviour | "unload"): Promise<void> {
    const before = this.said("behaves").length;
    this.child.stdin.write(`${how}\n`);
    await this.child.stdin.flush();
    await until(() => this.said("behaves").length > before);
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What it has said of a kind, the oldest first. */
  said(kind: string): string[] {
    return this.lines.flatMap((line) => (line.startsWith(`${kind}: `) ? [line.slice(kind.length + 2)] : []));
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of this.child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      this.lines.push(...lines);
    }
  }
}
