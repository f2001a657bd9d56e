import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "./lab.ts";

/** One of Debian's programs in a namespace, with files of its own; it ends with the lab. */
export class Daemon {
  private child: Bun.Subprocess | null = null;

  constructor(
    private readonly lab: Lab,
    private readonly namespace: string,
    private readonly program: string,
  ) {}

  /** What it says goes to its log. */
  start(words: readonly string[]): void {
    const log = openSync(this.file("log"), "a", 0o600);
    this.child = Bun.spawn(["ip", "netns", "exec", this.namespace, this.program, ...words], {
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.child?.kill(signal);
    await this.child?.exited;
  }

  log(): string {
    return existsSync(this.file("log")) ? readFileSync(this.file("log"), "utf8") : "";
  }

  file(name: string): string {
    return join(this.lab.sandbox.directory, `${this.namespace}-${this.program}.${name}`);
  }
}
