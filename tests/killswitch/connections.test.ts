import { describe, expect, test } from "bun:test";
import type { Address } from "../../src/base/address.ts";
import { Connections, isOver } from "../../src/killswitch/connections.ts";
import { DESTINATION_ZONE, zoneOf } from "../../src/killswitch/direct.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import type { Connection } from "../../src/system/host.ts";
import { cidr, ip } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { assigned, FIRST, FURTHER, POLICIES } from "./example.ts";

const [TV, PHONE] = ["02:00:00:00:00:01", "02:00:00:00:00:02"].map((mac) => assigned(mac, "main").id) as [
  Policy["devices"][number]["id"],
  Policy["devices"][number]["id"],
];
const [TV_ADDRESS, PHONE_ADDRESS] = [ip("192.168.7.21"), ip("192.168.7.22")];
const HOST = ip("203.0.113.80");
const deviceAt = (address: string) =>
  address === TV_ADDRESS ? TV : address === PHONE_ADDRESS ? PHONE : null;
const POLICY = POLICIES["two-tunnels"];
const [MAIN, AMSTERDAM] = [FIRST, FURTHER];

/** Of a device, as it is inside a tunnel. */
function outward(
  from = TV_ADDRESS,
  { zone, addresses }: Pick<typeof MAIN, "zone" | "addresses"> = MAIN,
): Connection {
  const [inside = HOST] = addresses;
  return {
    ...{ protocol: 6, zone, isOpen: true, isRedirected: false },
    original: { source: from, sourcePort: 40_000, destination: HOST, destinationPort: 443 },
    reply: { source: HOST, sourcePort: 443, destination: inside, destinationPort: 40_000 },
  };
}

/** Of a host on the internet, led to a device by a forwarded port. */
function inward(to = TV_ADDRESS): Connection {
  const [inside = HOST] = MAIN.addresses;
  return {
    ...{ protocol: 6, zone: 1, isOpen: true, isRedirected: true },
    original: { source: HOST, sourcePort: 50_000, destination: inside, destinationPort: 51_413 },
    reply: { source: to, sourcePort: 6881, destination: HOST, destinationPort: 50_000 },
  };
}

const FORWARD = {
  interface: MAIN.interface,
  protocol: "tcp",
  inside: 51_413,
  to: TV_ADDRESS,
  port: 6881,
} as const;
const over = (connection: Connection, policy: Policy = POLICY) =>
  isOver(connection, policy, deviceAt, [FORWARD]);
const withExit = (exit: Policy["devices"][number]["exit"]): Policy => ({
  ...POLICY,
  devices: [{ id: TV, exit }],
});

test("a connection goes on as long as its tunnel and its device's exit are what they were", () => {
  expect(over(outward())).toBe(false);
  expect(over(outward(TV_ADDRESS, AMSTERDAM), withExit({ to: "tunnel", name: AMSTERDAM.tunnel }))).toBe(
    false,
  );
  // Nobody knows whose it is.
  expect(over(outward(ip("192.168.7.99")))).toBe(false);
});

test("it is over once the network of a device without an exit of its own has another exit", () => {
  const network = { interface: "lan0", exit: { to: "blocked" }, page: true, others: false } as const;
  const policy = { ...POLICY, networks: [network] };
  expect(over(outward(), policy)).toBe(true);
  expect(over(outward(), { ...policy, networks: [{ ...network, interface: "br-lan.5" }] })).toBe(false);
  expect(over(outward(), { ...policy, devices: [{ id: TV, exit: { to: "tunnel", name: "main" } }] })).toBe(
    false,
  );
});

test("it is over once its tunnel has gone, or another one has its zone", () => {
  expect(over(outward(), { ...POLICY, endpoints: [AMSTERDAM], carrying: [AMSTERDAM] })).toBe(true);
  const other = { ...MAIN, addresses: [ip("10.99.0.2"), ip("fd00:99::2")] };
  expect(over(outward(), { ...POLICY, endpoints: [other], carrying: [other] })).toBe(true);
});

test("it goes on while its server is only silent, and nothing is led into the tunnel", () => {
  expect(over(outward(), { ...POLICY, carrying: [] })).toBe(false);
});

