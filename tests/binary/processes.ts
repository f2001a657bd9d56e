import { readdirSync, readFileSync } from "node:fs";

/** Collects the command lines and environments of all processes, over and over. */
export class Processes {
  /** Each text once. */
  readonly commandLines = new Set<string>();
  readonly environments = new Set<string>();
  private watching = true;
  private readonly done: Promise<void>;

  constructor() {
    this.done = this.watch();
  }

  async stop(): Promise<void> {
    this.watching = false;
    await this.done;
  }

  private async watch(): Promise<void> {
    // The service's child processes live for a few milliseconds, so there is no pause.
    for (; this.watching; await new Promise((resolve) => setImmediate(resolve))) {
      for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
        this.commandLines.add(read(`/proc/${pid}/cmdline`).replaceAll("\0", " "));
        this.environments.add(read(`/proc/${pid}/environ`));
      }
    }
  }
}

/** Empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
