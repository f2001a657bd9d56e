import { CommandError } from "../base/errors.ts";
import type { LinuxHost } from "../system/linux.ts";

export interface LogFlags {
  follow?: true;
  lines: string;
  json?: true;
}

/** Prints the service's part of the journal with journalctl; resolves with its exit code. */
export async function showLogs(host: Pick<LinuxHost, "spawn">, flags: LogFlags): Promise<number> {
  if (!/^([0-9]{1,9}|all)$/.test(flags.lines))
    throw new CommandError("bad_request", "--lines: must be a number or all");
  const child = journalIn(host, argvOf(flags));
  // Ctrl-C reaches both processes; SIGTERM to this one must end journalctl too.
  process.once("SIGTERM", () => child.kill("SIGTERM"));
  return child.exited;
}

function argvOf({ follow, lines, json }: LogFlags): string[] {
  return [
    "journalctl",
    "--unit=portcullis.service",
    "--no-pager",
    "--no-hostname",
    `--lines=${lines}`,
    ...(follow ? ["--follow"] : []),
    ...(json ? ["--output=json"] : []),
  ];
}

function journalIn(host: Pick<LinuxHost, "spawn">, argv: readonly string[]): ReturnType<LinuxHost["spawn"]> {
  try {
    return host.spawn(argv);
  } catch (cause) {
    const message = "this machine has no journal; portcullis serve prints its log on standard error";
    throw new CommandError("unable", message, { cause });
  }
}
