import { GatewayError, messageOf } from "../errors.ts";
import { type Inspection, inspect } from "../killswitch/report.ts";
import { rulesFor } from "../killswitch/routing-rules.ts";
import { type HostNetwork, hostNetworkOf, lanText } from "../network/host-network.ts";
import { FLAGS, type Settings } from "../settings.ts";
import type { Host } from "../system/host.ts";
import { LinuxHost, SELF_COMMAND } from "../system/linux.ts";
import { assertAdministrator } from "../system/machine.ts";
import { answered, assertSomebody, repaired } from "./answers.ts";
import { type Given, givenIn, settingsWith } from "./environment.ts";
import { isOnLan, type Machine, machineOf } from "./machine.ts";
import { PATHS } from "./paths.ts";
import { installPlan } from "./plan.ts";
import { assertFit, assertNotCutOff, warningsFor } from "./preflight.ts";
import { ensurePrograms, packagesLine } from "./programs.ts";
import { carryOut } from "./run.ts";
import { headOf, type Plan, textOf } from "./step.ts";

export interface Choices {
  dryRun: boolean;
  /** Asks nothing. */
  yes: boolean;
}

/** What is to be installed, and where. */
interface Survey {
  machine: Machine;
  settings: Settings;
  given: Given;
}

/** Makes this machine a gateway that stands again after each boot; run again, it upgrades what is there. */
export async function install(flags: Given, choices: Choices): Promise<void> {
  const host = new LinuxHost();
  const { machine: found, settings, given } = await survey(host, flags, choices);
  assertFit(found, settings, given);
  if (!choices.dryRun) {
    if (!choices.yes) assertNotCutOff(found);
    await ensurePrograms(host, agreement(choices));
  }
  // With the programs there may be more to see: other firewalls, and what carries a tunnel.
  const machine = await machineOf(host, settings);
  const plan = installPlan({ machine, given, program: ownProgram(), packages: await packagesLine(host) });
  say(`${summaryOf(machine, settings)}\n${sshLine(machine)}`);
  for (const warning of warningsFor(machine, settings)) say(`Warning: ${warning}`);
  if (choices.dryRun) {
    say(`Nothing is done now. This would be done:\n\n${textOf(plan)}`);
    return;
  }
  if (!choices.yes) agree(plan);
  await carryOut(plan, { host, root: "", say }).catch((cause: unknown) => {
    const ways = "what was done stays; run install again, or take it back: sudo portcullis uninstall";
    throw new GatewayError("unable", `${messageOf(cause)}; ${ways}`, { cause });
  });
  const { network } = machine;
  say(
    closingWords(
      await inspect(host, { network, rules: rulesFor(network), isAsLoaded: null, fault: null }),
      settings,
    ),
  );
}

async function survey(host: Host, given: Given, choices: Choices): Promise<Survey> {
  const environment = await host.read(PATHS.environment);
  // Wrong settings are told before anything is asked or done.
  const settings = settingsWith(givenIn(environment ?? ""), given);
  const isAsking = !choices.dryRun && !choices.yes;
  if (isAsking) assertSomebody();
  assertAdministrator();
  // Without it nothing can be known of the machine.
  if (Bun.which("ip") === null) await ensurePrograms(host, agreement(choices));
  const machine = await machineOf(host, settings);
  if (!isAsking) return { machine, settings, given };
  const all =
    environment === null
      ? answered(given, machine.network, prompt)
      : repaired(given, settings, { ...machine, byDefault: await byDefault(host, settings) }, confirm);
  if (all === given) return { machine, settings, given };
  const wanted = settingsWith(givenIn(environment ?? ""), all);
  return { machine: await machineOf(host, wanted), settings: wanted, given: all };
}

/** What the LAN would be if the settings did not name it. */
async function byDefault(host: Host, settings: Settings): Promise<HostNetwork> {
  return hostNetworkOf(host, { ...settings, lan: [] });
}

/** Whether a command that installs packages may run. */
function agreement({ dryRun, yes }: Choices): (line: string) => boolean {
  return (line) => !dryRun && (yes || confirm(`Missing. Run ${line}?`));
}

function agree(plan: Plan): void {
  const heads = plan.map((step) => `  ${headOf(step)}\n`).join("");
  say(`This is done now (word for word: --dry-run):\n\n${heads}`);
  if (!confirm("Go on?")) throw new GatewayError("unable", "nothing was done");
}

function sshLine({ network, sshClient }: Machine): string {
  if (sshClient === null) return "";
  return isOnLan(sshClient, network)
    ? `You are logged in from ${sshClient}, which is on the LAN: your session stays.\n`
    : `You are logged in from ${sshClient}, which is NOT on the LAN: your session ends when the kill switch stands.\n`;
}

function summaryOf({ network, wireguard }: Machine, settings: Settings): string {
  return [
    `LAN:       ${lanText(network, settings)}`,
    `Uplink:    ${network.uplink}`,
    `WireGuard: ${wireguard === "kernel" ? "the kernel's" : "a program, for the kernel has none"}`,
  ].join("\n");
}

/** What there is now. Either layer of the kill switch keeps its promise; the operator has taken both down, or none. */
export function closingWords({ firewall, routing }: Inspection, { port }: Pick<Settings, "port">): string {
  return [
    firewall || routing
      ? "Portcullis runs and the kill switch stands, now and from the start of each boot.\nNothing reaches the internet but through a tunnel."
      : "Portcullis runs, and the kill switch is off: traffic may leave beside the tunnel. On with it: sudo portcullis killswitch on",
    `State: http://<this machine>:${port}/api/status`,
    ...(`${port}` === FLAGS.port.fallback
      ? []
      : [`For the commands: export PORTCULLIS_URL=http://127.0.0.1:${port}`]),
    `The log: journalctl -u portcullis. Settings: ${PATHS.environment}. Away with it: sudo portcullis uninstall`,
  ].join("\n");
}

/** The file of the compiled program. */
function ownProgram(): string {
  const [program = "", ...main] = SELF_COMMAND;
  if (main.length === 0) return program;
  throw new GatewayError(
    "unable",
    "only the compiled program can install itself: ./scripts/build, then dist/portcullis install",
  );
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
