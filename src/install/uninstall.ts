import { GatewayError } from "../errors.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertMachine } from "../system/machine.ts";
import { interfaceIn } from "./environment.ts";
import { remainsIn } from "./machine.ts";
import { PATHS } from "./paths.ts";
import { uninstallPlan } from "./removal.ts";
import { carryOut } from "./run.ts";
import { textOf } from "./step.ts";

export interface Farewell {
  dryRun: boolean;
  /** Asks nothing. */
  yes: boolean;
  /** Whether servers, keys and settings go, too; null asks. */
  removeState: boolean | null;
}

/** Brings the machine back to what it was before `install`. */
export async function uninstall({ dryRun, yes, removeState }: Farewell): Promise<void> {
  assertMachine(null);
  const host = new LinuxHost();
  const [environment, sysctlsBefore] = await Promise.all([
    host.read(PATHS.environment),
    host.read(PATHS.sysctlsBefore),
  ]);
  const remains = await remainsIn(host, interfaceIn(environment ?? ""));
  if (!dryRun && !yes)
    agree("Without the kill switch this machine and its LAN reach the internet unprotected. Go on?");
  const goes =
    removeState ?? (!dryRun && !yes && agreesTo(`Remove servers, keys and settings (${PATHS.state}), too?`));
  const plan = uninstallPlan({ machine: { sysctlsBefore }, remains, keepState: !goes });
  if (dryRun) {
    say(`Nothing is done now. This would be done:\n\n${textOf(plan)}`);
    return;
  }
  await carryOut(plan, { host, root: "", say });
  say(
    goes
      ? "Portcullis is gone."
      : `Portcullis is gone; servers, keys and settings stay in ${PATHS.state} and /etc/portcullis.`,
  );
}

function agree(question: string): void {
  if (!process.stdin.isTTY) throw new GatewayError("bad_request", "nobody is there to ask: say --yes");
  if (!agreesTo(question)) throw new GatewayError("unable", "nothing was done");
}

function agreesTo(question: string): boolean {
  return confirm(question);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