test("it is over once NAT has given it another source than the tunnel's", () => {
  const wrong = outward();
  expect(over({ ...wrong, reply: { ...wrong.reply, destination: ip("192.168.8.2") } })).toBe(true);
});

test("it is over once its device has another exit: named, by default, by its network, blocked or direct", () => {
  for (const exit of [
    { to: "tunnel", name: AMSTERDAM.tunnel },
    { to: "blocked" },
    { to: "direct" },
  ] as const) {
    expect(over(outward(), withExit(exit))).toBe(true);
    expect(over(outward(PHONE_ADDRESS), withExit(exit))).toBe(false);
  }
  expect(over(outward(), { ...POLICY, devices: [], defaultExit: { to: "blocked" } })).toBe(true);
  const routed = [{ prefix: cidr("192.168.7.96/28"), exit: { to: "blocked" } as const }];
  expect(over(outward(ip("192.168.7.99")), { ...POLICY, routed })).toBe(true);
  expect(over(outward(), { ...POLICY, routed })).toBe(false);
});

test("it is over once its destination has another exit, for its device or for all, but not DNS", () => {
  const exit = { to: "tunnel", name: AMSTERDAM.tunnel } as const;
  const ruled = (devices: readonly (typeof TV)[], to: Policy["devices"][number]["exit"] = exit): Policy => ({
    ...POLICY,
    destinations: [{ prefixes: [cidr("203.0.113.64/26")], devices, exit: to }],
  });
  for (const policy of [ruled([]), ruled([TV]), ruled([], { to: "blocked" }), ruled([], { to: "direct" })]) {
    expect(over(outward(), policy)).toBe(true);
    expect(
      over({ ...outward(), zone: zoneOf(TV) }, { ...policy, devices: [{ id: TV, exit: { to: "direct" } }] }),
    ).toBe(true);
  }
  expect(over(outward(PHONE_ADDRESS), ruled([TV]))).toBe(false);
  expect(over(outward(TV_ADDRESS, AMSTERDAM), ruled([]))).toBe(false);
  expect(over(outward(), ruled([], { to: "tunnel", name: MAIN.tunnel }))).toBe(false);
  // Whose it is decides, and nobody knows.
  expect(over(outward(ip("192.168.7.99")), ruled([TV]))).toBe(false);
  expect(over(outward(ip("192.168.7.99")), ruled([]))).toBe(true);
  // Rules of all devices open nothing for one that is blocked.
  expect(
    over(outward(TV_ADDRESS, AMSTERDAM), { ...ruled([]), devices: [{ id: TV, exit: { to: "blocked" } }] }),
  ).toBe(true);
  const query = outward();
  expect(over({ ...query, original: { ...query.original, destinationPort: 53 } }, ruled([]))).toBe(false);
});

test("it is over once a name that has its address leads elsewhere; names come before prefixes", () => {
  const to = (name: string) => ({ to: "tunnel", name }) as const;
  const [amsterdam, main] = [to(AMSTERDAM.tunnel), to(MAIN.tunnel)];
  const ruled = (destinations: Policy["destinations"]): Policy => ({
    ...POLICY,
    destinations: destinations ?? [],
  });
  const named = { prefixes: [], named: [{ labels: 2, addresses: [HOST] }], devices: [], exit: amsterdam };
  const network = { prefixes: [cidr(`${HOST}/32`)], devices: [], exit: main };
  expect(over(outward(), ruled([named]))).toBe(true);
  expect(over(outward(TV_ADDRESS, AMSTERDAM), ruled([network, named]))).toBe(false);
  expect(over(outward(), ruled([network, { ...named, named: [] }]))).toBe(false);
  // A rule of the device comes first, and what is direct last.
  expect(over(outward(), ruled([named, { ...named, devices: [TV], exit: main }]))).toBe(false);
  // The longest name counts.
  const long = { ...named, named: [{ labels: 3, addresses: [HOST] }], exit: main };
  expect(over(outward(), ruled([named, long]))).toBe(false);
  const direct = { ...long, exit: { to: "direct" } as const };
  expect(over(outward(TV_ADDRESS, AMSTERDAM), ruled([direct, named]))).toBe(false);
});

