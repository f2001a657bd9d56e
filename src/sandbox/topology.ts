/**
 * The addresses of the sandbox. Public ones come from the ranges reserved for documentation (RFC 5737, RFC 3849),
 * private ones from RFC 1918 and RFC 4193, so none of them is used on the real internet.
 */

/** With one network card, LAN and uplink are the same interface. With two, each has its own. */
export type NetworkCards = 1 | 2;

export const LAN = {
  prefix4: "192.168.77.0/24",
  prefix6: "fd77::/64",
  client4: "192.168.77.10",
  client6: "fd77::10",
  gateway4: "192.168.77.1",
  gateway6: "fd77::1",
} as const;

/** A computer at home. */
export interface Computer {
  readonly namespace: string;
  /** The name that it sends to the home's DHCP server. */
  readonly name: string;
  readonly mac: string;
  readonly v4: string;
  readonly v6: string;
}

/** The computers of a sandbox: one for a test, three for people. The client is always the first. */
export function computersOf(id: string, count: 1 | 3): readonly Computer[] {
  const { client } = namespacesOf(id);
  const computers = [
    { namespace: client, name: "Laptop", mac: "02:00:00:00:00:10", v4: LAN.client4, v6: LAN.client6 },
    { namespace: `${id}-tv`, name: "TV", mac: "02:00:00:00:00:20", v4: "192.168.77.20", v6: "fd77::20" },
    {
      namespace: `${id}-camera`,
      name: "Camera",
      mac: "02:00:00:00:00:30",
      v4: "192.168.77.30",
      v6: "fd77::30",
    },
  ];
  return computers.slice(0, count);
}

/** The cable between a gateway with two network cards and the home router. */
export const UPLINK = {
  prefix4: "192.168.88.0/24",
  prefix6: "fd88::/64",
  gateway4: "192.168.88.2",
  gateway6: "fd88::2",
} as const;

/** The home router: where the gateway sees it, and where the internet sees it. */
export const ROUTER = {
  lan: { 1: { v4: "192.168.77.254", v6: "fd77::fe" }, 2: { v4: "192.168.88.1", v6: "fd88::1" } },
  public4: "203.0.113.2",
  public6: "2001:db8:113::2",
} as const;

export const INTERNET = {
  host4: "203.0.113.80",
  host6: "2001:db8:113::80",
  dns4: "203.0.113.53",
  dns6: "2001:db8:113::53",
} as const;

export const VPN = {
  vpn1: { v4: "203.0.113.11", v6: "2001:db8:113::11" },
  vpn2: { v4: "203.0.113.12", v6: "2001:db8:113::12" },
} as const;

/** A phone on the internet, far from home. */
export const PHONE = { v4: "203.0.113.100", v6: "2001:db8:113::100" } as const;

/** Where it reaches home: the home router forwards this port to the gateway. */
export const HOME = { name: "home.test", port: 51820 } as const;

/** Inside each tunnel; the same at both servers, as at all servers of a provider. */
export const TUNNEL = {
  prefix4: "10.64.0.0/24",
  prefix6: "fd64::/64",
  server4: "10.64.0.1",
  server6: "fd64::1",
} as const;

/**
 * The resolver inside the tunnel of customers who bring their own configuration. Only that server answers at its own
 * address. Both have the first server's resolver for the managed account.
 */
export const RESOLVERS = {
  vpn1: { v4: TUNNEL.server4, v6: TUNNEL.server6 },
  vpn2: { v4: "10.64.0.53", v6: "fd64::53" },
} as const;

/** The port of WireGuard's own examples. */
export const VPN_PORT = 51820;

/** One port for each server, as Mullvad has them: the others forward packets at this port to it. */
export const MULTIHOP_PORTS = { vpn1: 3001, vpn2: 3002 } as const;

export const HOST_NAMES: Readonly<Record<string, { v4: string; v6: string }>> = {
  "internet.test": { v4: INTERNET.host4, v6: INTERNET.host6 },
  [HOME.name]: { v4: ROUTER.public4, v6: "" },
  "vpn1.test": VPN.vpn1,
  "vpn2.test": VPN.vpn2,
};

export interface Namespaces {
  readonly client: string;
  readonly gateway: string;
  readonly router: string;
  readonly vpn1: string;
  readonly vpn2: string;
  readonly internet: string;
  /**
   * The Ethernet switch between gateway and router; with one network card the client is connected to it too. With two
   * cards, several computers have another switch here.
   */
  readonly switch: string;
}

export function namespacesOf(id: string): Namespaces {
  const name = (role: string) => `${id}-${role}`;
  return {
    client: name("client"),
    gateway: name("gateway"),
    router: name("router"),
    vpn1: name("vpn1"),
    vpn2: name("vpn2"),
    internet: name("internet"),
    switch: name("switch"),
  };
}
