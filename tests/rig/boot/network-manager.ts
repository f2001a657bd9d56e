import type { Card, Release, Variant } from "./variant.ts";

/** A program that configures the network, and what the test needs of it. */
export interface NetworkManager {
  packages(release: Release): readonly string[];
  /** The first one configures the network. */
  units: readonly [string, ...string[]];
  /** Those of them that Debian does not enable by itself. */
  enable: readonly string[];
  files(cards: readonly Card[]): Record<string, string>;
  mode: number;
  /** The target of `/etc/resolv.conf`, where it is a link. */
  resolvConf: string | null;
  /** The shell commands that take a card's connection down and bring it up. */
  down(card: string): string;
  up(card: string): string;
  /** A shell command that prints `unmanaged` for an interface that is left alone. */
  stateOf(link: string): string;
}

export const NETWORK_MANAGERS: Record<Variant["network"], NetworkManager> = {
  ifupdown: {
    // The DHCP clients that the two releases install beside it.
    packages: (release) => ["ifupdown", release === "bookworm" ? "isc-dhcp-client" : "dhcpcd-base"],
    units: ["networking"],
    enable: [],
    files: (cards) => ({
      "/etc/network/interfaces": `auto lo\niface lo inet loopback\n${cards.map(interfacesText).join("")}`,
      "/etc/resolv.conf": cards
        .flatMap(({ router4 }) => router4 ?? [])
        .map((each) => `nameserver ${each}\n`)
        .join(""),
    }),
    mode: 0o644,
    resolvConf: null,
    down: (card) => `ifdown ${card}`,
    up: (card) => `ifup ${card}`,
    stateOf: (link) => `ifquery --state ${link} || echo unmanaged`,
  },
  networkmanager: {
    packages: () => ["network-manager"],
    units: ["NetworkManager"],
    enable: [],
    files: (cards) =>
      Object.fromEntries(
        cards.map((card) => [
          `/etc/NetworkManager/system-connections/${card.name}.nmconnection`,
          keyfileText(card),
        ]),
      ),
    // It ignores files that others can read.
    mode: 0o600,
    resolvConf: null,
    // Otherwise `down` gives up after ten seconds, which are few on an emulated machine.
    down: (card) => `nmcli --wait 1800 connection down ${card}`,
    up: (card) => `nmcli --wait 1800 connection up ${card}`,
    stateOf: (link) => `nmcli -g GENERAL.STATE device show ${link}`,
  },
  networkd: {
    packages: () => ["systemd-resolved"],
    units: ["systemd-networkd", "systemd-resolved"],
    enable: ["systemd-networkd", "systemd-resolved"],
    files: (cards) =>
      Object.fromEntries(
        cards.map((card) => [`/etc/systemd/network/${card.name}.network`, networkText(card)]),
      ),
    mode: 0o644,
    resolvConf: "../run/systemd/resolve/stub-resolv.conf",
    down: (card) => `networkctl down ${card}`,
    up: (card) => `networkctl up ${card}`,
    stateOf: (link) => `networkctl list --no-legend ${link}`,
  },
};

function interfacesText({ name, v4, router4, v6, router6 }: Card): string {
  return `auto ${name}
iface ${name} inet ${v4 === null ? "dhcp" : `static\n  address ${v4}${router4 === null ? "" : `\n  gateway ${router4}`}`}
iface ${name} inet6 static
  address ${v6}
${router6 === null ? "" : `  gateway ${router6}\n`}  dad-attempts 0
`;
}

function keyfileText({ name, v4, router4, v6, router6 }: Card): string {
  return `[connection]
id=${name}
type=ethernet
interface-name=${name}
[ipv4]
${v4 === null ? "method=auto" : `method=manual\naddress1=${v4}${router4 === null ? "" : `,${router4}\ndns=${router4}`}`}
[ipv6]
method=manual
address1=${v6}${router6 === null ? "" : `,${router6}`}
`;
}

function networkText({ name, v4, router4, v6, router6 }: Card): string {
  return `[Match]
Name=${name}
[Network]
${v4 === null ? "DHCP=ipv4" : `Address=${v4}`}
${router4 === null ? "" : `Gateway=${router4}\nDNS=${router4}\n`}Address=${v6}
${router6 === null ? "" : `Gateway=${router6}\n`}`;
}
