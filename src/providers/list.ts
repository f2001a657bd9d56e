import { ivpn } from "./ivpn/ivpn.ts";
import { mullvad } from "./mullvad/mullvad.ts";
import { nordvpn } from "./nordvpn/nordvpn.ts";
import { pia } from "./pia/pia.ts";
import type { VpnProvider } from "./provider.ts";

/** All providers with accounts. The first is the default. */
export const VPN_PROVIDERS: readonly [VpnProvider, ...VpnProvider[]] = [mullvad, ivpn, pia, nordvpn];
