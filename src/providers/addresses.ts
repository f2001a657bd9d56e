import { FLAGS, type Settings } from "../settings.ts";
import { VPN_PROVIDERS } from "./list.ts";
import type { VpnProvider } from "./provider.ts";

// The settings' defaults are the first provider's addresses: anything else was chosen by the operator.

/** The file or https address of the managed servers' list; null if there is none. */
export function listSourceOf(
  { managedList }: Pick<Settings, "managedList">,
  { list }: VpnProvider = VPN_PROVIDERS[0],
): string | null {
  return managedList === FLAGS.managedList.fallback ? list : managedList;
}

/** The https address of a provider's interface for accounts. */
export function apiOf({ managedApi }: Pick<Settings, "managedApi">, { api }: VpnProvider): string {
  return managedApi === FLAGS.managedApi.fallback ? api : managedApi;
}