test("one to a direct destination is over once that is not direct", () => {
  const connection = { ...outward(), zone: DESTINATION_ZONE };
  const ruled = (exit: Policy["devices"][number]["exit"]): Policy => ({
    ...POLICY,
    destinations: [{ prefixes: [cidr("203.0.113.64/26")], devices: [], exit }],
  });
  expect(over(connection, ruled({ to: "direct" }))).toBe(false);
  expect(over(connection, ruled({ to: "blocked" }))).toBe(true);
  expect(over(connection)).toBe(true);
});

test("a direct device's is over once it is not direct, and goes on while the uplink is down", () => {
  const direct = { ...outward(), zone: zoneOf(TV) };
  expect(over(direct, withExit({ to: "direct" }))).toBe(false);
  expect(over(direct, { ...withExit({ to: "direct" }), online: false })).toBe(false);
  expect(over(direct)).toBe(true);
  expect(over({ ...direct, zone: zoneOf(PHONE) }, withExit({ to: "direct" }))).toBe(true);
});

test("a direct device's queries to the gateway are over if they were not redirected", () => {
  const query = (destination: Connection["original"]["destination"], isRedirected: boolean): Connection => ({
    ...{ protocol: 17, zone: zoneOf(TV), isOpen: false, isRedirected },
    original: { source: TV_ADDRESS, sourcePort: 40_000, destination, destinationPort: 53 },
    reply: { source: destination, sourcePort: 53, destination: TV_ADDRESS, destinationPort: 40_000 },
  });
  const direct = withExit({ to: "direct" });
  expect(over(query(ip("192.168.7.1"), false), direct)).toBe(true);
  expect(over(query(ip("192.168.7.1"), true), direct)).toBe(false);
  expect(over(query(HOST, false), direct)).toBe(false);
});

test("queries that came past the gateway's own resolver are over once it is there, and those that it answers go on", async () => {
  const [own = HOST] = POLICY.addresses;
  const query = (source: Connection["original"]["source"], isRedirected: boolean): Connection => ({
    ...{ protocol: 17, zone: 0, isOpen: false, isRedirected },
    original: { source, sourcePort: 40_000, destination: own, destinationPort: 53 },
    reply: { source: own, sourcePort: 53, destination: source, destinationPort: 40_000 },
  });
  const resolving: Policy = { ...POLICY, resolver: { port: 10_053, askers: [] } };
  expect(over(query(TV_ADDRESS, false), resolving)).toBe(true);
  expect(over(query(TV_ADDRESS, true), resolving)).toBe(false);
  expect(over(query(own, false), resolving)).toBe(false);
  expect(over(query(TV_ADDRESS, false))).toBe(false);
  const host = new FakeHost();
  host.connections = [query(TV_ADDRESS, false), query(TV_ADDRESS, true)];
  const connections = new Connections(host, deviceAt);
  await connections.settle(POLICY);
  expect(host.connections).toHaveLength(2);
  await connections.settle(resolving);
  expect(host.connections).toEqual([query(TV_ADDRESS, true)]);
});

test("encrypted queries that began before the gateway's own resolver are over, but not those of remote devices", () => {
  const encrypted = (source = TV_ADDRESS): Connection => {
    const known = outward(source);
    return { ...known, original: { ...known.original, destinationPort: 853 } };
  };
  const resolver = { port: 10_053, askers: [] };
  expect(over(encrypted())).toBe(false);
  expect(over(encrypted(), { ...POLICY, resolver })).toBe(true);
  expect(over(outward(), { ...POLICY, resolver })).toBe(false);
  const { remote } = POLICIES.remote;
  const [{ addresses: [remoteAddress = HOST] = [] } = {}] = remote?.devices ?? [];
  expect(over(encrypted(remoteAddress), { ...POLICY, ...(remote && { remote }), resolver })).toBe(false);
});

