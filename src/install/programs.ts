import { CommandError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { Host } from "../system/host.ts";
import { assertMachine, missingPrograms } from "../system/machine.ts";
import { wireguardOf } from "./machine.ts";

/** apt-get may take this long on a Pi with a slow connection. */
const PACKAGES_TIMEOUT_MS = 15 * 60_000;
/** The program for kernels without WireGuard. */
const USERSPACE_PACKAGE = "wireguard-go";
const DHCP = { program: "dnsmasq", package: "dnsmasq-base" };
const APT_GET = ["apt-get", "install", "--yes", "--no-install-recommends"];

/** The command that installs missing programs; empty if none is missing. */
export async function packagesLine(host: Host, { dhcp }: Pick<Settings, "dhcp">): Promise<string[]> {
  const packages = missingPrograms().map((missing) => missing.package);
  if (dhcp !== null && Bun.which(DHCP.program) === null) packages.push(DHCP.package);
  if ((await wireguardOf(host)) === null) packages.push(USERSPACE_PACKAGE);
  return packages.length === 0 ? [] : [...APT_GET, ...packages];
}

/** Installs missing programs if `agrees` accepts the command, and throws if any are still missing. */
export async function ensurePrograms(
  host: Host,
  settings: Pick<Settings, "dhcp">,
  agrees: (line: string) => boolean,
): Promise<void> {
  const command = await packagesLine(host, settings);
  const line = command.join(" ");
  if (command.length > 0 && agrees(line)) await host.run(command, { timeoutMs: PACKAGES_TIMEOUT_MS });
  assertMachine();
  if (settings.dhcp !== null && Bun.which(DHCP.program) === null)
    throw new CommandError("unable", `${DHCP.program} not found; install it: ${line}`);
  if ((await wireguardOf(host)) === null) {
    throw new CommandError("unable", `the kernel has no WireGuard; install a userspace one: ${line}`);
  }
}
