import { existsSync } from "node:fs";
import { version } from "../../package.json";
import { CommandError, messageOf } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import type { Settings } from "../base/settings.ts";
import type { ServedLan } from "../dhcp/config.ts";
import { servedLans } from "../dhcp/lans.ts";
import { assertAlone, assertPortFree } from "../dhcp/other-servers.ts";
import { dhcpWait } from "../dhcp/unit.ts";
import { type Inspection, inspectOffline } from "../killswitch/report.ts";
import { type HostNetwork, hostNetworkOf, lanText } from "../network/host-network.ts";
import { ownHostIn } from "../network/own.ts";
import { randomUla } from "../network/ula.ts";
import { askOperator, type PairingCode } from "../operator/operator.ts";
import { claimInstallation } from "../system/claim.ts";
import type { Host } from "../system/host.ts";
import { type Layout, OWN_LAYOUT, PACKAGED } from "../system/layout.ts";
import { LinuxHost, SELF_COMMAND } from "../system/linux.ts";
import { assertAdministrator } from "../system/machine.ts";
import { answered, assertSomebody, repaired } from "./answers.ts";
import { type GivenSettings, givenIn, settingsWith } from "./environment.ts";
import { isOnLan, type Machine, machineOf } from "./machine.ts";
import { PATHS } from "./paths.ts";
import { assertFiles, installPlan } from "./plan.ts";
import { assertCommand, assertFit, assertNotCutOff, assertPorts, warningsFor } from "./preflight.ts";
import { ensurePrograms, packagesLine } from "./programs.ts";
import { carryOut, interruption } from "./run.ts";
import { headOf, type Plan, textOf } from "./step.ts";

export interface Choices {
  dryRun: boolean;
  /** Asks no questions. */
  yes: boolean;
}

/** The machine, and the settings to install on it. */
interface Survey {
  machine: Machine;
  settings: Settings;
  given: GivenSettings;
}

/** Makes this machine a gateway that comes back at each boot. If it is run again, it upgrades the gateway. */
export async function install(
  command: Layout["command"],
  flags: GivenSettings,
  choices: Choices,
): Promise<void> {
  assertCommand(command, OWN_LAYOUT, existsSync(PACKAGED.program));
  const host = new LinuxHost();
  const { machine: found, settings, given } = await survey(host, flags, choices);
  assertFit(found, settings, given);
  await assertPorts(host, found.environment, settings);
  if (!choices.dryRun) {
    if (!choices.yes) assertNotCutOff(found);
    await ensurePrograms(host, settings, agreement(choices));
  }
  if (settings.dhcp !== null) await assertAloneOn(host, found, settings);
  // The programs may reveal more, such as other firewalls, and WireGuard.
  const machine = await machineOf(host, settings);
  const plan = installPlan({
    machine,
    given: withUla(given, settings),
    layout: OWN_LAYOUT,
    program: ownProgram(),
    version,
    packages: await packagesLine(host, settings),
  });
  print(`${summaryOf(machine, settings)}\n${sshLine(machine)}`);
  for (const warning of warningsFor(machine, settings)) print(`Warning: ${warning}`);
  if (choices.dryRun) {
    print(`Dry run: nothing is changed. This would be done:\n\n${textOf(plan)}`);
    return;
  }
  if (!choices.yes) agree(plan);
  await claimInstallation({ warn: (text) => print(`Warning: ${text}`) });
  await carryOut(plan, { host, root: "", say: print, interrupted: interruption() }).catch(
    (cause: unknown) => {
      const ways = `completed steps stay; run ${command} again, or undo it: sudo portcullis uninstall`;
      throw new CommandError("unable", `${messageOf(cause)}; ${ways}`, { cause });
    },
  );
  const { network } = machine;
  const lans = servedLans(network, machine.facts, settings);
  const words = [
    closingWords(await inspectOffline(host, network, settings), settings),
    dhcpWords(lans, lans.length === 0 ? null : await dhcpWait(host).catch(messageOf)),
    pageWords(network, settings, await fingerprint(settings)),
    // An upgrade is carried out by programs that keep what it prints.
    pairingWords(found.environment === null ? await firstCode(settings) : null),
  ];
  print(words.join(""));
}

/**
 * An upgrade continues, because the DHCP server itself waits until no other one answers. Half an installation is not an
 * upgrade.
 */
async function assertAloneOn(
  host: Host,
  { network, facts, dhcp }: Machine,
  settings: Settings,
): Promise<void> {
  if (dhcp.unit !== null && dhcp.config !== null) return;
  await assertPortFree(host);
  const links = servedLans(network, facts, settings).map((lan) => lan.interface);
  await assertAlone(host, links).catch((cause: unknown) => {
    throw new CommandError("unable", `--dhcp: ${messageOf(cause)}, then run this command again`, { cause });
  });
}

/** The LAN's IPv6 prefix is made once, and stays in the settings. */
function withUla(given: GivenSettings, { dhcp, ula }: Settings): GivenSettings {
  return dhcp === null || ula !== null ? given : { ...given, ula: randomUla() };
}