test("one from the internet is over once its forward leads elsewhere, or there is none", () => {
  expect(over(inward(), { ...POLICY, forwards: [FORWARD] })).toBe(false);
  expect(over(inward())).toBe(true);
  for (const changed of [
    { protocol: "udp" },
    { inside: 51_414 },
    { to: PHONE_ADDRESS },
    { port: 1 },
  ] as const)
    expect(over(inward(), { ...POLICY, forwards: [{ ...FORWARD, ...changed }] })).toBe(true);
});

test("the gateway's own go on: outside the tunnels, inside one, and those of a resolver on it", () => {
  const [own = HOST] = POLICY.addresses;
  const [inside = HOST] = MAIN.addresses;
  expect(over({ ...outward(), zone: 0 })).toBe(false);
  expect(over({ ...outward(inside) })).toBe(false);
  // A device may send neighbour solicitations in the name of that address.
  expect(isOver(outward(inside), withExit({ to: "blocked" }), () => TV, [])).toBe(false);
  const asked = { source: TV_ADDRESS, sourcePort: 40_000, destination: own, destinationPort: 53 };
  const answered = { source: own, sourcePort: 53, destination: TV_ADDRESS, destinationPort: 40_000 };
  expect(over({ ...outward(), original: asked, reply: answered }, withExit({ to: "blocked" }))).toBe(false);
});

test("the devices of ended TCP connections are told, in the name of the other end; nobody else is", async () => {
  const host = new FakeHost();
  const stranger = { ...outward(ip("198.51.100.9")) };
  host.connections = [
    ...[outward(), inward(), { ...outward(), isOpen: false }, stranger, outward(PHONE_ADDRESS)],
    { ...outward(), protocol: 17, isOpen: false },
  ];
  const connections = new Connections(host, deviceAt);
  await connections.settle({ ...POLICY, devices: [], endpoints: [MAIN], forwards: [FORWARD] });
  await connections.settle({ ...withExit({ to: "blocked" }), endpoints: [MAIN] });
  expect(host.challenged).toEqual([
    { source: HOST, sourcePort: 443, destination: TV_ADDRESS, destinationPort: 40_000 },
    { source: HOST, sourcePort: 50_000, destination: TV_ADDRESS, destinationPort: 6881 },
  ]);
  expect(host.connections).toEqual([stranger, outward(PHONE_ADDRESS)]);
});

test("at a start, one from the internet goes on until its forward has been open and is closed", async () => {
  const host = new FakeHost();
  host.connections = [inward()];
  const connections = new Connections(host, deviceAt);
  const started = { ...POLICY, endpoints: [MAIN] };
  await connections.settle(started);
  expect(host.connections).toEqual([inward()]);
  await connections.settle({ ...started, forwards: [FORWARD] });
  expect(host.connections).toEqual([inward()]);
  await connections.settle(started);
  expect(host.connections).toEqual([]);
});

test("of very many, no more are looked at than can be told", async () => {
  const told: unknown[] = [];
  let looks = 0;
  const policy = {
    ...POLICY,
    get lans() {
      looks += 1;
      return POLICY.lans;
    },
  };
  const asked = {
    challenge: async (connections: readonly unknown[]) => void told.push(...connections),
    sleep: async () => {},
    endConnections: async () => Array.from({ length: 20_000 }, () => outward()),
  };
  await new Connections(asked, deviceAt).settle(policy);
  expect(told.length).toBe(512);
  expect(looks).toBeLessThan(600);
});

test("the kernel is asked only if something has changed that decides, or was repaired, or has failed", async () => {
  const host = new FakeHost();
  let looks = 0;
  let fails = false;
  const asked = {
    challenge: async () => {},
    sleep: async () => {},
    endConnections: async (isEnded: (connection: Connection) => boolean) => {
      looks += 1;
      if (fails) throw new Error("no such module");
      return host.endConnections(isEnded);
    },
  };
  const connections = new Connections(asked, deviceAt);
  await connections.settle(POLICY);
  await connections.settle({ ...POLICY, lookups: [{ resolvers: [HOST], sourcePort: 40_000 }] });
  expect(looks).toBe(1);
  await connections.settle(POLICY, true);
  fails = true;
  await connections.settle(withExit({ to: "blocked" }));
  fails = false;
  await connections.settle(withExit({ to: "blocked" }));
  expect(looks).toBe(4);
});

