import { describe, expect, test } from "bun:test";
import { type Settings, settingsFrom } from "../../src/base/settings.ts";
import { hasTunnel, hostNetworkOf, type Ipv6, readNetwork } from "../../src/network/host-network.ts";
import type { Host } from "../../src/system/host.ts";
import { cidrs, ip, ips } from "../fake/address.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const DEFAULTS = settingsFrom({ interface: "wg" });
const BOTH_WAYS = ["UP", "LOWER_UP"];

interface Machine {
  /** Interface to addresses. */
  network: Record<string, { addresses?: string[]; flags?: string[]; mtu?: number; type?: string }>;
  /** What `ip -j route show` prints. */
  v4?: object[];
  v6?: object[];
  files?: Record<string, string | null>;
}

/** The output of `ip` on a machine. */
function hostOf({ network, v4 = [], v6 = [], files = {} }: Machine): Host {
  const shown = Object.entries(network).map(
    ([ifname, { addresses = [], flags = BOTH_WAYS, mtu = 1500, type = "ether" }]) => ({
      ifname,
      mtu,
      link_type: type,
      flags,
      addr_info: addresses
        .map((address) => address.split("/"))
        .map(([local, prefixlen]) => ({ local, prefixlen: Number(prefixlen) })),
    }),
  );
  const answers: Record<string, unknown> = {
    "ip -j address show": shown,
    "ip -j -4 route show": v4.map((route) => ({ dst: "default", ...route })),
    "ip -j -6 route show": v6.map((route) => ({ dst: "default", ...route })),
  };
  return {
    run: async (argv: readonly string[]) => JSON.stringify(answers[argv.join(" ")]),
    read: async (path: string) => ({ ...WITH_IPV6, ...files })[path] ?? null,
  } as unknown as Host;
}

const WITH_IPV6: Record<string, string | null> = { "/proc/sys/net/ipv6/conf/all/disable_ipv6": "0\n" };

const HOME: Machine = {
  network: {
    lo: { addresses: ["127.0.0.1/8"] },
    up0: { addresses: ["203.0.113.7/24"], mtu: 1492 },
    lan0: { addresses: ["192.168.7.1/24", "fd00:7::1/64", "fe80::1/64"] },
  },
  v4: [{ dst: "default", gateway: "203.0.113.1", dev: "up0" }],
};

test.each([
  ["no other interface", {}, false],
  ["one of another program", { tun0: { addresses: ["10.0.0.2/32"] } }, false],
  ["one of an earlier process", { wg1: { addresses: ["10.64.0.1/32"] } }, true],
])("with %s, whether there is a tunnel already is known", async (_, more, found) => {
  const reading = await readNetwork(hostOf({ ...HOME, network: { ...HOME.network, ...more } }));
  expect(hasTunnel(reading, DEFAULTS)).toBe(found);
});

