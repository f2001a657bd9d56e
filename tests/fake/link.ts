import type { FakePeer } from "./peer.ts";

/** A network interface; `device` is what WireGuard was told, if it is one of WireGuard's. */
export interface FakeLink {
  up: boolean;
  carrier: boolean;
  mtu: number;
  addresses: string[];
  /** Whether its addresses come from another machine. */
  isLeased?: boolean;
  /** Whether a program serves it, and not the kernel. */
  userspace: boolean;
  device: FakeDevice | null;
}

export interface FakeDevice {
  privateKey: string;
  fwmark: number;
  peer: FakePeer | null;
  /** More peers, where the gateway asks several servers at once. */
  others: FakePeer[];
}

export function newLink(link: Partial<FakeLink>): FakeLink {
  return { up: false, carrier: true, mtu: 1500, addresses: [], userspace: false, device: null, ...link };
}

/** `ip -j address show`, of one interface. */
export function addressJson([ifname, link]: [string, FakeLink]): unknown {
  const { up, carrier, mtu, addresses, isLeased, device } = link;
  const info = addresses.map((address) => address.split("/"));
  return {
    ifname,
    mtu,
    link_type: ifname === "lo" ? "loopback" : device === null ? "ether" : "none",
    flags: up ? ["UP", carrier ? "LOWER_UP" : "NO-CARRIER"] : [],
    addr_info: info.map(([local, prefixlen]) => ({
      ...{ local, prefixlen: Number(prefixlen) },
      ...(isLeased ? { dynamic: true } : {}),
    })),
  };
}