test("policies that follow one another during a look cause one more, and the newest alone decides", async () => {
  const looks: { over: boolean[]; done: () => void }[] = [];
  const asked = {
    challenge: async () => {},
    sleep: async () => {},
    endConnections: async (isEnded: (connection: Connection) => boolean) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = { over: [] as boolean[], done: resolve };
      looks.push(look);
      await promise;
      look.over.push(isEnded(outward()));
      return [];
    },
  };
  const connections = new Connections(asked, deviceAt);
  void connections.settle(POLICY);
  await Bun.sleep(1);
  for (let turn = 0; turn < 50; turn++) {
    void connections.settle(withExit({ to: "blocked" }));
    void connections.settle(POLICY, true);
  }
  const settled = connections.settle(POLICY);
  for (let turn = 0; turn < 5; turn++) {
    for (const look of looks) look.done();
    await Bun.sleep(1);
  }
  await settled;
  expect(looks.map(({ over }) => over)).toEqual([[false], [false]]);
});

test("a connection from the port at which remote devices come in ends, because its answers are not tracked", () => {
  const policy = POLICIES["remote-direct"];
  const [own = HOST] = policy.uplinkAddresses;
  const from = (destinationPort: number): Connection => ({
    ...{ protocol: 17, zone: zoneOf(TV), isOpen: true, isRedirected: false },
    original: { source: TV_ADDRESS, sourcePort: destinationPort, destination: HOST, destinationPort: 7 },
    reply: { source: HOST, sourcePort: 7, destination: own, destinationPort },
  });
  const { port } = policy.remote ?? { port: 0 };
  const direct: Policy = { ...policy, devices: [{ id: TV, exit: { to: "direct" } }] };
  expect([port, port + 1].map((each) => over(from(each), direct))).toEqual([true, false]);
});

describe("a look for a change that somebody waits for", () => {
  const homeWith = async (connection: Connection) => {
    const host = new FakeHost();
    host.patient = true;
    const connections = new Connections(host, deviceAt);
    await connections.settle(POLICY);
    host.connections = [connection];
    return { host, connections };
  };

  test("begins a moment later, by itself", async () => {
    const { host, connections } = await homeWith(outward());
    void connections.settleOnceAnswered(withExit({ to: "blocked" }));
    await host.pass(5);
    expect(host.connections).toEqual([outward()]);
    await host.pass(10);
    expect(host.connections).toEqual([]);
  });

  test("begins at once if something else waits for it, and only once", async () => {
    const { host, connections } = await homeWith(outward());
    const blocked = withExit({ to: "blocked" });
    void connections.settleOnceAnswered(blocked);
    await connections.settle(blocked);
    expect(host.connections).toEqual([]);
    host.connections = [outward()];
    await host.pass(20);
    expect(host.connections).toEqual([outward()]);
  });

  test("takes place although the device is back at its former exit by then", async () => {
    const inForeignZone = { ...outward(), zone: outward().zone + 1 };
    const { host, connections } = await homeWith(inForeignZone);
    void connections.settleOnceAnswered(withExit({ to: "blocked" }));
    void connections.settleOnceAnswered(POLICY);
    await host.pass(20);
    expect(host.connections).toEqual([]);
  });
});

test("one of another home is over once its device may no longer be reached, and what begins here goes on", () => {
  const policy = POLICIES.homes;
  const [nas, tv] = [ip("192.168.7.20"), ip("192.168.7.21")];
  const from = (source: Address, destination: Address) => {
    const { original, reply, ...rest } = outward(source);
    const ends = { original: { ...original, destination }, reply: { ...reply, source: destination } };
    return isOver({ ...rest, ...ends, zone: 0 }, policy, () => null, []);
  };
  expect([from(ip("192.168.66.10"), nas), from(ip("192.168.66.10"), tv)]).toEqual([false, true]);
  expect([from(ip("192.168.77.10"), nas), from(tv, ip("192.168.66.10"))]).toEqual([true, false]);
});
