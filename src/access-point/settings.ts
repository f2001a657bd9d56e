import { mustParseAddress, mustParsePrefix } from "../base/address.ts";

/** The gateway's own, in a network that nothing else is in. */
export const ADDRESS = mustParseAddress("192.168.73.1");
export const NETWORK = mustParsePrefix(`${ADDRESS}/24`);
const LEASED = ["192.168.73.10", "192.168.73.49"];
/** The shortest that dnsmasq gives. */
const LEASE = "2m";
/** Of RFC 8910, which devices read that do not look for a portal by themselves. */
const CAPTIVE_PORTAL = 114;
/** In the middle of the three that overlap with no other, and that all countries permit. */
const CHANNEL = 6;
const MOST_STATIONS = 32;

export const PORTS = { dns: 53, dhcp: 67, http: 80, https: 443, mdns: 5353 };

/**
 * The configuration of hostapd(8). It has no passphrase, because a new gateway has no place to show one. The gateway is
 * claimed by HTTPS, and once only.
 */
export function hostapdConfig(radio: string, mac: string): string {
  return [
    `interface=${radio}`,
    "driver=nl80211",
    `ssid=${nameOf(mac)}`,
    "hw_mode=g",
    `channel=${CHANNEL}`,
    `max_num_sta=${MOST_STATIONS}`,
    "# Stations do not reach one another.",
    "ap_isolate=1",
    "",
  ].join("\n");
}

/** For people who see several. */
export function nameOf(mac: string): string {
  return `Portcullis-${mac.trim().replaceAll(":", "").slice(-4).toUpperCase()}`;
}

/** Addresses, and the gateway's own address for each name, so that whatever a device looks for leads to the portal. */
export function dnsmasqCommand(radio: string): string[] {
  return [
    ...[
      "/usr/sbin/dnsmasq",
      "--keep-in-foreground",
      "--conf-file=/dev/null",
      "--pid-file",
      "--log-facility=-",
    ],
    ...["--no-resolv", "--no-hosts", `--address=/#/${ADDRESS}`, `--interface=${radio}`, "--bind-interfaces"],
    ...[`--dhcp-range=${LEASED.join(",")},${LEASE}`, `--dhcp-lease-max=${MOST_STATIONS}`],
    ...["--dhcp-authoritative", "--leasefile-ro", "--no-ping", "--quiet-dhcp"],
    `--dhcp-option=${CAPTIVE_PORTAL},http://${ADDRESS}/`,
  ];
}

/**
 * Beside this, nothing listens there, and no packet has a way out of the namespace. Within it the kernel forwards as in the
 * gateway's own, whose `ip_forward` it has from the start: the second chain is what keeps stations apart.
 */
export const RULESET = `table inet portcullis_access_point {
  chain input {
    type filter hook input priority filter; policy drop
    meta nfproto ipv4 udp dport { ${PORTS.dns}, ${PORTS.dhcp}, ${PORTS.mdns} } accept
    meta nfproto ipv4 tcp dport { ${PORTS.dns}, ${PORTS.http}, ${PORTS.https} } accept
  }
  chain forward {
    type filter hook forward priority filter; policy drop
  }
}
`;

/** Whatever strangers send as HTTP and DNS is read without rights, but that to the usual ports. */
export const WITHOUT_RIGHTS = [
  ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"],
  ...["inh-caps", "ambient-caps", "bounding-set"].map((each) => `--${each}=-all,+net_bind_service`),
];
