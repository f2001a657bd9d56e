import { parseMac } from "../../src/base/mac.ts";
import type { ForwardPart } from "../../src/killswitch/forwarded.ts";
import {
  type AssignedDevice,
  blocked,
  type DefaultExit,
  type Destination,
  type Exemption,
  type Exit,
  type FirewallTunnel,
  type Lookup,
  mergedPolicy,
  type Policy,
  type PolicyPart,
} from "../../src/killswitch/policy.ts";
import type { RemotePart } from "../../src/killswitch/remote-part.ts";
import { withMeshes } from "../../src/network/entrances.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import type { LanRoute } from "../../src/network/lan-routes.ts";
import { cidr, cidrs, ip, ips } from "../fake/address.ts";

export const FIRST: FirewallTunnel = {
  tunnel: "main",
  interface: "wg0",
  mark: 0x104c,
  zone: 1,
  endpoint: { address: ip("192.0.2.1"), port: 51820 },
  addresses: ips("10.64.0.2", "fd00:64::2"),
  resolvers: ips("10.64.0.1", "fd00:64::1"),
};

export const SECOND: FirewallTunnel = {
  tunnel: "main",
  interface: "wg1",
  mark: 0x104c,
  zone: 2,
  endpoint: { address: ip("2001:db8::1"), port: 443 },
  addresses: [ip("10.65.0.2")],
  resolvers: [ip("10.65.0.1")],
};

/** Of another slot than the first two, as a tunnel for some devices is. */
export const FURTHER: FirewallTunnel = {
  tunnel: "amsterdam",
  interface: "wg2",
  mark: 0x114c,
  zone: 3,
  endpoint: { address: ip("192.0.2.3"), port: 51820 },
  addresses: ips("10.66.0.2", "fd00:66::2"),
  resolvers: ips("10.66.0.1", "fd00:66::1"),
};

/** Of the gateway of another home. */
const PARENTS_KEY = "parents";

const WITH_TWO_RESOLVERS: FirewallTunnel = {
  ...FIRST,
  resolvers: ips("10.64.0.1", "10.64.0.9", "fd00:64::1"),
};

export const LOOKUP: Lookup = { resolvers: ips("192.168.7.254", "2001:db8::53"), sourcePort: 20053 };

export const EXEMPTION: Exemption = {
  addresses: ips("192.0.2.80", "2001:db8::80"),
  port: 443,
  sourcePort: 20443,
};

