import { join } from "node:path";
import { CommandError } from "../base/errors.ts";
import { withdrawPrefixes } from "../dhcp/withdraw-prefixes.ts";
import { placeCopy, placeText, remove, removeEmpty } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { explained } from "../system/modules.ts";
import { headOf, type Plan, type Step } from "./step.ts";

/** The limit for one command; the unit gives the service 300 s to start. */
const COMMAND_TIMEOUT_MS = 310_000;

export interface PlanEnvironment {
  host: Host;
  /** Root folder for all files; empty for the machine's own. */
  root: string;
  say: (line: string) => void;
  /** Aborted when the plan has to end after the present step. */
  interrupted?: AbortSignal;
}

/** Ctrl-C and SIGTERM end a plan between two steps, because in the middle of one they would leave half a file. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => controller.abort(new CommandError("unable", "interrupted")));
  return controller.signal;
}

/** Carries out the steps in order, reports each, and stops at the first failure. */
export async function carryOut(plan: Plan, surroundings: PlanEnvironment): Promise<void> {
  for (const step of plan) {
    const outcome = await doStep(step, surroundings);
    surroundings.say(`  ${headOf(step)}${outcome === "unchanged" ? ": unchanged" : ""}`);
    // A step that never waits gives no signal a turn.
    await Bun.sleep(0);
    surroundings.interrupted?.throwIfAborted();
  }
}

async function doStep(step: Step, { host, root }: PlanEnvironment): Promise<string> {
  switch (step.do) {
    case "copy":
      return placeCopy(step.from, join(root, step.path), step.mode);
    case "write":
      return placeText(join(root, step.path), step.text, step.mode);
    case "remove":
      return remove(join(root, step.path));
    case "remove empty":
      return removeEmpty(join(root, step.path));
    case "sysctl": {
      const path = `/proc/sys/net/${step.path}`;
      const present = await host.read(path);
      // An interface that is gone has no sysctls. A container may not change those of the whole machine, and has not
      // changed them.
      if (present === null || present.trim() === step.value) return "unchanged";
      await host.writeSysctl(path, step.value);
      return "set";
    }
    case "farewell":
      await withdrawPrefixes(host, step.addresses);
      return "told";
    case "run":
      return host
        .run(step.argv, {
          timeoutMs: COMMAND_TIMEOUT_MS,
          ...(step.stdin === undefined ? {} : { stdin: step.stdin }),
        })
        .then(() => "run")
        .catch((error: unknown) => {
          if (step.mayFail) return "unchanged";
          throw step.argv[0] === "nft" ? explained(error) : error;
        });
  }
}
