import { readFileSync } from "node:fs";
import { processesIn } from "../soak/processes.ts";

/** The kernel counts in these on every architecture. */
const TICK_MS = 10;

/** What a process has used until now; 0 if it is gone. */
export function processorMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return 0;
  }
}

/** What all processes of a namespace have used. Those that have ended are not in it. */
export function processorMsIn(namespace: string): number {
  return processesIn(namespace).reduce((sum, { pid }) => sum + processorMs(pid), 0);
}
