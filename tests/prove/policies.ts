import fc from "fast-check";
import type { Exit, FirewallTunnel, PolicyPart } from "../../src/killswitch/policy.ts";
import { mergedPolicy, type Policy } from "../../src/killswitch/policy.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { cidrs, ips } from "../fake/address.ts";
import {
  assigned,
  defaultExitTo,
  EXEMPTION,
  exitTo,
  FIRST,
  FURTHER,
  forward,
  LAN_ROUTES,
  LOOKUP,
  NETWORK,
  SECOND,
} from "../killswitch/example.ts";

// Policies that a gateway can have: each is made from the parts of its owners, as the gateway makes it.

const MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:05"] as const;
const BEHIND = cidrs("10.8.0.0/16", "10.8.7.0/24", "fd08::/64");
const REMOTE_NUMBERS = [2, 3, 4] as const;

const exits = fc.constantFrom("main", "amsterdam", "berlin", "blocked", "direct");
const insideExits = fc.constantFrom("main", "amsterdam", "berlin", "blocked");

export const policies: fc.Arbitrary<Policy> = fc
  .record({
    network: networks(),
    main: tunnel([FIRST], [FIRST, SECOND]),
    amsterdam: tunnel([FURTHER]),
    DEVICES: devices(),
    DESTINATIONS: destinations(),
    FORWARDS: forwards(),
    REMOTE: remote(),
    RESOLVER: resolver(),
    ROUTER: maybe({ routers: ips("192.168.8.1", "fe80::1"), searchPort: 20_500 }),
    LOOKUP: maybe({ lookup: LOOKUP }),
    EXEMPTION: maybe({ exemption: EXEMPTION }),
  })
  .map(({ network, ...parts }) => mergedPolicy(new Map(Object.entries<PolicyPart>(parts)), network));

