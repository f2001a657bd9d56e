import { processesIn } from "../soak/processes.ts";
import { processorMs } from "../tools/processor-time.ts";

/** What all processes of a namespace have used. Those that have ended are not in it. */
export function processorMsIn(namespace: string): number {
  return processesIn(namespace).reduce((sum, { pid }) => sum + processorMs(pid), 0);
}
