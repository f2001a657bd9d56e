import { contains, networkOf, type Prefix, parseAddress, parsePrefix } from "../base/address.ts";
import { CommandError } from "../base/errors.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { type DhcpFiles, dnsmasqConfig } from "./config.ts";
import { type LanFacts, servedLans } from "./lans.ts";

/**
 * The installed configuration as long as it fits the LAN, or otherwise one that does: the LAN may have another prefix,
 * and IPv6 may have been turned on or off. It never serves another interface. Throws `GatewayError` that says what to
 * do.
 */
export function fittingConfig(
  installed: string,
  { network, facts }: { network: HostNetwork; facts: LanFacts },
  settings: Pick<Settings, "dhcp" | "ula" | "lan">,
  files: DhcpFiles,
): string {
  try {
    const wanted = dnsmasqConfig(servedLans(network, facts, settings), files);
    if (shapeOf(wanted) === shapeOf(installed)) return installed;
    assertSameInterfaces(namesIn(installed), namesIn(wanted));
    return wanted;
  } catch (error) {
    // If there are several interfaces, one may have no address yet. The others are served.
    if (servesAny(installed, network)) return installed;
    throw error;
  }
}

/** The configuration without the order of the interfaces and the choice of addresses. */
function shapeOf(config: string): string {
  const parts = config.split("\n\n").map((part) => part.trim());
  return parts
    .map((part) => part.replace(RANGE, (_, from, mask) => `dhcp-range=${networkIn(from, mask)}`))
    .sort()
    .join("\n");
}

const RANGE = /^dhcp-range=([\d.]+),[\d.]+,([\d.]+)/m;

function networkIn(address: string, mask: string): Prefix | null {
  const bits = mask.split(".").map((byte) => Number(byte).toString(2).replaceAll("0", "").length);
  const prefix = parsePrefix(`${address}/${bits.reduce((sum, each) => sum + each, 0)}`);
  return prefix && networkOf(prefix);
}

function namesIn(config: string): string[] {
  return [...config.matchAll(/^interface=(.+)$/gm)].map(([, name = ""]) => name).sort();
}

function assertSameInterfaces(installed: readonly string[], found: readonly string[]): void {
  if (Bun.deepEquals(installed, found)) return;
  const now = found.length === 0 ? "none" : found.join(", ");
  throw new CommandError(
    "unable",
    `it was installed for ${installed.join(", ")}, but the LAN's interfaces are now: ${now}`,
  );
}

/** Whether an interface still has the network that the configuration serves on it. */
function servesAny(config: string, { lans }: Pick<HostNetwork, "lans">): boolean {
  const served = [...config.matchAll(/^interface=(.+)\ndhcp-range=([\d.]+),/gm)];
  return served.some(([, name, from = ""]) => {
    const address = parseAddress(from);
    const prefixes = lans.find((lan) => lan.interface === name)?.prefixes ?? [];
    return address !== null && prefixes.some((prefix) => contains(prefix, address));
  });
}
