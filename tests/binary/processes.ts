import { readdirSync, readFileSync } from "node:fs";

/** Looks at all processes again and again: what stands on their command lines and in their environments. */
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
    // Programs that the service starts live for some milliseconds, so there is no pause between two looks.
    for (; this.watching; await new Promise((resolve) => setImmediate(resolve))) {
      for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
        this.commandLines.add(read(`/proc/${pid}/cmdline`).replaceAll("\0", " "));
        this.environments.add(read(`/proc/${pid}/environ`));
      }
    }
  }
}

/** Empty where the process has gone meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
