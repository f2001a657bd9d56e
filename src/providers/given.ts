import type { Settings } from "../base/settings.ts";
import { VPN_PROVIDERS } from "./list.ts";
import type { VpnProvider } from "./provider.ts";

// The settings name the addresses of the first provider. Those of the others are fixed.

/** The file or https address of the managed servers' list; null if there is none. */
export function listSourceOf(
  { managedList }: Pick<Settings, "managedList">,
  provider: VpnProvider | null,
): string | null {
  return provider === null || isFirst(provider) ? managedList : provider.list;
}

/** The https address of a provider's interface for accounts. */
export function apiOf({ managedApi }: Pick<Settings, "managedApi">, provider: VpnProvider): string {
  return isFirst(provider) ? managedApi : provider.api;
}

/** Whether the settings give this side of managed tunnels, or a part of it. */
export function isGiven({
  managedKeyFile,
  managedAddress,
}: Pick<Settings, "managedKeyFile" | "managedAddress">): boolean {
  return managedKeyFile !== null || managedAddress.trim() !== "";
}

function isFirst({ name }: VpnProvider): boolean {
  return name === VPN_PROVIDERS[0].name;
}
