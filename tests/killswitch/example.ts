import { blocked, type FirewallTunnel, type Policy } from "../../src/killswitch/policy.ts";

const FIRST: FirewallTunnel = {
  interface: "wg0",
  zone: 1,
  endpoint: { address: "192.0.2.1", port: 51820 },
  addresses: ["10.64.0.2", "fd00:64::2"],
  resolvers: ["10.64.0.1", "fd00:64::1"],
};

const SECOND: FirewallTunnel = {
  interface: "wg1",
  zone: 2,
  endpoint: { address: "2001:db8::1", port: 443 },
  addresses: ["10.65.0.2"],
  resolvers: ["10.65.0.1"],
};

const BLOCKED: Policy = blocked({
  lans: [
    { interface: "lan0", prefixes: ["192.168.7.0/24", "fd00:7::/64", "fe80::/10"] },
    { interface: "br-lan.5", prefixes: ["10.5.0.0/16", "fe80::/10"] },
  ],
  uplink: "up0",
  uplinkPrefixes: ["192.168.8.0/24", "fd00:8::/64"],
});

/** A policy for each situation the gateway can be in. */
export const POLICIES = {
  blocked: BLOCKED,
  connecting: { ...BLOCKED, endpoints: [FIRST] },
  connected: { ...BLOCKED, endpoints: [FIRST], carrying: [FIRST] },
  switching: { ...BLOCKED, endpoints: [FIRST, SECOND], carrying: [FIRST, SECOND] },
  /** One cable: the LAN and the way to the internet are the same interface. */
  "one-armed-connected": {
    ...BLOCKED,
    lans: [{ interface: "eth0", prefixes: ["192.168.7.0/24", "fe80::/10"] }],
    uplink: "eth0",
    uplinkPrefixes: ["192.168.7.0/24"],
    endpoints: [FIRST],
    carrying: [FIRST],
  },
  lookup: { ...BLOCKED, lookup: { resolvers: ["192.168.7.254", "2001:db8::53"], sourcePort: 20053 } },
  exemption: {
    ...BLOCKED,
    exemption: { addresses: ["192.0.2.80", "2001:db8::80"], port: 443, sourcePort: 20443 },
  },
  /** A machine with no network at all. */
  bare: { ...BLOCKED, lans: [], uplink: null, uplinkPrefixes: [] },
} satisfies Record<string, Policy>;
