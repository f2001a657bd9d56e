import { partsOf } from "../app/parts.ts";
import { messageOf, NewerState } from "../base/errors.ts";
import { Log } from "../base/log.ts";
import type { Settings } from "../base/settings.ts";
import { type Inspection, inspectOffline } from "../killswitch/report.ts";
import { askOperator } from "../operator/operator.ts";
import { hasDatabase } from "../store/database.ts";
import { claimGateway } from "../system/claim.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertOnGateway } from "./root.ts";
import { printableLines } from "./text.ts";

/** Turns the kill switch on or off: through the running service, or directly if none runs. */
export async function setKillSwitch(settings: Settings, wanted: "on" | "off"): Promise<void> {
  assertOnGateway();
  process.umask(0o077);
  if ((await askOperator(settings.stateDir, `killswitch/${wanted}`, null)) !== null) return;
  // A service that is starting or stopping is changing the table.
  await claimGateway(settings, new Log(settings.logLevel));
  const { tunnels, operatorSwitch, catalogue, savedState, journal } = await partsOf(settings);
  operatorSwitch.decide(wanted === "on");
  journal.write();
  await tunnels.start(catalogue);
  savedState.assertSaved();
}

/** Prints whether the kill switch is in place, and each of its parts; returns the exit code. */
export async function printKillSwitch(settings: Settings, as: "text" | "json" = "text"): Promise<number> {
  assertOnGateway();
  const said = await askOperator(settings.stateDir, "killswitch", null);
  const inspection = said?.answer ?? (await inspectUnserved(settings));
  process.stdout.write(as === "json" ? `${JSON.stringify(inspection)}\n` : textOf(inspection));
  return inspection.stands ? 0 : 1;
}

async function inspectUnserved(settings: Settings): Promise<Inspection> {
  // A question must not create a database on a machine that was never a gateway.
  const known = hasDatabase(settings.stateDir) ? partsOf(settings) : Promise.resolve(null);
  const network = await known
    .then((parts) => parts?.findNetwork() ?? null)
    .catch((error: unknown) => {
      if (!(error instanceof NewerState)) throw error;
      process.stderr.write(`portcullis: ${printableLines(messageOf(error))}\n`);
      return null;
    });
  return inspectOffline(new LinuxHost(), network, settings);
}

function textOf(inspection: Inspection): string {
  const { parts } = inspection;
  const verdict = verdictOf(inspection);
  const width = Math.max(...parts.map((part) => part.name.length));
  const lines = parts.map(
    (part) => `  ${part.holds ? "ok" : "NO"}  ${part.name.padEnd(width)}  ${part.found}`,
  );
  return `${[verdict, ...lines].join("\n")}\n`;
}

/** Whether it is in place, in one sentence. */
export function verdictOf({
  stands,
  firewall,
  routing,
  direct,
  destinations,
}: Omit<Inspection, "parts">): string {
  if (firewall && routing && !stands)
    return "The kill switch is in place, but not as the tunnel needs it now: the last change failed.";
  if (firewall && routing)
    return `The kill switch is in place: ${whatReaches(direct, destinations === true)} the internet outside the tunnel.`;
  if (firewall) return "Half of the kill switch is in place: the firewall blocks, but routing would not.";
  if (routing) return "Half of the kill switch is in place: routing blocks, but the firewall would not.";
  return "The kill switch is off: traffic might leave outside the tunnel.";
}

/** "only the direct devices reach": what root has let out. */
function whatReaches(devices: number, destinations: boolean): string {
  if (devices === 0) return destinations ? "only traffic to direct destinations reaches" : "nothing reaches";
  return `only the direct devices${destinations ? ", and traffic to direct destinations," : ""} reach`;
}
