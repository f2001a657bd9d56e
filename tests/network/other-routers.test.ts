import { afterEach, beforeEach, expect, test } from "bun:test";
import { alertText } from "../../src/base/alert-rows.ts";
import type { HostNetwork } from "../../src/network/host-network.ts";
import { OtherRouters } from "../../src/network/other-routers.ts";
import { cidrs, ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { OWN_MAC } from "../fake/listening.ts";
import { slow } from "../fast.ts";
import { advertisementPacket } from "./advertisement.ts";
import { offerPacket, requestPacket } from "./offer.ts";

const [READ_MS, ASK_MS, MINUTE_MS] = [5_000, 300_000, 60_000];
const MAC = "02:00:00:00:00:99";
const [HOME_ROUTER, OTHER] = ["192.168.7.254", "192.168.7.253"];

/** The LAN has an interface of its own. */
const TWO_CABLES: HostNetwork = {
  lans: [{ interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") }],
  uplink: "up0",
  uplinkAddresses: [ip("192.168.8.2")],
  addresses: [ip("192.168.7.1"), ip("192.168.8.2"), ip("fd00:7::1")],
  uplinkPrefixes: [],
  routers: [],
  uplinkRouters: [],
  lanRoutes: [],
  linkRoutes: [],
  meshes: [],
  routesAgainstLan: [],
  uplinkMtu: 1500,
  ipv6: "on",
  resolvers: [],
  online: true,
  remarks: [],
};
const ONE_CABLE: HostNetwork = { ...TWO_CABLES, uplink: "lan0" };

let host: FakeHost;
let others: OtherRouters;
let alerts: string[];
let logged: string[];
/** Who answers a DISCOVER on which link, and with what. */
let servers: { link: string; server: string; options: Record<number, string>; mac?: string }[];
let stopping: AbortController;

beforeEach(() => {
  host = new FakeHost();
  host.patient = true;
  host.defaultRoute = null;
  alerts = [];
  logged = [];
  servers = [];
  stopping = new AbortController();
  host.listening.onSent = (link, packet) => {
    if (packet[0] !== 0x45) return;
    const id = Buffer.from(packet).readUInt32BE(28 + 4);
    for (const { server, options, mac = MAC } of servers.filter((each) => each.link === link)) {
      const offer = offerPacket({ id, server, address: "192.168.7.30", options });
      host.listening.hear(link, "dhcp replies", { from: mac, packet: offer });
    }
  };
  others = new OtherRouters({
    host,
    alarm: (code, args) => alerts.push(`${code}: ${alertText(code, args)}`),
    log: { warn: (message) => logged.push(message) },
  });
});
afterEach(async () => {
  stopping.abort();
  await host.pass(MINUTE_MS);
  expect(host.listening.count).toBe(0);
});

/** Listens, and has asked once. */
async function started(network = TWO_CABLES): Promise<void> {
  others.networkIs(network);
  void others.watch(stopping.signal);
  await host.pass(2 * READ_MS + 1_000);
}

function advertise(given: Parameters<typeof advertisementPacket>[0] = {}, link = "lan0", from = MAC): void {
  host.listening.hear(link, "router advertisements", { from, packet: advertisementPacket(given) });
}

const hex = (address: string) => Buffer.from(address.split(".").map(Number)).toString("hex");
const questions = () => host.listening.sent.map(({ to }) => (to === "33:33:00:00:00:02" ? "RS" : "DISCOVER"));
const OVER = "other_router_gone: No other router leads devices outside the tunnel now.";

test("an IPv6 router is told as soon as it is heard, and again when it withdraws", async () => {
  await started();
  expect(alerts).toEqual([]);
  expect(others.isListening).toBe(true);
  advertise();
  await host.pass(READ_MS);
  const begun =
    "other_router: Devices might leave outside the tunnel: fe80::99 on lan0 advertises itself as an IPv6 router.";
  expect(alerts).toEqual([begun]);
  expect(others.current).toMatchObject([{ interface: "lan0", address: "fe80::99", mac: MAC }]);
  advertise();
  await host.pass(MINUTE_MS);
  advertise({ lifetime: 0 });
  await host.pass(READ_MS);
  expect(alerts).toEqual([begun, OVER]);
  expect(others.current).toEqual([]);
});

test("an IPv6 router that falls silent is gone at the end of its lifetime, and of 35 minutes at the latest", async () => {
  await started();
  advertise({ lifetime: 90 });
  advertise({ from: "fe80::98", lifetime: 65_535 });
  await host.pass(MINUTE_MS);
  expect(others.current.map(({ address }) => String(address))).toEqual(["fe80::99", "fe80::98"]);
  await host.pass(MINUTE_MS);
  expect(others.current.map(({ address }) => String(address))).toEqual(["fe80::98"]);
  await host.pass(32 * MINUTE_MS);
  expect(others.current).toHaveLength(1);
  await host.pass(2 * MINUTE_MS);
  expect(others.current).toEqual([]);
  expect(alerts).toHaveLength(2);
  expect(alerts[1]).toBe(OVER);
});

test("the gateway's own advertisements, invalid ones and those without a way out are not told", async () => {
  await started();
  advertise({}, "lan0", OWN_MAC);
  advertise({ hopLimit: 64 });
  advertise({ lifetime: 0 });
  // A border router of Thread: it leads to its own private network only.
  advertise({ lifetime: 0, options: "1802400000000708fd12345678900001" });
  host.listening.hear("lan0", "router advertisements", { from: MAC, packet: new Uint8Array(3) });
  await host.pass(READ_MS);
  expect(others.current).toEqual([]);
  expect(alerts).toEqual([]);
});

test("a DHCP server is told if its router is not the gateway, and is gone after two questions without answer", async () => {
  servers = [{ link: "lan0", server: HOME_ROUTER, options: { 3: hex(HOME_ROUTER), 6: hex(HOME_ROUTER) } }];
  await started();
  const begun = `other_router: Devices might leave outside the tunnel: the DHCP server ${HOME_ROUTER} on lan0 gives devices the router ${HOME_ROUTER}.`;
  expect(alerts).toEqual([begun]);
  await host.pass(ASK_MS);
  expect(alerts).toEqual([begun]);
  servers = [];
  await host.pass(ASK_MS);
  expect(others.current).toHaveLength(1);
  await host.pass(MINUTE_MS);
  expect(others.current).toEqual([]);
  expect(alerts).toEqual([begun, OVER]);
});

test("a DHCP server whose router is the gateway, or that is the gateway, is not told", async () => {
  servers = [
    { link: "lan0", server: HOME_ROUTER, options: { 3: hex("192.168.7.1"), 6: hex(HOME_ROUTER) } },
    { link: "lan0", server: OTHER, options: {} },
    { link: "lan0", server: "192.168.8.2", options: { 3: hex(OTHER) } },
    { link: "lan0", server: "192.168.7.9", options: { 3: hex(OTHER) }, mac: OWN_MAC },
  ];
  await started();
  expect(others.current).toEqual([]);
});

test("with one cable, the home router as resolver of devices is told, by DHCP or IPv6; with two it is not", async () => {
  host.defaultRoute = "lan0";
  servers = [{ link: "lan0", server: OTHER, options: { 3: hex("192.168.7.1"), 6: hex("198.51.100.1") } }];
  await started(ONE_CABLE);
  const resolvers = (address: string) =>
    `1903000000000258${Buffer.from(address.replaceAll(":", ""), "hex").toString("hex")}`;
  advertise({ lifetime: 0, options: resolvers("fd00:0007:0000:0000:0000:0000:0000:00fe") });
  advertise({ from: "fe80::98", lifetime: 0, options: resolvers("fd00:0007:0000:0000:0000:0000:0000:0001") });
  await host.pass(2 * MINUTE_MS);
  const begun = `other_router: Devices might leave outside the tunnel: the DHCP server ${OTHER} on lan0 gives devices the resolver 198.51.100.1`;
  expect(alerts).toEqual([
    `${begun}.`,
    `${begun}; fe80::99 on lan0 advertises the IPv6 resolver fd00:7::fe.`,
  ]);
  others.networkIs(TWO_CABLES);
  await host.pass(60 * MINUTE_MS);
  expect(others.current).toEqual([]);
});

test("the uplink is neither asked nor listened to if the LAN has an interface of its own", async () => {
  servers = [{ link: "up0", server: HOME_ROUTER, options: { 3: hex(HOME_ROUTER) } }];
  await started();
  advertise({}, "up0");
  await host.pass(READ_MS);
  expect(others.current).toEqual([]);
  expect(new Set(host.listening.sent.map(({ link }) => link))).toEqual(new Set(["lan0"]));
});

test("routers are asked at the start and after the network has changed, DHCP servers every five minutes too", async () => {
  const once: ReturnType<typeof questions> = ["RS", "DISCOVER", "DISCOVER"];
  await started();
  expect(questions()).toEqual(once);
  await host.pass(ASK_MS);
  const twice = [...once, ...once.slice(1)];
  expect(questions()).toEqual(twice);
  // The same again, as after an event that changed nothing.
  others.networkIs({ ...TWO_CABLES });
  await host.pass(MINUTE_MS);
  expect(questions()).toEqual(twice);
  others.networkIs({ ...TWO_CABLES, online: false });
  await host.pass(2 * READ_MS);
  expect(questions()).toEqual([...twice, ...once]);
});

slow.test("a thousand routers of a hostile host cost one alert a minute and sixteen places", async () => {
  await started();
  for (let round = 0; round < 120; round += 1) {
    for (let number = 0; number < 100; number += 1)
      advertise({ from: `fe80::${round.toString(16)}:${number.toString(16)}`, lifetime: 1 });
    await host.pass(READ_MS);
    expect(others.current.length).toBeLessThanOrEqual(16);
  }
  expect(alerts.length).toBeLessThanOrEqual(11);
  expect(alerts[0]).toBe(
    "other_router: Devices might leave outside the tunnel: fe80::0:0 on lan0 advertises itself as an IPv6 router; fe80::1 on lan0 advertises itself as an IPv6 router; fe80::2 on lan0 advertises itself as an IPv6 router; and 13 more.".replace(
      "fe80::0:0",
      "fe80::",
    ),
  );
  await host.pass(2 * MINUTE_MS);
  expect(alerts.at(-1)).toBe(OVER);
});

test("a server that a device has taken an address from is asked within half a minute, and a known one is not", async () => {
  await started();
  await host.pass(MINUTE_MS);
  const take = (server: string) =>
    host.listening.hear("lan0", "dhcp requests", { from: MAC, packet: requestPacket(server) });
  const before = questions().length;
  // The gateway's own.
  take("192.168.7.1");
  await host.pass(MINUTE_MS);
  expect(questions()).toHaveLength(before);
  servers = [
    { link: "lan0", server: OTHER, options: { 3: hex(OTHER) } },
    { link: "lan0", server: HOME_ROUTER, options: { 3: hex("192.168.7.1") } },
  ];
  take(OTHER);
  await host.pass(30_000);
  expect(questions().slice(before)).toEqual(["DISCOVER"]);
  expect(others.current.map(({ address }) => String(address))).toEqual([OTHER]);
  await host.pass(MINUTE_MS);
  take(HOME_ROUTER);
  take(OTHER);
  await host.pass(MINUTE_MS);
  expect(questions()).toHaveLength(before + 1);
});

test("an interface that cannot be listened to keeps the gateway from no other one", async () => {
  host.listening.closed.add("gone0");
  servers = [{ link: "lan0", server: OTHER, options: { 3: hex(OTHER) } }];
  const gone = { interface: "gone0", prefixes: cidrs("10.9.0.0/24") };
  await started({ ...TWO_CABLES, lans: [gone, ...TWO_CABLES.lans] });
  advertise();
  await host.pass(2 * READ_MS);
  expect(others.current.map(({ address }) => String(address)).sort()).toEqual([OTHER, "fe80::99"]);
  expect(logged).toEqual(["what other routers tell the LAN cannot be heard: there is no interface gone0"]);
  expect(others.isListening).toBe(false);
});

test("an interface that goes is listened to again when it is back, and what was heard there is kept while it is LAN", async () => {
  await started();
  advertise();
  await host.pass(READ_MS);
  host.listening.closed.add("lan0");
  await host.pass(MINUTE_MS);
  expect(others.isListening).toBe(false);
  expect(logged).toEqual(["what other routers tell the LAN cannot be heard: there is no interface lan0"]);
  expect(others.current).toHaveLength(1);
  others.networkIs({ ...TWO_CABLES, lans: [] });
  await host.pass(READ_MS);
  expect(others.current).toEqual([]);
  host.listening.closed.clear();
  others.networkIs(TWO_CABLES);
  await host.pass(2 * READ_MS);
  expect(others.isListening).toBe(true);
  advertise();
  await host.pass(2 * READ_MS);
  expect(others.current).toHaveLength(1);
});