/** Two cards or one, each family on the LAN or not, with a router behind or none. */
function networks(): fc.Arbitrary<HostNetwork> {
  const one = { interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10") };
  const two = fc.record({
    lans: fc.subarray([...NETWORK.lans], { minLength: 1 }),
    uplink: fc.constantFrom("up0", "up0", "up0", null),
  });
  const same = fc.constant({
    ...{ lans: [one], uplink: "eth0", uplinkAddresses: ips("192.168.7.1", "fd00:7::1", "fe80::2") },
    ...{ uplinkPrefixes: cidrs("192.168.7.0/24", "fd00:7::/64"), addresses: ips("192.168.7.1", "fd00:7::1") },
  });
  return fc
    .record({
      cards: fc.oneof(two, same),
      hasIpv6: fc.boolean(),
      online: fc.constantFrom(true, true, false),
      lanRoutes: fc.constantFrom([], LAN_ROUTES),
    })
    .map(({ cards, hasIpv6, online, lanRoutes }) => {
      const lans = cards.lans.map(({ interface: link, prefixes }) => ({
        interface: link,
        prefixes: prefixes.filter((each) => hasIpv6 || !each.includes(":")),
      }));
      const hasRouter = lans.some(({ interface: link }) => link === "lan0");
      return { ...NETWORK, ...cards, lans, online, lanRoutes: hasRouter && hasIpv6 ? lanRoutes : [] };
    });
}

/** Down, connecting, up, or between two servers; reached by a relay or without; with one family inside or both. */
function tunnel(...sets: readonly FirewallTunnel[][]): fc.Arbitrary<PolicyPart> {
  return fc
    .record({
      all: fc.constantFrom([], ...sets),
      carries: fc.constantFrom(true, true, false),
      relay: fc.constantFrom(undefined, undefined, "tcp" as const, "udp" as const),
      isIpv4Only: fc.boolean(),
    })
    .map(({ all, carries, relay, isIpv4Only }) => {
      const inside = <T extends string>(each: T) => !isIpv4Only || !each.includes(":");
      const endpoints = all.map((each) => ({
        ...each,
        ...(relay && { relay }),
        addresses: each.addresses.filter(inside),
        resolvers: each.resolvers.filter(inside),
      }));
      return { endpoints, carrying: carries ? endpoints : [] };
    });
}

function devices(): fc.Arbitrary<PolicyPart> {
  return fc
    .record({
      own: fc.uniqueArray(fc.tuple(fc.constantFrom(...MACS), exits), { selector: ([mac]) => mac }),
      behind: fc.uniqueArray(fc.tuple(fc.constantFrom(...BEHIND), insideExits), {
        selector: ([prefix]) => prefix,
      }),
      remote: fc.uniqueArray(fc.tuple(fc.constantFrom(...REMOTE_NUMBERS), exits), {
        selector: ([number]) => number,
      }),
      others: fc.constantFrom("main", "main", "blocked", "amsterdam"),
    })
    .map(({ own, behind, remote: outside, others }) => ({
      devices: own.map(([mac, exit]) => assigned(mac, exit)),
      routed: [
        ...behind.map(([prefix, exit]) => ({ prefix, exit: defaultExitTo(exit) })),
        ...outside.flatMap(([number, exit]) =>
          cidrs(`10.200.7.${number}/32`).map((prefix) => ({ prefix, exit: exitTo(exit) })),
        ),
      ],
      defaultExit: defaultExitTo(others),
    }));
}

function destinations(): fc.Arbitrary<PolicyPart> {
  const places = cidrs("203.0.113.0/24", "203.0.113.7/32", "198.51.100.0/24", "2001:db8:5::/48");
  const whose = [...MACS.map((mac) => assigned(mac, "main").id), ...cidrs("10.8.0.0/16", "10.200.7.2/32")];
  const rule = fc.record({
    prefixes: fc.subarray(places),
    devices: fc.subarray(whose, { maxLength: 2 }),
    exit: exits.map((name): Exit => exitTo(name)),
    names: fc.option(fc.subarray(ips("192.0.2.81", "192.0.2.82", "2001:db8::81")), { nil: undefined }),
    labels: fc.constantFrom(2, 3),
  });
  return fc.array(rule, { maxLength: 3 }).map((rules) => ({
    destinations: rules
      .filter(({ prefixes, names }) => prefixes.length > 0 || names !== undefined)
      .map(({ names, labels, ...rest }) => ({
        ...rest,
        ...(names && { named: [{ labels, addresses: names }] }),
      })),
  }));
}

function forwards(): fc.Arbitrary<PolicyPart> {
  const all = [
    forward(FIRST, MACS[1], "tcp", 6881, ["192.168.7.20", "fd00:7::20"]),
    forward(FURTHER, MACS[0], "udp", 3074, ["192.168.7.21", "10.5.0.9"]),
  ];
  const contacts = [FIRST, FURTHER].map(({ tunnel: name, endpoint }) => ({
    ...{ tunnel: name, endpoint, address: ips("10.64.0.1")[0] ?? never(), port: 5351 },
    protocol: "udp" as const,
  }));
  return fc.record({ forwards: fc.subarray(all), contacts: fc.subarray(contacts) });
}

function remote(): fc.Arbitrary<PolicyPart> {
  const part = fc
    .record({
      through: fc.constantFrom(null, null, "main", "amsterdam"),
      numbers: fc.subarray([...REMOTE_NUMBERS]),
      reachesLan: fc.boolean(),
    })
    .map(({ through, numbers, reachesLan }) => ({
      ...{ interface: "wgr", port: 51_820, through },
      addresses: ips("10.200.7.1", "fd00:200::1"),
      networks: cidrs("10.200.7.0/24", "fd00:200::/64"),
      devices: numbers.map((number, at) => ({
        id: cidrs(`10.200.7.${number}/32`)[0] ?? never(),
        addresses: ips(`10.200.7.${number}`, `fd00:200::${number}`),
        lan: at === 0 && reachesLan,
      })),
    }));
  return fc.option(part, { nil: undefined }).map((given) => (given === undefined ? {} : { remote: given }));
}

function resolver(): fc.Arbitrary<PolicyPart> {
  const askers = MACS.map((mac, at) => ({ id: assigned(mac, "main").id, port: 10_054 + at, routers: [] }));
  return fc
    .option(fc.record({ port: fc.constant(10_053), askers: fc.subarray(askers) }), { nil: undefined })
    .map((own) => (own === undefined ? {} : { resolver: own }));
}

function maybe(part: PolicyPart): fc.Arbitrary<PolicyPart> {
  return fc.constantFrom({}, {}, part);
}

function never(): never {
  throw new Error("an address was given");
}