export const NETWORK: HostNetwork = {
  lans: [
    { interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10") },
    { interface: "br-lan.5", prefixes: cidrs("10.5.0.0/16", "fe80::/10") },
  ],
  uplink: "up0",
  uplinkAddresses: ips("192.168.8.2", "fd00:8::2", "fd00:8::3", "fe80::2"),
  addresses: ips("192.168.7.1", "192.168.8.2"),
  uplinkPrefixes: cidrs("192.168.8.0/24", "fd00:8::/64"),
  uplinkMtu: 1500,
  ipv6: "on",
  resolvers: ips("192.168.8.1", "192.168.8.2", "192.168.7.53", "fd00:8::1", "fe80::1"),
  online: true,
  routers: [],
  uplinkRouters: ips("192.168.8.1", "fe80::1"),
  lanRoutes: [],
  linkRoutes: [],
  meshes: [],
  routesAgainstLan: [],
  remarks: [],
};

/** By a router of the LAN; one route is to a part of what another leads to. */
export const LAN_ROUTES: LanRoute[] = [
  { prefix: cidr("10.8.0.0/16"), via: ip("192.168.7.20"), interface: "lan0" },
  { prefix: cidr("10.8.7.128/25"), via: ip("192.168.7.21"), interface: "lan0" },
  { prefix: cidr("fd08::/48"), via: ip("fe80::20"), interface: "lan0" },
];

/** Over TCP. */
const RELAYED: FirewallTunnel = { ...FIRST, endpoint: { ...FIRST.endpoint, port: 443 }, relay: "tcp" };
/** In disguise. */
const DISGUISED: FirewallTunnel = { ...SECOND, relay: "udp" };

const BLOCKED: Policy = blocked(NETWORK);

/** One is more specific than another, one is for a network behind a router, and one exit is down. */
const DESTINATIONS: Destination[] = [
  {
    prefixes: cidrs("203.0.113.0/24", "198.51.100.0/24", "192.0.2.64/26", "2001:db8:5::/48"),
    devices: [],
    exit: exitTo("amsterdam"),
  },
  { prefixes: cidrs("203.0.113.64/26"), devices: [], exit: exitTo("blocked") },
  { prefixes: cidrs("203.0.113.9/32"), devices: [], exit: exitTo("berlin") },
  {
    prefixes: cidrs("203.0.113.0/24", "2001:db8:5:1::/64"),
    devices: [assigned("02:00:00:00:00:02", "main").id, assigned("02:00:00:00:00:01", "main").id],
    exit: exitTo("main"),
  },
  { prefixes: cidrs("198.51.100.0/24"), devices: [cidr("10.8.7.0/24")], exit: exitTo("blocked") },
];

/** A rule with names, and the addresses that they have. */
function named(exit: string, devices: Destination["devices"], ...addresses: string[]): Destination {
  return { prefixes: [], devices, exit: exitTo(exit), named: [{ labels: 2, addresses: ips(...addresses) }] };
}

/** What the gateway asks inside a tunnel before it carries anything. */
const SERVICE = { address: ip("10.64.0.1"), port: 1337 };

/** Networks behind another router of the LAN: one in a part of another, and one that no route leads to. */
const ROUTED: readonly [string, PolicyPart][] = [
  ["main", { endpoints: [FIRST], carrying: [FIRST] }],
  ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
  [
    "DEVICES",
    {
      devices: [assigned("02:00:00:00:00:02", "main")],
      routed: [
        { prefix: cidr("10.8.0.0/16"), exit: defaultExitTo("amsterdam") },
        { prefix: cidr("10.8.7.0/24"), exit: defaultExitTo("blocked") },
        { prefix: cidr("fd08::/64"), exit: defaultExitTo("main") },
        { prefix: cidr("10.9.0.0/16"), exit: defaultExitTo("main") },
      ],
    },
  ],
];

const GUESTS = { interface: "guest0", prefixes: cidrs("192.168.20.0/24", "fd00:20::/64", "fe80::/10") };
const THINGS = { interface: "iot0.30", prefixes: cidrs("192.168.30.0/24", "fd00:30::/64", "fe80::/10") };
const [HOME = GUESTS] = NETWORK.lans;

/** Three networks: the home's with its default exit, guests who are blocked, and things on another tunnel. */
const NETWORKS: readonly [string, PolicyPart][] = [
  ["main", { endpoints: [FIRST], carrying: [FIRST] }],
  ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
  [
    "DEVICES",
    {
      devices: [assigned("02:00:00:00:00:02", "main"), assigned("02:00:00:00:00:03", "blocked")],
      networks: [
        { interface: "lan0", exit: null, page: true, others: true },
        { interface: "guest0", exit: defaultExitTo("blocked"), page: false, others: false },
        { interface: "iot0.30", exit: defaultExitTo("amsterdam"), page: false, others: true },
        { interface: "gone0", exit: defaultExitTo("main"), page: true, others: true },
      ],
    },
  ],
];
const THREE_NETWORKS = {
  ...NETWORK,
  lans: [HOME, GUESTS, THINGS],
  addresses: ips("192.168.7.1", "192.168.8.2", "192.168.20.1", "192.168.30.1"),
};

const MESH = { interface: "mesh0", prefixes: cidrs("100.64.0.0/10", "fd7a:115c:a1e0::/48"), mesh: true };
/** A mesh that nobody has decided about, and two of its devices that have an exit of their own. */
const MESHED: readonly [string, PolicyPart][] = [
  ["main", { endpoints: [FIRST], carrying: [FIRST] }],
  ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
  [
    "DEVICES",
    {
      devices: [assigned("02:00:00:00:00:02", "main")],
      routed: [
        { prefix: cidr("100.64.0.11/32"), exit: defaultExitTo("amsterdam") },
        { prefix: cidr("fd7a:115c:a1e0::11/128"), exit: defaultExitTo("main") },
      ],
    },
  ],
];
const WITH_MESH = withMeshes({
  ...NETWORK,
  addresses: [...NETWORK.addresses, ...ips("100.64.0.1", "fd7a:115c:a1e0::1")],
  meshes: [{ ...MESH, mesh: true, addresses: ips("100.64.0.1", "fd7a:115c:a1e0::1"), closed: [] }],
});

/** A policy for each situation the gateway can be in. */
export const POLICIES = {
  blocked: BLOCKED,
  connecting: { ...BLOCKED, endpoints: [FIRST] },
  connected: { ...BLOCKED, endpoints: [FIRST], carrying: [FIRST] },
  switching: { ...BLOCKED, endpoints: [FIRST, SECOND], carrying: [FIRST, SECOND] },
  /** Keys are agreed on in a switch, and in a tunnel that carries nothing yet. */
  agreeing: {
    ...BLOCKED,
    endpoints: [FIRST, ...[SECOND, FURTHER].map((tunnel) => ({ ...tunnel, service: SERVICE }))],
    carrying: [FIRST],
  },
  "two-tunnels": { ...BLOCKED, endpoints: [FIRST, FURTHER], carrying: [FIRST, FURTHER] },
  /** One server is reached by a relay, and another one without; a device is direct. */
  "relayed-direct": {
    ...BLOCKED,
    ...{ endpoints: [RELAYED, FURTHER], carrying: [RELAYED, FURTHER] },
    devices: [assigned("02:00:00:00:00:05", "direct")],
  },
  /** A switch from one relay to another. */
  "disguised-direct": {
    ...BLOCKED,
    ...{ endpoints: [DISGUISED, RELAYED], carrying: [DISGUISED, RELAYED] },
    devices: [assigned("02:00:00:00:00:05", "direct")],
  },
  /** Devices on two tunnels, on one that is down, and on none. */
  devices: {
    ...BLOCKED,
    ...{ endpoints: [FIRST, FURTHER], carrying: [FIRST, FURTHER] },
    devices: [
      assigned("02:00:00:00:00:03", "blocked"),
      assigned("02:00:00:00:00:01", "amsterdam"),
      assigned("02:00:00:00:00:02", "main"),
      assigned("02:00:00:00:00:04", "berlin"),
    ],
  },
  /** The gateway answers the LAN's queries itself, and asks any of the resolvers of a tunnel. */
  resolver: {
    ...BLOCKED,
    ...{ endpoints: [FIRST, FURTHER], carrying: [WITH_TWO_RESOLVERS, FURTHER] },
    devices: [assigned("02:00:00:00:00:01", "amsterdam"), assigned("02:00:00:00:00:03", "blocked")],
    resolver: {
      port: 10_053,
      // One has no port yet, and nothing is decided for another.
      askers: [
        { id: assigned("02:00:00:00:00:01", "amsterdam").id, port: 10_055, routers: [] },
        { id: assigned("02:00:00:00:00:09", "main").id, port: 10_054, routers: [] },
      ],
    },
  },
  /** A direct device asks outside. */
  "resolver-direct": {
    ...BLOCKED,
    devices: [assigned("02:00:00:00:00:05", "direct")],
    resolver: { port: 10_053, askers: [] },
  },
  /** Nothing else. */
  "idle-resolver": { ...BLOCKED, resolver: { port: 10_053, askers: [] } },
  routed: mergedPolicy(new Map(ROUTED), { ...NETWORK, lanRoutes: LAN_ROUTES }),
  /** The router of one of them is not known, and one has no port. */
  "resolver-routed": mergedPolicy(
    new Map([
      ...ROUTED,
      [
        "the resolver",
        {
          resolver: {
            port: 10_053,
            askers: [
              {
                id: cidr("10.8.0.0/16"),
                port: 10_054,
                routers: ["02:00:00:00:00:20", "02:00:00:00:00:21"].map((mac) => assigned(mac, "main").id),
              },
              { id: cidr("fd08::/64"), port: 10_055, routers: [] },
            ],
          },
        },
      ],
    ]),
    { ...NETWORK, lanRoutes: LAN_ROUTES },
  ),
  /** Two direct devices, one on a tunnel. */
  direct: {
    ...BLOCKED,
    ...{ endpoints: [FIRST, FURTHER], carrying: [FIRST, FURTHER] },
    devices: [
      assigned("02:00:00:00:00:05", "direct"),
      assigned("02:00:00:00:00:01", "amsterdam"),
      assigned("02:00:00:00:00:04", "direct"),
    ],
  },
  /** No tunnel, one cable, and no IPv6 resolver. */
  "one-armed-direct": {
    ...BLOCKED,
    lans: [{ interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }],
    uplink: "eth0",
    uplinkPrefixes: [cidr("192.168.7.0/24")],
    addresses: [ip("192.168.7.1")],
    resolvers: [ip("192.168.7.254")],
    devices: [assigned("02:00:00:00:00:05", "direct")],
  },
  /** New devices wait until someone gives them an exit. */
  "default-blocked": {
    ...BLOCKED,
    ...{ endpoints: [FIRST], carrying: [FIRST] },
    devices: [assigned("02:00:00:00:00:02", "main")],
    defaultExit: { to: "blocked" },
  },
  /** One cable: the LAN and the way to the internet are the same interface. */
  "one-armed-connected": {
    ...BLOCKED,
    lans: [{ interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }],
    uplink: "eth0",
    uplinkPrefixes: [cidr("192.168.7.0/24")],
    endpoints: [FIRST],
    carrying: [FIRST],
  },
  /** Ports that lead to devices on two tunnels, one of them during a switch, and the service that opens them. */
  forwards: mergedPolicy(
    new Map<string, PolicyPart>([
      ["main", { endpoints: [FIRST, SECOND], carrying: [FIRST, SECOND] }],
      ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
      ["DEVICES", { devices: [assigned("02:00:00:00:00:01", "amsterdam")] }],
      [
        "FORWARDS",
        {
          forwards: [
            forward(FIRST, "02:00:00:00:00:02", "tcp", 6881, ["192.168.7.20", "fd00:7::20"]),
            forward(FURTHER, "02:00:00:00:00:01", "udp", 3074, ["fe80::1", "10.5.0.9"]),
          ],
          contacts: [FIRST, FURTHER].map(({ tunnel, endpoint, resolvers: [address = ip("10.64.0.1")] }) => ({
            ...{ tunnel, endpoint, address, protocol: "udp", port: 5351 },
          })),
        },
      ],
    ]),
    NETWORK,
  ),
  /** Remote devices, by the uplink: one that may not reach the LAN, one that is blocked. */
  remote: remotePolicy(null),
  /** The same with two other homes. One may reach a device, and leaves here; its exit is a tunnel back to it. */
  homes: remotePolicy(null, "main", [
    {
      name: "parents",
      key: PARENTS_KEY,
      leavesAs: cidr("10.200.7.3/32"),
      prefixes: cidrs("192.168.66.0/24", "fd00:66aa::/64"),
      reaches: ips("192.168.7.20", "fd00:7::20"),
    },
    { name: "cabin", key: "cabin", leavesAs: null, prefixes: cidrs("192.168.77.0/24"), reaches: [] },
  ]),
  /** The same with two that leave by the uplink, one of which may not reach the LAN. */
  "remote-direct": remotePolicy(null, "direct"),
  /** The same by a tunnel, on one cable. */
  "one-armed-remote": onOneCable(remotePolicy("amsterdam")),
  "one-armed-remote-direct": onOneCable(remotePolicy(null, "direct")),
  /** And a direct device of the LAN. */
  "one-armed-all-direct": {
    ...onOneCable(remotePolicy(null, "direct")),
    devices: [assigned("02:00:00:00:00:05", "direct")],
  },
  /** The home router's UPnP is searched; an address that is not the router's has no effect. */
  router: mergedPolicy(
    new Map<string, PolicyPart>([
      ["ROUTER", { routers: ips("192.168.8.1", "fe80::1", "192.168.8.9"), searchPort: 20_500 }],
    ]),
    NETWORK,
  ),
  /** Destinations for all devices, for some, and for networks behind a router, by each kind of exit. */
  destinations: mergedPolicy(
    new Map<string, PolicyPart>([
      ["main", { endpoints: [FIRST], carrying: [FIRST] }],
      ["amsterdam", { endpoints: [FURTHER], carrying: [FURTHER] }],
      [
        "DEVICES",
        {
          routed: [
            { prefix: cidr("10.8.0.0/16"), exit: defaultExitTo("amsterdam") },
            { prefix: cidr("10.8.7.0/24"), exit: defaultExitTo("main") },
          ],
        },
      ],
      ["DESTINATIONS", { destinations: DESTINATIONS }],
    ]),
    { ...NETWORK, lanRoutes: LAN_ROUTES },
  ),
  /** The same during a switch, with destinations outside the tunnel, and with remote devices. */
  "destinations-direct": {
    ...remotePolicy(null),
    ...{ endpoints: [FIRST, SECOND], carrying: [FIRST, SECOND] },
    destinations: [
      { prefixes: cidrs("203.0.113.0/24", "203.0.113.7/32"), devices: [], exit: exitTo("direct") },
      { prefixes: [cidr("203.0.113.0/24")], devices: [cidr("10.200.7.2/32")], exit: exitTo("main") },
    ],
  },
  /** Names of all devices and of some, with an exit that is down, one outside, and one that has no address yet. */
  "destinations-named-direct": {
    ...remotePolicy(null),
    ...{ endpoints: [FIRST, FURTHER], carrying: [FIRST, FURTHER] },
    destinations: [
      named("direct", [], "192.0.2.90"),
      named("amsterdam", [], "192.0.2.81", "2001:db8::81"),
      { ...named("amsterdam", [], "192.0.2.82"), prefixes: cidrs("203.0.113.0/24") },
      named("berlin", []),
      named("main", [assigned("02:00:00:00:00:01", "main").id, cidr("10.200.7.2/32")], "192.0.2.81"),
      named("blocked", []),
    ],
  },
  networks: mergedPolicy(new Map(NETWORKS), THREE_NETWORKS),
  mesh: mergedPolicy(new Map(MESHED), WITH_MESH),
  /** The gateway answers names, there are rules for destinations, and one network has never been seen before. */
  "networks-new": mergedPolicy(
    new Map<string, PolicyPart>([
      ...NETWORKS,
      [
        "the resolver",
        {
          resolver: {
            port: 10_053,
            askers: [{ id: assigned("02:00:00:00:00:09", "main").id, port: 10_054, routers: [] }],
          },
        },
      ],
      ["DESTINATIONS", { destinations: DESTINATIONS }],
      ["the home", { defaultExit: defaultExitTo("amsterdam") }],
    ]),
    { ...THREE_NETWORKS, lans: [...THREE_NETWORKS.lans, ...NETWORK.lans.slice(1)] },
  ),
  lookup: { ...BLOCKED, lookups: [LOOKUP] },
  exemption: { ...BLOCKED, exemptions: [EXEMPTION] },
  /** A machine with no network at all. */
  bare: { ...BLOCKED, lans: [], uplink: null, uplinkPrefixes: [] },
} satisfies Record<string, Policy>;

function onOneCable(policy: Policy): Policy {
  return {
    ...policy,
    lans: [{ interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }],
    uplink: "eth0",
    uplinkPrefixes: [cidr("192.168.7.0/24")],
  };
}

/** Remote devices; with `direct` two more, of which one may reach the LAN. */
function remotePolicy(
  through: string | null,
  others: "main" | "direct" = "main",
  homes?: RemotePart["homes"],
): Policy {
  const amsterdam = homes === undefined ? FURTHER : { ...FURTHER, peer: PARENTS_KEY };
  const device = (number: number, lan: boolean) => ({
    id: cidr(`10.200.7.${number}/32`),
    addresses: ips(`10.200.7.${number}`, `fd00:200::${number}`),
    lan,
  });
  return mergedPolicy(
    new Map<string, PolicyPart>([
      ["main", { endpoints: [FIRST], carrying: [FIRST] }],
      ["amsterdam", { endpoints: [amsterdam], carrying: [amsterdam] }],
      [
        "DEVICES",
        {
          routed: [
            { prefix: cidr("10.200.7.3/32"), exit: defaultExitTo("amsterdam") },
            { prefix: cidr("10.200.7.4/32"), exit: defaultExitTo("blocked") },
            { prefix: cidr("10.200.7.5/32"), exit: exitTo(others) },
            { prefix: cidr("10.200.7.6/32"), exit: exitTo(others) },
          ],
        },
      ],
      [
        "REMOTE",
        {
          remote: {
            interface: "wgr",
            port: 51_820,
            through,
            addresses: ips("10.200.7.1", "fd00:200::1"),
            networks: cidrs("10.200.7.0/24", "fd00:200::/64"),
            devices: [
              device(2, true),
              device(3, false),
              device(4, true),
              ...(others === "main" ? [] : [device(5, true), device(6, false)]),
            ],
            ...(homes && { homes }),
          },
        },
      ],
    ]),
    NETWORK,
  );
}

export function exitTo(name: string): Exit {
  return name === "direct" ? { to: "direct" } : defaultExitTo(name);
}

export function defaultExitTo(name: string): DefaultExit {
  return name === "blocked" ? { to: "blocked" } : { to: "tunnel", name };
}

/** A port that the server of the tunnel has opened, for a device with these addresses. */
export function forward(
  { tunnel, endpoint }: FirewallTunnel,
  device: string,
  protocol: "tcp" | "udp",
  port: number,
  addresses: readonly string[],
): ForwardPart {
  const id = parseMac(device) ?? fail(device);
  return {
    device: id,
    tunnel,
    endpoint,
    protocol,
    inside: port + 40_000,
    addresses: ips(...addresses),
    port,
  };
}

export function assigned(mac: string, exit: string): AssignedDevice {
  return {
    id: parseMac(mac) ?? fail(mac),
    exit: exitTo(exit),
  };
}

function fail(mac: string): never {
  throw new Error(`not a MAC address: ${mac}`);
}
