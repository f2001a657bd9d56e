import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { overlap } from "../base/address.ts";
import { CommandError, messageOf } from "../base/errors.ts";
import { DHCP_UNIT } from "../dhcp/files.ts";
import { type LanFacts, lanFactsOf } from "../dhcp/lans.ts";
import { BOOT_FILES, BOOT_FOLDER } from "../killswitch/boot-files.ts";
import {
  freeNetworks,
  givenIn,
  isOneCable,
  NOT_FLASHED,
  type PortRoles,
  portsIn,
  prefixesBeside,
  rolesFault,
  UPLINK_FILE,
} from "../network/ports.ts";
import { askOperator } from "../operator/operator.ts";
import { placeText, remove } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { showAddresses } from "../system/ip.ts";
import { LinuxHost } from "../system/linux.ts";
import { assertAdministrator } from "../system/machine.ts";
import { RootCommands } from "../system/root-commands.ts";
import { arePortsChanging } from "../system/setup.ts";
import { install } from "./install.ts";
import { PATHS, SERVICE_UNIT } from "./paths.ts";
import { lanFile, lanStep, uplinkStep } from "./port-files.ts";
import { beforeIn, keepBefore, putBack } from "./ports-before.ts";
import type { Step } from "./step.ts";

/** A router may be slow, or has to notice first that the cable is another one's. */
const ADDRESS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;
/** The service may be busy with a start. */
const CLOSED_WITHIN_MS = 60_000;
const CHANGING_LOOK_MS = 1_000;
/** The unit gives the service 300 s to start. */
const RESTART_TIMEOUT_MS = 310_000;
const PUBLIC = 0o644;

/** `portcullis ports`: has systemd do it, because it may cut off the terminal, and waits for its end. */
export async function changePorts(roles: PortRoles): Promise<void> {
  assertAdministrator();
  const host = new LinuxHost();
  await assertPorts(host, roles);
  remove(PATHS.portsFailed);
  const root = new RootCommands(host, PATHS.state);
  await root.assignPorts(roles);
  // Systemd may not have begun.
  do await host.sleep(CHANGING_LOOK_MS);
  while (await root.isChanging());
  const why = await host.read(PATHS.portsFailed);
  if (why !== null) throw unable(why.trim());
  if (await arePortsChanging(host))
    throw unable(
      "the change was cut off, and the service goes back from it; why: journalctl -u portcullis-change",
    );
  process.stdout.write(`The uplink is ${roles.uplink}, and the LAN ${roles.lans.join(", ")}.\n`);
}

/**
 * Gives the network ports of a flashed gateway their roles: the network's own files, then settings as `setup` changes them.
 * Devices of a LAN with a port of its own get their addresses from the gateway. If it fails or is cut off at any moment,
 * `restorePorts` makes all of that what it was.
 */
export async function assignPorts(roles: PortRoles): Promise<void> {
  assertAdministrator();
  const host = new LinuxHost();
  remove(PATHS.portsFailed);
  try {
    await change(host, roles, await assertPorts(host, roles));
  } catch (error) {
    placeText(PATHS.portsFailed, `${messageOf(error)}\n`, PUBLIC);
    throw error;
  }
  remove(PATHS.portsBefore);
}

/** Gives the ports their former roles if a change has failed or was cut off. */
export async function restorePorts(): Promise<void> {
  assertAdministrator();
  await goBack(new LinuxHost(), PATHS);
}

/** The notes of a change are elsewhere in a test. */
export async function goBack(
  host: Host,
  { portsBefore, portsFailed }: { portsBefore: string; portsFailed: string },
): Promise<void> {
  const before = beforeIn(portsBefore);
  if (before === null) return;
  const isOfNetwork = (path: string) => path.startsWith(`${dirname(UPLINK_FILE)}/`);
  const isNote = (path: string) => path === PATHS.version;
  // The kill switch comes first, and the LAN last: there is none for the service until all is as it was.
  putBack(before, (path) => !isOfNetwork(path) && !isNote(path));
  await host.run(["systemctl", "restart", SERVICE_UNIT], { timeoutMs: RESTART_TIMEOUT_MS });
  putBack(before, isOfNetwork);
  await host.run(["networkctl", "reload"]);
  const names = portsIn({ addresses: await showAddresses(host) }).map(({ name }) => name);
  const lans = names.filter((name) => before[lanFile(name)] != null);
  await once(host, "the end of other addresses", (all) => hasNoLease(lans, all));
  const dhcp = before[PATHS.dhcpConfig];
  // What was written down may be damaged. Without DHCP, no device would reach the page.
  if (dhcp !== undefined) {
    await host.run(["systemctl", dhcp === null ? "disable" : "enable", DHCP_UNIT]);
    // It may wait for a cable.
    await host.run(["systemctl", "--no-block", dhcp === null ? "stop" : "restart", DHCP_UNIT]);
  }
  putBack(before, isNote);
  remove(portsBefore);
  // Last, because a full disk must not keep the LAN closed.
  if (!existsSync(portsFailed)) placeText(portsFailed, "the change was cut off, as by a power cut\n", PUBLIC);
}

