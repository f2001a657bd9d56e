/** The facts that are the same for all servers of a provider. */
export interface Shared {
  /** Of their records. */
  label: string;
  /** At which they answer. */
  port: number;
  /** Missing unless they agree on keys that are safe from quantum computers. */
  ephemeralPeers?: true;
}

interface GluetunProvider extends Shared {
  /** Its name in gluetun's files. */
  key: string;
  /** Matches the names of its servers, because a file of one provider does not name the provider. */
  hosts: RegExp;
}

/** WireGuard's usual port. */
const PORT = 51820;

/**
 * The providers for which gluetun has WireGuard servers. Its lists do not name the port; these are from
 * gluetun's `internal/provider/<key>/connection.go`.
 */
const PROVIDERS: readonly GluetunProvider[] = [
  { key: "airvpn", label: "AirVPN", port: 1637, hosts: /\.airdns\.org$/ },
  { key: "azirevpn", label: "AzireVPN", port: PORT, hosts: /\.azirevpn\.net$/ },
  { key: "fastestvpn", label: "FastestVPN", port: PORT, hosts: /\.jumptoserver\.com$/ },
  { key: "ivpn", label: "IVPN", port: 58237, hosts: /\.ivpn\.net$/ },
  {
    key: "mullvad",
    label: "Mullvad",
    port: PORT,
    hosts: /^[a-z]{2}[a-z0-9-]*-(wireguard|wg-[0-9]+)$/,
    ephemeralPeers: true,
  },
  { key: "nordvpn", label: "NordVPN", port: PORT, hosts: /\.nordvpn\.com$/ },
  { key: "ovpn", label: "OVPN", port: 9929, hosts: /\.ovpn\.com$/ },
  { key: "protonvpn", label: "Proton VPN", port: PORT, hosts: /\.protonvpn\.(net|com)$/ },
  { key: "surfshark", label: "Surfshark", port: PORT, hosts: /\.surfshark\.com$/ },
  { key: "windscribe", label: "Windscribe", port: 1194, hosts: /\.(whiskergalaxy|windscribe)\.com$/ },
];

/** An unknown provider is labelled with its key. */
export function providerOfKey(key: string): Shared {
  return PROVIDERS.find((provider) => provider.key === key) ?? { label: key, port: PORT };
}

/** The provider whose servers are named like these. */
export function providerOfHosts(hostnames: readonly string[]): Shared {
  const found = PROVIDERS.find(({ hosts }) => hostnames.some((hostname) => hosts.test(hostname)));
  return found ?? { label: "Managed", port: PORT };
}
