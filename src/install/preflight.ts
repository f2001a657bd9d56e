import { CommandError, type GatewayError } from "../base/errors.ts";
import { addressIn, type Settings } from "../base/settings.ts";
import { servedLans } from "../dhcp/lans.ts";
import { isComplete } from "../killswitch/boot-files.ts";
import { OWN_NUMBERS } from "../killswitch/kernel-rules.ts";
import { allLinks } from "../network/slot.ts";
import type { Host } from "../system/host.ts";
import { type Layout, PACKAGED, setupCommand } from "../system/layout.ts";
import { type GivenSettings, interfaceIn, portIn } from "./environment.ts";
import { isOnLan, type Machine } from "./machine.ts";
import { PATHS } from "./paths.ts";

/** Debian's name of the architecture that this program is built for. */
const OWN_ARCHITECTURE = process.arch === "x64" ? "amd64" : process.arch;

/** Every address, as settings and `ss` write it. */
const ANY = ["*", "::", "0.0.0.0"];

/** Throws if `command` is not for this program, or if it would install a second one beside the package's. */
export function assertCommand(command: Layout["command"], own: Layout, isPackaged: boolean): void {
  if (own === PACKAGED) {
    if (command === own.command) return;
    throw unable(`the Debian package has installed this program already; type: ${setupCommand("", own)}`);
  }
  if (isPackaged) {
    throw unable(
      `the Debian package of Portcullis is installed; to use it: sudo ${PACKAGED.program} ${PACKAGED.command}; to install this program instead, first remove the package: sudo apt remove portcullis`,
    );
  }
  if (command !== own.command) {
    throw unable(`this program does not come from the Debian package; type: ${setupCommand("", own)}`);
  }
}

/** Throws if this machine cannot be a gateway, and says what to do; `given` are the flags. */
export function assertFit(machine: Machine, settings: Settings, given: GivenSettings): void {
  const { architecture, systemd, network, forgetful, foreignRules, withoutModules, facts } = machine;
  if (architecture !== null && architecture !== OWN_ARCHITECTURE) {
    throw unable(
      `this program is built for ${OWN_ARCHITECTURE}, but this system is ${architecture}; use a 64-bit system and the program that ./scripts/build makes for it`,
    );
  }
  if (!systemd) throw unable("this machine does not run systemd; run the gateway with: portcullis serve");
  if (withoutModules !== null) {
    throw unable(
      `the modules of the running kernel ${withoutModules} are gone, as after an upgrade of the kernel: restart the machine, then run this command again`,
    );
  }
  if (forgetful.length > 0) {
    throw unable(
      `changes in ${forgetful.join(" and ")} would be lost at the next reboot; turn off the overlay file system first (raspi-config)`,
    );
  }
  if (foreignRules.length > 0) {
    throw unable(
      `ip rules ${OWN_NUMBERS} are reserved for the gateway, but another program uses some: ${foreignRules.join("; ")}; give those other numbers first`,
    );
  }
  assertInterfaces(machine, settings, given);
  assertSameTunnels(machine, settings);
  if (!isComplete(network)) {
    throw unable(
      "no network yet: the kill switch must know the LAN and the uplink at boot; connect the cable, or name them with --lan and --uplink",
    );
  }
  servedLans(network, facts, settings);
}

/** To name a socket's program, `ss` looks through all processes; a busy machine took more than 10 s. */
const SOCKETS_TIMEOUT_MS = 60_000;

/** Throws if another program listens on a port of the service, because the service would not start. */
export async function assertPorts(
  host: Pick<Host, "run">,
  environment: string | null,
  settings: Pick<Settings, "host" | "port" | "https">,
): Promise<void> {
  for (const flag of ["port", "https"] as const) await assertPort(host, environment, settings, flag);
}

async function assertPort(
  host: Pick<Host, "run">,
  environment: string | null,
  settings: Pick<Settings, "host" | "port" | "https">,
  flag: "port" | "https",
): Promise<void> {
  const port = settings[flag];
  // It is the installed service itself, which is restarted.
  if (port === null || (environment !== null && portIn(environment, flag) === port)) return;
  const wanted = addressIn(settings);
  const listening = await host.run(["ss", "-Hltnp", `sport = :${port}`], { timeoutMs: SOCKETS_TIMEOUT_MS });
  const sockets = listening.split("\n");
  const taken = sockets.find((line) => {
    const local = /^\S+\s+\S+\s+\S+\s+(\S+):\d+\s/.exec(line)?.[1]?.replace(/^\[|\]$|%.*/g, "");
    return local !== undefined && (local === wanted || [local, wanted].some((each) => ANY.includes(each)));
  });
  if (taken === undefined) return;
  const program = /users:\(\("([^"]+)"/.exec(taken)?.[1] ?? "another program";
  throw unable(
    `--${flag}: ${program} already listens on port ${port}; end it, or choose another port with --${flag}`,
  );
}

/** Problems that do not prevent an installation. */
export function warningsFor(
  { droppingChains, interfaces, network }: Machine,
  { lan, mesh }: Settings,
): string[] {
  const named = [
    ...lan.map((name) => ({ name, what: "LAN" })),
    ...mesh.map((name) => ({ name, what: "a mesh" })),
  ];
  const missing = named.filter(({ name }) => !interfaces.includes(name));
  return [
    ...network.remarks.map((remark) => `${remark}.`),
    ...(droppingChains.length === 0
      ? []
      : [
          `another firewall drops packets by policy (${droppingChains.join(", ")}): LAN clients may have no connection until it accepts them.`,
        ]),
    ...missing.map(
      ({ name, what }) => `there is no interface ${name}, which ${PATHS.environment} names as ${what}.`,
    ),
  ];
}

export function assertNotCutOff({ network, sshClient }: Machine): void {
  if (sshClient === null || isOnLan(sshClient, network)) return;
  throw unable("this would cut off your SSH session and lock you out; log in from the LAN, or pass --yes");
}

/** A typing error must not become a kill switch without an uplink. A LAN card that was removed later is no error. */
function assertInterfaces(
  { interfaces, network }: Machine,
  { lan, uplink }: Settings,
  given: GivenSettings,
): void {
  const named = [
    ...lan.map((name) => ["lan", name] as const),
    ...(uplink === null ? [] : [["uplink", uplink] as const]),
  ];
  for (const [flag, name] of named) {
    if (!interfaces.includes(name)) {
      if (flag === "lan" && given.lan === undefined) continue;
      const known = interfaces.length === 0 ? "none" : interfaces.join(", ");
      throw new CommandError("bad_request", `--${flag}: there is no interface ${name}; there are: ${known}`);
    }
    if (flag === "lan" && !network.lans.some((one) => one.interface === name)) {
      throw unable(`--lan: ${name} has no private address yet; the kill switch must know the LAN at boot`);
    }
  }
}

/** Otherwise tunnels with another name would never end, and the new ones could not have their addresses. */
function assertSameTunnels({ interfaces, environment }: Machine, settings: Settings): void {
  const former = interfaceIn(environment ?? "");
  const left = allLinks(former).filter((name) => interfaces.includes(name));
  if (environment === null || settings.interface === former || left.length === 0) return;
  throw unable(
    `--interface: tunnels are up under their former name (${left.join(", ")}); disconnect first: portcullis disconnect, or portcullis tunnel <name> disconnect`,
  );
}

function unable(message: string): GatewayError {
  return new CommandError("unable", message);
}
