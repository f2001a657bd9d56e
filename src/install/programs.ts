import { GatewayError } from "../errors.ts";
import type { Host } from "../system/host.ts";
import { assertMachine, missingPrograms } from "../system/machine.ts";
import { wireguardOf } from "./machine.ts";

/** apt-get may take this long on a Pi with a slow connection. */
const PACKAGES_TIMEOUT_MS = 15 * 60_000;
/** For kernels without WireGuard. */
const USERSPACE_PACKAGE = "wireguard-go";
const APT_GET = ["apt-get", "install", "--yes", "--no-install-recommends"];

/** The command that installs what is missing; empty if nothing is. */
export async function packagesLine(host: Host): Promise<string[]> {
  const packages = missingPrograms().map((missing) => missing.package);
  if ((await wireguardOf(host)) === null) packages.push(USERSPACE_PACKAGE);
  return packages.length === 0 ? [] : [...APT_GET, ...packages];
}

/** Installs missing programs if `agrees` accepts the command, and throws if any are still missing. */
export async function ensurePrograms(host: Host, agrees: (line: string) => boolean): Promise<void> {
  const command = await packagesLine(host);
  const line = command.join(" ");
  if (command.length > 0 && agrees(line)) await host.run(command, { timeoutMs: PACKAGES_TIMEOUT_MS });
  assertMachine(null);
  if ((await wireguardOf(host)) === null) {
    throw new GatewayError("unable", `the kernel has no WireGuard; install a userspace one: ${line}`);
  }
}
