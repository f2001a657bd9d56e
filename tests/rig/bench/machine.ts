import { cpus, loadavg, release } from "node:os";
import { version } from "../../../package.json";

/** What a result depends on besides the program. */
export interface Machine {
  /** The program's version and commit; `+` marks changes that are not committed, and a copy without Git has no commit. */
  program: string;
  cores: number;
  processor: string;
  kernel: string;
  /** The load average of the last minute. */
  load: number;
}

export function machine(): Machine {
  const processors = cpus();
  return {
    program: [version, commit()].filter((part) => part !== "").join(" "),
    cores: processors.length,
    processor: processors[0]?.model ?? "unknown",
    kernel: release(),
    load: loadavg()[0] ?? 0,
  };
}

function commit(): string {
  const git = (...words: string[]) => Bun.spawnSync(["git", ...words], { stderr: "ignore" });
  const { success, stdout } = git("rev-parse", "--short", "HEAD");
  const isChanged = git("status", "--porcelain").stdout.length > 0;
  return success ? `${stdout.toString().trim()}${isChanged ? "+" : ""}` : "";
}
