import { join } from "node:path";
import type { FilesByHand, Machine } from "../../src/install/machine.ts";
import { UNITS } from "../../src/install/paths.ts";
import { BY_HAND } from "../../src/system/layout.ts";
import { cidr, cidrs, ip } from "../fake/address.ts";

/** A Pi with one cable, as it is before the first installation. */
export const ONE_CABLE: Machine = {
  architecture: null,
  interfaces: ["eth0", "wlan0"],
  network: {
    lans: [{ interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10") }],
    uplink: "eth0",
    uplinkAddresses: [ip("192.168.7.2")],
    addresses: [ip("192.168.7.2")],
    uplinkPrefixes: [cidr("192.168.7.0/24")],
    uplinkMtu: 1500,
    ipv6: "on",
    resolvers: [],
    online: true,
    routers: [ip("192.168.7.1")],
    uplinkRouters: [ip("192.168.7.1")],
    lanRoutes: [],
    linkRoutes: [],
    meshes: [],
    routesAgainstLan: [],
    remarks: [],
  },
  wireguard: "kernel",
  systemd: true,
  withoutModules: null,
  forgetful: [],
  foreignRules: [],
  droppingChains: [],
  sshClient: "192.168.7.20",
  sysctls: [
    { path: "ipv4/conf/eth0/send_redirects", value: "1" },
    { path: "ipv6/conf/eth0/accept_ra", value: "1" },
    { path: "ipv4/ip_forward", value: "0" },
  ],
  facts: {
    addresses: [
      { interface: "lo", prefix: cidr("127.0.0.1/8"), isLeased: false },
      { interface: "eth0", prefix: cidr("192.168.7.2/24"), isLeased: false },
    ],
    routers: [ip("192.168.7.1")],
  },
  dhcp: { config: null, unit: null, started: null },
  sysctlsBefore: null,
  environment: null,
  byHand: { units: [], programs: [] },
};

/** A machine between two cables, whose DHCP program takes IPv6 routes itself, and whose kernel has no WireGuard. */
export const TWO_CABLES: Machine = {
  ...ONE_CABLE,
  interfaces: ["eth0", "eth1", "br-lan.5"],
  network: {
    ...ONE_CABLE.network,
    uplinkAddresses: [ip("192.168.8.2")],
    uplinkPrefixes: [cidr("192.168.8.0/24")],
    lans: [
      { interface: "eth1", prefixes: cidrs("192.168.7.0/24", "fe80::/10") },
      { interface: "br-lan.5", prefixes: cidrs("10.5.0.0/16", "fe80::/10") },
    ],
  },
  wireguard: "userspace",
  facts: {
    addresses: [
      { interface: "eth0", prefix: cidr("192.168.8.2/24"), isLeased: true },
      { interface: "eth1", prefix: cidr("192.168.7.120/24"), isLeased: false },
      { interface: "br-lan.5", prefix: cidr("10.5.0.1/16"), isLeased: false },
    ],
    routers: [ip("192.168.8.1")],
  },
  sysctls: [
    { path: "ipv4/conf/br-lan.5/send_redirects", value: "1" },
    { path: "ipv6/conf/eth0/accept_ra", value: "0" },
    { path: "ipv4/ip_forward", value: "1" },
  ],
  // From an earlier installation with one LAN.
  sysctlsBefore: "# noted\nnet/ipv4/ip_forward = 0\n",
  environment: "# mine\nPORTCULLIS_PORT=443\nOTHER=kept\n",
};

/** After a complete installation by hand. */
export const ALL_BY_HAND: FilesByHand = {
  units: UNITS.map((unit) => join(BY_HAND.units, unit)),
  programs: [BY_HAND.program],
};