describe("the uplink", () => {
  test("is the LAN as well if another interface has only a leased address", async () => {
    const info = (local: string, more = {}) => ({ local, prefixlen: 24, ...more });
    const link = { mtu: 1500, link_type: "ether", flags: BOTH_WAYS };
    const lansOf = async (more: object) => {
      const shown = [
        { ...link, ifname: "up0", addr_info: [info("192.168.1.5", { dynamic: true })] },
        { ...link, ifname: "usb0", addr_info: [info("192.168.42.9", more)] },
      ];
      const host = hostOf({ network: {}, v4: [{ dst: "default", dev: "up0" }] });
      const run = async (argv: readonly string[]) =>
        argv.includes("address") ? JSON.stringify(shown) : host.run(argv);
      return (await hostNetworkOf({ ...host, run }, DEFAULTS)).lans.map((lan) => lan.interface);
    };
    expect(await lansOf({ dynamic: true, valid_life_time: 3600 })).toEqual(["up0"]);
    expect(await lansOf({ valid_life_time: 4_294_967_295 })).toEqual(["usb0"]);
  });

  test("is the interface of the default route, with its MTU", async () => {
    expect(await hostNetworkOf(hostOf(HOME), DEFAULTS)).toEqual({
      lans: [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fd00:7::/64", "fe80::/10") }],
      uplink: "up0",
      uplinkAddresses: [ip("203.0.113.7")],
      addresses: ips("127.0.0.1", "192.168.7.1", "203.0.113.7", "fd00:7::1"),
      uplinkPrefixes: [],
      uplinkMtu: 1492,
      ipv6: "on",
      resolvers: [],
      online: true,
      routers: [ip("203.0.113.1")],
      uplinkRouters: [ip("203.0.113.1")],
      lanRoutes: [],
      linkRoutes: [],
      meshes: [],
      routesAgainstLan: [],
      remarks: [],
    });
  });

  test("knows the routers of all default routes, and not a tunnel's", async () => {
    const v4 = [
      { dev: "up0", gateway: "203.0.113.1" },
      { nexthops: [{ dev: "up0", gateway: "203.0.113.2" }, { dev: "lan0" }] },
      { dev: "wg0", gateway: "10.64.0.1" },
      { dst: "10.9.0.0/16", dev: "lan0", gateway: "192.168.7.9" },
    ];
    const host = hostOf({ ...HOME, v4, v6: [{ dev: "up0", gateway: "fe80::1" }] });
    expect((await hostNetworkOf(host, DEFAULTS)).routers).toEqual(
      ips("203.0.113.1", "203.0.113.2", "fe80::1"),
    );
  });

  test.each([
    [
      "of the lowest metric",
      [
        { dev: "wlan0", metric: 600 },
        { dev: "up0", metric: 100 },
      ],
      [],
      "up0",
    ],
    ["of IPv4 before IPv6", [{ dev: "up0", metric: 600 }], [{ dev: "wlan0", metric: 1 }], "up0"],
    ["of IPv6 if IPv4 has none", [], [{ dev: "wlan0", metric: 1024 }], "wlan0"],
    [
      "whose name a ruleset can hold",
      [{ dev: "up*" }, { dev: 'a"b', metric: 1 }, { dev: "up0", metric: 7 }],
      [],
      "up0",
    ],
    ["that is not a tunnel of ours", [{ dev: "wg0" }, { dev: "up0", metric: 7 }], [{ dev: "wg1" }], "up0"],
    [
      "that has a carrier",
      [
        { dev: "up0", flags: ["linkdown"] },
        { dev: "wlan0", metric: 600 },
      ],
      [],
      "wlan0",
    ],
    ["that is not dead", [{ dev: "up0", flags: ["dead", "linkdown"] }, { dev: "wlan0" }], [], "wlan0"],
    [
      "of the first router of several",
      [
        { dev: "wlan0", metric: 600 },
        { metric: 100, nexthops: [{ dev: "up0", flags: [] }, { dev: "wlan0" }] },
      ],
      [],
      "up0",
    ],
    [
      "of the first of several routers that has a carrier",
      [{ nexthops: [{ dev: "up0", flags: ["linkdown"] }, { dev: "wlan0" }] }],
      [],
      "wlan0",
    ],
    [
      "that leads to an interface at all",
      [{ dst: "default", type: "unreachable" }, { dev: "up0" }],
      [],
      "up0",
    ],
  ])("is that of the default route %s", async (_, v4, v6, uplink) => {
    const network = { ...HOME.network, wlan0: {} };
    expect(await hostNetworkOf(hostOf({ network, v4, v6 }), DEFAULTS)).toMatchObject({
      uplink,
      online: true,
    });
  });

  test("is that of a default route without a carrier, if there is no other", async () => {
    const found = await hostNetworkOf(
      hostOf({ ...HOME, v4: [{ dev: "up0", flags: ["linkdown"] }] }),
      DEFAULTS,
    );
    expect(found).toMatchObject({ uplink: "up0", online: false });
  });

  test("is the one that the operator names, whatever the routes say", async () => {
    const settings = settingsFrom({ interface: "wg", uplink: "wlan0" });
    const network = { ...HOME.network, wlan0: { mtu: 1400 } };
    const found = await hostNetworkOf(hostOf({ ...HOME, network }), settings);
    expect(found).toMatchObject({ uplink: "wlan0", uplinkMtu: 1400, online: false });
  });

  test("is null without a default route, with the MTU of Ethernet", async () => {
    const found = await hostNetworkOf(hostOf({ network: HOME.network }), DEFAULTS);
    expect(found).toMatchObject({ uplink: null, uplinkMtu: 1500, online: false });
  });
});

describe("the gateway is online", () => {
  const named = settingsFrom({ interface: "wg", uplink: "up0" });
  const route = { dst: "default", dev: "up0" };
  const server = { dst: "203.0.113.11", gateway: "192.168.1.1", dev: "up0" };

  test.each([
    ["with a carrier and a default route", true, ["UP", "LOWER_UP"], [route], []],
    ["with only an IPv6 default route", true, ["UP", "LOWER_UP"], [], [route]],
    ["with one of several routers", true, ["UP"], [{ nexthops: [{ dev: "lan0" }, { dev: "up0" }] }], []],
    ["not with only dead routers", false, ["UP"], [{ nexthops: [{ dev: "up0", flags: ["dead"] }] }], []],
    ["with a route through a router to a server alone", true, ["UP"], [server], []],
    ["not with a route to a network of its own link", false, ["UP"], [{ ...server, gateway: undefined }], []],
    ["not with a route to a private network", false, ["UP"], [{ ...server, dst: "10.8.0.0/16" }], []],
    ["not without a carrier", false, ["UP", "NO-CARRIER"], [route], []],
    ["not if the interface is down", false, [], [route], []],
    ["not without a default route", false, ["UP", "LOWER_UP"], [], []],
    ["not with a dead route", false, ["UP", "LOWER_UP"], [{ ...route, flags: ["dead"] }], []],
    ["not with a route whose link is down", false, ["UP"], [{ ...route, flags: ["linkdown"] }], []],
    ["not with another interface's route", false, ["UP", "LOWER_UP"], [{ dev: "lan0" }], []],
  ])("%s", async (_, online, flags, v4, v6) => {
    const network = { ...HOME.network, up0: { flags } };
    expect((await hostNetworkOf(hostOf({ network, v4, v6 }), named)).online).toBe(online);
  });

  test("not if the uplink's interface is gone", async () => {
    const { up0: _, ...network } = HOME.network;
    expect(await hostNetworkOf(hostOf({ network, v4: [] }), named)).toMatchObject({
      uplink: "up0",
      online: false,
    });
  });
});

describe("the LAN", () => {
  const lansOf = async (network: Machine["network"], lan = "") =>
    (await hostNetworkOf(hostOf({ network }), settingsFrom({ interface: "wg", lan }))).lans;

  test("is the private prefixes, and never a public one", async () => {
    expect(
      await lansOf({ eth0: { addresses: ["10.1.2.3/8", "198.51.100.1/24", "2001:db8::1/64"] } }),
    ).toEqual([{ interface: "eth0", prefixes: cidrs("10.0.0.0/8", "fe80::/10") }]);
    expect(await lansOf({ eth0: { addresses: ["198.51.100.1/24", "fe80::1/64"] } })).toEqual([]);
  });

  test("is each prefix once, sorted, so that a new order of addresses is not a change", async () => {
    const addresses = ["192.168.7.1/24", "10.0.0.1/24", "192.168.7.2/24"];
    const expected = [{ interface: "eth0", prefixes: cidrs("10.0.0.0/24", "192.168.7.0/24", "fe80::/10") }];
    expect(await lansOf({ eth0: { addresses } })).toEqual(expected);
    expect(await lansOf({ eth0: { addresses: addresses.toReversed() } })).toEqual(expected);
  });

  test("is not loopback and not a tunnel of ours, though its address is private", async () => {
    const mine = { addresses: ["10.64.0.2/32"] };
    const eth0 = { addresses: ["192.168.7.1/24"] };
    const lans = await lansOf({ lo: mine, wg0: mine, wg1: mine, eth0 });
    expect(lans.map((lan) => lan.interface)).toEqual(["eth0"]);
  });

  test("is not an interface whose name means something else in a ruleset", async () => {
    const home = { addresses: ["192.168.7.1/24"] };
    const lans = await lansOf({ "e*": home, 'a"b': home, $x: home, eth0: home });
    expect(lans.map((lan) => lan.interface)).toEqual(["eth0"]);
  });

  test("is not the network of another tunnel, unless the operator names it", async () => {
    const network = { ...HOME.network, wg77: { addresses: ["10.6.0.1/24"], type: "none" } };
    const lansOf = async (settings: Settings) =>
      (await hostNetworkOf(hostOf({ ...HOME, network }), settings)).lans.map((lan) => lan.interface);
    expect(await lansOf(DEFAULTS)).toEqual(["lan0"]);
    expect(await lansOf({ ...DEFAULTS, lan: ["lan0", "wg77"] })).toEqual(["lan0", "wg77"]);
  });

  test("is on the interfaces that the operator names, and on no other", async () => {
    const network = { eth0: { addresses: ["192.168.7.1/24"] }, eth1: { addresses: ["192.168.8.1/24"] } };
    expect((await lansOf(network, "eth1, eth2")).map((lan) => lan.interface)).toEqual(["eth1"]);
  });

  test("includes the uplink if there is one cable for both", async () => {
    const found = await hostNetworkOf(
      hostOf({ network: { eth0: { addresses: ["192.168.7.1/24"] } }, v4: [{ dev: "eth0" }] }),
      DEFAULTS,
    );
    expect(found).toMatchObject({ uplink: "eth0", online: true });
    expect(found.lans).toEqual([{ interface: "eth0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }]);
  });
});

test.each<[string | null, Ipv6]>([
  ["1\n", "off"],
  ["0\n", "on"],
  [null, "missing"],
])("IPv6 follows the sysctl: disable_ipv6 %j", async (text, ipv6) => {
  const files = { "/proc/sys/net/ipv6/conf/all/disable_ipv6": text };
  expect((await hostNetworkOf(hostOf({ ...HOME, files }), DEFAULTS)).ipv6).toBe(ipv6);
});

needsNamespaces.test(
  "a real kernel's uplink is online with its carrier and its route, and only then",
  () =>
    inNamespace(async (host) => {
      const named = settingsFrom({ interface: "wg", uplink: "up0" });
      const ip = (words: string) => host.run(["ip", ...words.split(" ")]);
      /** The kernel reports a carrier with a delay. */
      const becomes = async (online: boolean) => {
        for (let tries = 0; tries < 1_200 && (await hostNetworkOf(host, named)).online !== online; tries++)
          await Bun.sleep(25);
        expect(await hostNetworkOf(host, named)).toMatchObject({ uplink: "up0", online });
      };
      await becomes(false);
      await ip("link add up0 type veth peer name up1");
      await ip("address add 192.168.9.2/24 dev up0");
      await ip("link set up0 up");
      await ip("link set up1 up");
      await becomes(false);
      await ip("route add default via 192.168.9.1");
      await becomes(true);
      const found = await hostNetworkOf(host, DEFAULTS);
      expect(found.uplink).toBe("up0");
      expect(found.lans).toEqual([{ interface: "up0", prefixes: cidrs("192.168.9.0/24", "fe80::/10") }]);
      await ip("link set up1 down");
      await becomes(false);
      await ip("link set up1 up");
      await becomes(true);
      await ip("route replace default nexthop via 192.168.9.1 dev up0 nexthop via 192.168.9.3 dev up0");
      await becomes(true);
      await ip("route del default");
      await becomes(false);
    }),
  60_000,
);
