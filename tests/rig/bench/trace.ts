import { join } from "node:path";
import type { Lab } from "../tools/lab.ts";

/** Where a lab's programs are noted. */
export function traceOf(lab: Lab): string {
  return join(lab.sandbox.directory, "programs.trace");
}

/** `strace` in front of a program: notes each program that it and its children become. */
export function tracerTo(file: string): readonly string[] {
  // The tracer stands aside (-D), or it would wait for the daemons that a traced program leaves behind; and nothing
  // but `execve` stops the traced program (--seccomp-bpf).
  const quiet = ["-D", "-f", "--seccomp-bpf", "-qq", "-e", "trace=execve", "-e", "signal=none"];
  return ["strace", ...quiet, "-ttt", "-A", "-o", file];
}

export interface Execution {
  /** Milliseconds since 1970. */
  at: number;
  program: string;
}

/** The programs that have started, in order. */
export function executionsIn(text: string): Execution[] {
  const called = new Map<string, Execution>();
  const executions: Execution[] = [];
  for (const line of text.split("\n")) {
    const [, pid = "", seconds = "", rest = ""] = /^(\d+) +(\d+\.\d+) (.*)$/.exec(line) ?? [];
    const program = /^execve\("([^"]*)"/.exec(rest)?.[1];
    if (program !== undefined) called.set(pid, { at: Number(seconds) * 1_000, program });
    const execution = called.get(pid);
    // A search along PATH fails until it finds the program.
    if (/ = 0$/.test(rest) && execution !== undefined) executions.push(execution);
  }
  return executions;
}
