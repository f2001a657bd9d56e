import { commandIn } from "../../../src/sandbox/namespace.ts";
import { linesOf } from "./lines.ts";

/** One end of TCP connections that says nothing unless it is told to; it notes when one begins or ends. */
export class Line {
  /** `begun` or `ended`, and the other end's address. */
  readonly notes: string[] = [];

  private constructor(private readonly child: Bun.Subprocess<"pipe", "pipe">) {
    void (async () => {
      for await (const line of linesOf(child.stdout)) this.notes.push(line);
    })();
  }

  static listen(namespace: string, addresses: readonly string[], port: number): Line {
    return new Line(start(namespace, "listen", addresses, port));
  }

  static connect(namespace: string, addresses: readonly string[], port: number): Line {
    return new Line(start(namespace, "connect", addresses, port));
  }

  /** Sends a byte by each of its connections. */
  speak(): void {
    this.child.stdin.write("speak\n");
    this.child.stdin.flush();
  }

  count(what: "begun" | "ended"): number {
    return this.notes.filter((note) => note.startsWith(what)).length;
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

function start(namespace: string, role: string, addresses: readonly string[], port: number) {
  const argv = [process.execPath, import.meta.path, role, String(port), ...addresses];
  return Bun.spawn(commandIn(namespace, argv), { stdin: "pipe", stdout: "pipe" });
}

async function run(role: string, port: number, addresses: readonly string[]): Promise<void> {
  const open = new Set<Bun.Socket>();
  const socket = {
    open: (each: Bun.Socket) => {
      open.add(each);
      console.log(`begun ${each.remoteAddress}`);
    },
    data: () => {},
    error: () => {},
    close: (each: Bun.Socket) => {
      open.delete(each);
      console.log(`ended ${each.remoteAddress}`);
    },
  };
  for (const hostname of addresses)
    if (role === "listen") Bun.listen({ hostname, port, socket });
    else await Bun.connect({ hostname, port, socket });
  for await (const _ of linesOf(Bun.stdin.stream())) for (const each of open) each.write("x");
}

if (import.meta.main) {
  const [role = "", port = "", ...addresses] = process.argv.slice(2);
  await run(role, Number(port), addresses);
}
