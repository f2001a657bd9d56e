import { mullvad } from "./mullvad/mullvad.ts";
import type { VpnProvider } from "./provider.ts";

/** Every provider with accounts. Without a word of the operator's it is the first. */
export const VPN_PROVIDERS: readonly [VpnProvider, ...VpnProvider[]] = [mullvad];