/**
 * Returns once the service serves no LAN, so that no port is one of both sides for a moment. One that does not answer may
 * serve it still, as what it has left in the kernel does.
 */
export async function closeLan(
  stateDir: string,
  signal = AbortSignal.timeout(CLOSED_WITHIN_MS),
): Promise<void> {
  if ((await askOperator(stateDir, "network", null, signal)) === null)
    throw unable("the service does not answer, so the LAN could not be closed first");
}

async function change(host: Host, roles: PortRoles, ports: readonly string[]): Promise<void> {
  const { uplink } = roles;
  const lans = isOneCable(roles) ? [] : roles.lans;
  keepBefore(PATHS.portsBefore, [...FILES, ...ports.map(lanFile)]);
  await closeLan(PATHS.state);
  remove(PATHS.version);
  // One that was cut off may have removed the file, and not the address.
  const before = beforeIn(PATHS.portsBefore) ?? {};
  const formerLans = ports.filter((name) => existsSync(lanFile(name)) || before[lanFile(name)] != null);
  const given = givenIn((await lanFactsOf(host)).addresses, formerLans);
  for (const name of ports) if (!lans.includes(name)) remove(lanFile(name));
  await apply(host, [uplinkStep(uplink)]);
  const found = await once(host, `an address for ${uplink}`, (all) => {
    const there = all.filter((each) => each.interface === uplink);
    return prefixesBeside(there, given).length > 0;
  });
  const others = found.filter((each) => !lans.includes(each.interface));
  const taken = prefixesBeside(others, given);
  const owns = freeNetworks(lans.length, taken);
  if (owns.length < lans.length) throw unable(`${taken.join(", ")} leaves no network for the LAN`);
  await apply(
    host,
    owns.map((own, at) => lanStep(lans[at] ?? "", own)),
  );
  await once(
    host,
    `the address of ${lans.join(", ")}`,
    (all) =>
      hasNoLease(lans, all) &&
      !all.some((each) => !lans.includes(each.interface) && owns.some((own) => overlap(own, each.prefix))) &&
      owns.every((own, at) => all.some((each) => each.interface === lans[at] && each.prefix === own)),
  );
  const dhcp = lans.length === 0 ? "off" : "on";
  await install("setup", { uplink, lan: roles.lans.join(","), dhcp }, { dryRun: false, yes: true }).catch(
    (error: Error) => {
      // Without its advice: nothing that `setup` has done stays.
      throw error.cause ?? error;
    },
  );
}

/** What the roles are in, beside the files of each port. */
const FILES = [
  ...[PATHS.environment, PATHS.sysctls, PATHS.dhcpConfig, PATHS.version, UPLINK_FILE],
  ...Object.values(BOOT_FILES).map((name) => join(PATHS.state, BOOT_FOLDER, name)),
];

/** Returns the names of all ports. */
async function assertPorts(host: Host, roles: PortRoles): Promise<string[]> {
  if ((await host.read(UPLINK_FILE)) === null) throw unable(NOT_FLASHED);
  const ports = portsIn({ addresses: await showAddresses(host) }).map(({ name }) => name);
  const fault = rolesFault(roles, ports);
  if (fault !== null) throw unable(fault);
  return ports;
}

async function apply(host: Host, steps: readonly Step[]): Promise<void> {
  for (const step of steps) if (step.do === "write") placeText(step.path, step.text, step.mode);
  await host.run(["networkctl", "reload"]);
}

type Addresses = LanFacts["addresses"];

/** Otherwise a router's network would count as LAN. */
function hasNoLease(lans: readonly string[], all: Addresses): boolean {
  return !all.some((each) => lans.includes(each.interface) && each.isLeased);
}

/** The machine's IPv4 addresses, as soon as they are as wanted. */
async function once(
  host: Host,
  what: string,
  isThere: (addresses: Addresses) => boolean,
): Promise<Addresses> {
  for (const start = host.monotonic(); ; await host.sleep(LOOK_EVERY_MS)) {
    const { addresses } = await lanFactsOf(host);
    if (isThere(addresses)) return addresses;
    if (host.monotonic() - start >= ADDRESS_WITHIN_MS) throw unable(`${what} did not come`);
  }
}

function unable(message: string): CommandError {
  return new CommandError("unable", message);
}