async function survey(host: Host, flags: GivenSettings, choices: Choices): Promise<Survey> {
  const environment = await host.read(PATHS.environment);
  const given = givenTo(environment, flags);
  // Report wrong settings before anything is asked or done.
  const settings = settingsWith(givenIn(environment ?? ""), given);
  await assertFiles(host, given);
  const isAsking = !choices.dryRun && !choices.yes;
  if (isAsking) assertSomebody();
  assertAdministrator();
  // Without these programs the machine cannot be examined.
  if (Bun.which("ip") === null) await ensurePrograms(host, settings, agreement(choices));
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

/** The network if the settings did not name the LAN. */
async function byDefault(host: Host, settings: Settings): Promise<HostNetwork> {
  return hostNetworkOf(host, { ...settings, lan: [] });
}

/** The flags, and what is on in new installations only, because others work as they are. */
export function givenTo(environment: string | null, flags: GivenSettings): GivenSettings {
  return environment === null ? { https: "on", ...flags } : flags;
}

/** Asks whether a command that installs packages may run. */
function agreement({ dryRun, yes }: Choices): (line: string) => boolean {
  return (line) => !dryRun && (yes || confirm(`Packages are missing. Run ${line}?`));
}

function agree(plan: Plan): void {
  const heads = plan.map((step) => `  ${headOf(step)}\n`).join("");
  print(`These steps follow (--dry-run shows them in full):\n\n${heads}`);
  if (!confirm("Continue?")) throw new CommandError("unable", "nothing was changed");
}

function sshLine({ network, sshClient }: Machine): string {
  if (sshClient === null) return "";
  return isOnLan(sshClient, network)
    ? `You are logged in from ${sshClient}, which is on the LAN: your session is kept.\n`
    : `You are logged in from ${sshClient}, which is NOT on the LAN: your session ends when the kill switch is in place.\n`;
}

function summaryOf({ network, wireguard }: Machine, settings: Settings): string {
  return [
    `LAN:       ${lanText(network, settings)}`,
    `Uplink:    ${network.uplink}`,
    `WireGuard: ${wireguard === "kernel" ? "in the kernel" : "a userspace program, because the kernel has none"}`,
  ].join("\n");
}

/** The result. One layer of the kill switch is enough, because the operator turns off both or none. */
export function closingWords(
  { firewall, routing }: Inspection,
  { port, auth }: Pick<Settings, "port" | "auth">,
): string {
  return [
    firewall || routing
      ? "Portcullis is running and the kill switch is in place, now and from the start of each boot.\nNothing reaches the internet except through a tunnel."
      : "Portcullis is running, but the kill switch is off: traffic might leave outside the tunnel. To turn it on: sudo portcullis killswitch on",
    ...(`${port}` === FLAGS.port.fallback
      ? []
      : [`Commands:  export PORTCULLIS_URL=http://127.0.0.1:${port}`]),
    ...(auth === "off" ? [] : ["Tokens:    sudo portcullis token add <name>, for each client"]),
    `Log:       portcullis logs`,
    `Settings:  ${PATHS.environment}`,
    `Uninstall: sudo portcullis uninstall`,
  ].join("\n");
}

/** The state of the devices, or why they do not use the gateway yet; empty without DHCP. */
export function dhcpWords(lans: readonly ServedLan[], waits: string | null): string {
  if (lans.length === 0) return "";
  const ranges = lans
    .map(({ interface: name, range }) => `${range.from} to ${range.to} on ${name}`)
    .join(", ");
  if (waits !== null) return `\nDHCP waits: ${waits}.`;
  return `\nDHCP:      ${ranges}\nDevices use the gateway from their next lease on: reconnect them, or wait until they renew it. Keep DHCP in the home router off.`;
}

/** That of the certificate of HTTPS; null without one. The service has just started. */
async function fingerprint({ https, stateDir }: Settings): Promise<string | null> {
  if (https === null) return null;
  const live = await askOperator(stateDir, "https", null).catch(() => null);
  return live?.answer.certificate?.fingerprint ?? null;
}

/** The last lines: the page, with an address that devices reach. With tokens, the page over HTTP would only lead on. */
export function pageWords(
  network: HostNetwork,
  { host, port, https, httpsCert, auth }: Pick<Settings, "host" | "port" | "https" | "httpsCert" | "auth">,
  fingerprint: string | null,
): string {
  const shown = ownHostIn(network, host) ?? "<this machine>";
  const open = "Now open the page on any device of the LAN; it guides you through the rest";
  const [plain, secure] = [`http://${shown}:${port}/`, `https://${shown}:${https}/`];
  if (https === null) return `\n\n${open}: ${plain}`;
  const ways = auth === "off" ? `${open}: ${plain}\nOr encrypted: ${secure}` : `${open}: ${secure}`;
  return `\n\n${ways}${httpsCert === null ? aboutOwn(fingerprint) : ""}`;
}

/** For the first owner; later ones are root's decision. Null if it cannot be used. */
async function firstCode({ https, stateDir }: Settings): Promise<PairingCode | null> {
  if (https === null) return null;
  const live = await askOperator(stateDir, "pair", null).catch(() => null);
  return live?.answer ?? null;
}

/** The same as `portcullis pair` prints. */
export function pairingWords(code: PairingCode | null): string {
  if (code === null) return "";
  return `\n\nTo be able to do on the page what else needs root, open ${code.url}\nand enter there within ${code.minutes} minutes: ${code.code}`;
}

function aboutOwn(fingerprint: string | null): string {
  const warning = "\nBrowsers warn of the certificate, because the gateway has made it itself.";
  const known = `${warning} Accept it if its SHA-256 fingerprint is this one:\n${fingerprint}`;
  return fingerprint === null ? `${warning} Its fingerprint: portcullis https` : known;
}

/** The path of the compiled program. */
function ownProgram(): string {
  const [program = "", ...main] = SELF_COMMAND;
  if (main.length === 0) return program;
  throw new CommandError(
    "unable",
    "only the compiled program can install itself: ./scripts/build, then dist/portcullis install",
  );
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
