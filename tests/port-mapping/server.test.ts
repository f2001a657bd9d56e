import { afterEach, describe, expect, test } from "bun:test";
import type { Address } from "../../src/base/address.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { PortRefusal } from "../../src/forwards/opener.ts";
import type { GrantedPort, PortRequest } from "../../src/forwards/request.ts";
import type { Forward } from "../../src/forwards/schema.ts";
import type { PolicyPart } from "../../src/killswitch/policy.ts";
import { NatPmpServer } from "../../src/port-mapping/server.ts";
import { cidrs, ip, ips } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";

const OWN = "192.168.7.1";
const DEVICE = "192.168.7.20";
const MAP = "000200001ae100000000003c";
const MAPPED = "1ae1c4960000003c";

const endings: AbortController[] = [];
afterEach(() => {
  for (const ending of endings.splice(0)) ending.abort();
});

/** A gateway with two LANs, which opens port 50326 for everyone. */
function begin() {
  const host = new FakeHost();
  host.patient = true;
  const asked: PortRequest[] = [];
  const removed: string[] = [];
  const updates: [string, PolicyPart][] = [];
  const warnings: string[] = [];
  const lines: string[] = [];
  const all = {
    host,
    asked,
    removed,
    updates,
    warnings,
    lines,
    publicAddress: ip("203.0.113.7") as Address | null,
    map: async ({ lifetimeMs }: PortRequest): Promise<GrantedPort> => ({
      external: 50_326,
      lifetimeMs,
      address: null,
    }),
    unmap: async () => {},
    network: {
      lans: [
        { interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") },
        { interface: "wlan0", prefixes: cidrs("10.5.0.0/16", "fe80::/10") },
      ],
      addresses: ips(OWN, "10.5.0.1", "198.51.100.9", "fd00::1"),
    },
  };
  const server = new NatPmpServer({
    host,
    ports: {
      map: (request) => {
        asked.push(request);
        return all.map(request);
      },
      unmap: ({ address, protocol, port }) => {
        removed.push(`${address} ${protocol} ${port}`);
        return all.unmap();
      },
      publicAddress: async () => all.publicAddress,
    },
    killSwitch: { update: async (owner, part) => void updates.push([owner, part ?? {}]) },
    network: () => all.network,
    log: { info: (text) => void lines.push(text), warn: (text) => void warnings.push(text) },
  });
  const ending = new AbortController();
  endings.push(ending);
  void server.watch(ending.signal);
  return { ...all, all, server, ending };
}

type Begun = ReturnType<typeof begin>;

/** What is sent to anyone but everyone. */
function answers({ host }: Begun): string[] {
  return host.datagrams.sent.flatMap(({ place, to, hex }) =>
    to === "224.0.0.1:5350" ? [] : [`${place.link} ${to} ${hex}`],
  );
}

/** A packet comes in by a link, to the gateway's address there. */
async function hear(gateway: Begun, hex: string, { from = DEVICE, link = "lan0", port = 40_000 } = {}) {
  const own = link === "lan0" ? OWN : "10.5.0.1";
  gateway.host.datagrams.hear(link, own, { address: from, port, bytes: Uint8Array.fromHex(hex) });
  await gateway.host.pass(200);
}

/** The same, and what comes back within 0.2 s, without the header of version, epoch and the rest. */
async function replyTo(gateway: Begun, hex: string, which?: Parameters<typeof hear>[2]) {
  const before = answers(gateway).length;
  await hear(gateway, hex, which);
  return answers(gateway).slice(before);
}

async function started(): Promise<Begun> {
  const gateway = begin();
  await gateway.host.pass(1_000);
  return gateway;
}

function forward(external: number | null, rest: Partial<Forward> = {}): Forward {
  const id = { device: "02:00:00:00:00:20", name: "", protocol: "tcp", port: 6881 } as const;
  const open = { address: "203.0.113.7", tunnel: "main", opener: "nat-pmp", state: "open" } as const;
  return {
    ...id,
    ...open,
    external,
    fixed: null,
    asked_by: "device",
    error: null,
    expires_at: null,
    ...rest,
  };
}

describe("a device", () => {
  test("gets a port for itself", async () => {
    const gateway = await started();
    expect(await replyTo(gateway, MAP)).toEqual([`lan0 ${DEVICE}:40000 0082000000000001${MAPPED}`]);
    const request = { protocol: "tcp" as const, port: 6881, external: null, lifetimeMs: 60_000 };
    expect(gateway.asked).toEqual([{ address: ip(DEVICE), ...request }]);
  });

  test("on the other LAN is answered there", async () => {
    const gateway = await started();
    const other = { from: "10.5.3.4", link: "wlan0" };
    expect(await replyTo(gateway, "000100001ae11ae200000e10", other)).toEqual([
      "wlan0 10.5.3.4:40000 00810000000000011ae1c49600000e10",
    ]);
    expect(gateway.asked).toMatchObject([{ address: ip("10.5.3.4"), protocol: "udp", external: 6882 }]);
  });

  test("gets a port for two hours at the most", async () => {
    const gateway = await started();
    expect(await replyTo(gateway, "000200001ae10000ffffffff")).toEqual([
      `lan0 ${DEVICE}:40000 00820000000000011ae1c49600001c20`,
    ]);
  });

  test("learns the public address of its tunnel, or that it is not known", async () => {
    const gateway = await started();
    expect(await replyTo(gateway, "0000")).toEqual([`lan0 ${DEVICE}:40000 0080000000000001cb007107`]);
    gateway.all.publicAddress = null;
    expect(await replyTo(gateway, "0000")).toEqual([`lan0 ${DEVICE}:40000 008000030000000100000000`]);
    gateway.all.publicAddress = ip("2001:db8::1");
    expect(await replyTo(gateway, "0000")).toEqual([`lan0 ${DEVICE}:40000 008000030000000100000000`]);
  });

  test("removes one port, or all of a protocol, and hears that it is done each time", async () => {
    const gateway = await started();
    expect(await replyTo(gateway, "000200001ae1ffff00000000")).toEqual([
      `lan0 ${DEVICE}:40000 00820000000000011ae1000000000000`,
    ]);
    expect(await replyTo(gateway, "000100000000000000000000")).toEqual([
      `lan0 ${DEVICE}:40000 00810000000000010000000000000000`,
    ]);
    expect(gateway.removed).toEqual([`${DEVICE} tcp 6881`, `${DEVICE} udp null`]);
    expect(gateway.asked).toEqual([]);
  });

  test("hears what went wrong by the RFC's codes, with its port and no other number", async () => {
    const gateway = await started();
    for (const [error, code] of [
      [new PortRefusal("unsupported", { message: "no ports here" }), "0002"],
      [new PortRefusal("refused", { message: "not for you" }), "0002"],
      [new PortRefusal("exhausted", { message: "no more" }), "0004"],
      [new GatewayError("unable", "the tunnel is down"), "0003"],
      [new Error("anything"), "0003"],
    ] as const) {
      gateway.all.map = () => Promise.reject(error);
      expect(await replyTo(gateway, MAP)).toEqual([
        expect.stringMatching(new RegExp(` 0082${code}0000000[0-9]1ae1000000000000$`)),
      ]);
    }
    gateway.all.unmap = () =>
      Promise.reject(new PortRefusal("refused", { message: "a person has forwarded this port" }));
    expect(await replyTo(gateway, "000200001ae1000000000000")).toEqual([expect.stringMatching(/ 00820002/)]);
  });

  test("cannot have port 0", async () => {
    const gateway = await started();
    expect(await replyTo(gateway, "000200000000000000000e10")).toEqual([
      `lan0 ${DEVICE}:40000 00820002000000010000000000000000`,
    ]);
    expect(gateway.asked).toEqual([]);
  });

  test("that speaks PCP, or asks for something else, learns at once that it must speak NAT-PMP", async () => {
    const gateway = await started();
    const pcp = `0201${"00".repeat(58)}`;
    expect(await replyTo(gateway, pcp)).toEqual([`lan0 ${DEVICE}:40000 0000000100000001`]);
    expect(await replyTo(gateway, "0063000011223344aabb")).toEqual([
      `lan0 ${DEVICE}:40000 00e3000500000001aabb`,
    ]);
  });

  test("that repeats itself while the provider is asked is answered once", async () => {
    const gateway = await started();
    const answer = Promise.withResolvers<GrantedPort>();
    gateway.all.map = () => answer.promise;
    for (let count = 0; count < 5; count++) expect(await replyTo(gateway, MAP)).toEqual([]);
    answer.resolve({ external: 50_326, lifetimeMs: 60_000, address: null });
    await gateway.host.pass(0);
    expect(answers(gateway)).toEqual([`lan0 ${DEVICE}:40000 0082000000000002${MAPPED}`]);
    expect(gateway.asked).toHaveLength(1);
    // It was under way when the answer left.
    expect(await replyTo(gateway, MAP)).toEqual([]);
    expect(await replyTo(gateway, MAP)).toHaveLength(1);
  });
});

describe("there is no answer to", () => {
  test.each([
    ["a host of the internet", "203.0.113.99", "lan0"],
    ["the other LAN's host on this LAN", "10.5.3.4", "lan0"],
    ["the gateway's own address", OWN, "lan0"],
    ["no address at all", "0.0.0.0", "lan0"],
    ["everyone", "255.255.255.255", "wlan0"],
  ])("%s", async (_, from, link) => {
    const gateway = await started();
    expect(await replyTo(gateway, MAP, { from, link })).toEqual([]);
    expect(gateway.asked).toEqual([]);
    expect(await replyTo(gateway, MAP)).toHaveLength(1);
  });

  test.each(["", "00", "0002", "0082000000000001", `0281${"00".repeat(58)}`])("%p", async (hex) => {
    const gateway = await started();
    expect(await replyTo(gateway, hex)).toEqual([]);
  });

  test("a device that asks more than twenty times a second, while others are answered", async () => {
    const gateway = await started();
    const { datagrams } = gateway.host;
    for (let count = 0; count < 300; count++)
      datagrams.hear("lan0", OWN, { address: DEVICE, port: count + 1, bytes: Uint8Array.fromHex("0063") });
    expect(await replyTo(gateway, MAP, { from: "192.168.7.21" })).toHaveLength(21);
    await gateway.host.pass(1_000);
    expect(await replyTo(gateway, MAP)).toHaveLength(1);
  });

  test("a flood from everywhere beyond two hundred a second", async () => {
    const gateway = await started();
    for (let count = 0; count < 3_000; count++)
      gateway.host.datagrams.hear("wlan0", "10.5.0.1", {
        address: `10.5.${1 + (count >> 8)}.${count & 255}`,
        port: 1,
        bytes: Uint8Array.fromHex("0063"),
      });
    expect(await replyTo(gateway, MAP, { from: "10.5.99.1", link: "wlan0" })).toHaveLength(200);
  });
});

test("a device whose requests are all under way does not keep others from an answer", async () => {
  const gateway = await started();
  const { all, host } = gateway;
  all.map = () => new Promise(() => {});
  for (let second = 0; second < 5; second++) {
    for (let port = 1; port <= 20; port++) await hear(gateway, MAP, { port: 100 * second + port });
    await host.pass(1_000);
  }
  expect(gateway.asked).toHaveLength(16);
  all.map = async ({ lifetimeMs }) => ({ external: 50_326, lifetimeMs, address: null });
  expect(await replyTo(gateway, MAP, { from: "192.168.7.21" })).toHaveLength(1);
});

test("refusals are logged once a minute, whatever devices ask for", async () => {
  const gateway = await started();
  gateway.all.map = () => Promise.reject(new PortRefusal("refused", { message: "no" }));
  for (let port = 10; port < 90; port++) {
    await hear(gateway, `0002000000${port}00000000003c`);
    await gateway.host.pass(800);
  }
  expect(gateway.lines).toEqual([
    `${DEVICE} gets no port for its tcp 16: no`,
    expect.stringMatching(/gets no port for its tcp [0-9]+: no$/),
  ]);
});

describe("the gateway listens", () => {
  test("on its IPv4 addresses on the LAN, each bound to its interface, and nowhere else", async () => {
    const { host, ending } = await started();
    expect(host.datagrams.places).toEqual([
      { link: "lan0", own: { address: OWN, port: 5351 } },
      { link: "wlan0", own: { address: "10.5.0.1", port: 5351 } },
    ]);
    ending.abort();
    await host.pass(200);
    expect(host.datagrams.places).toEqual([]);
  });

  test("on a LAN that comes later, and no longer on one that goes", async () => {
    const { host, all } = await started();
    all.network = { ...all.network, lans: all.network.lans.slice(0, 1) };
    await host.pass(200);
    expect(host.datagrams.places).toEqual([{ link: "lan0", own: { address: OWN, port: 5351 } }]);
  });

  test("on the others if one cannot be listened on, says so once, and tries again", async () => {
    const gateway = begin();
    const { host, warnings } = gateway;
    host.datagrams.missing.add("wlan0");
    await host.pass(10_000);
    expect(host.datagrams.places).toEqual([{ link: "lan0", own: { address: OWN, port: 5351 } }]);
    expect(warnings).toEqual(["devices cannot ask for ports everywhere: no UDP socket by wlan0"]);
    host.datagrams.missing.clear();
    await host.pass(4_000);
    expect(host.datagrams.places).toHaveLength(2);
    expect(await replyTo(gateway, MAP)).toHaveLength(1);
  });
});

describe("the devices are told", () => {
  const announced = ({ host }: Begun) => host.datagrams.sent.filter(({ to }) => to === "224.0.0.1:5350");

  test("ten times after a start that the ports of before are gone, which the firewall permits", async () => {
    const gateway = begin();
    const { host, updates } = gateway;
    const at: number[] = [];
    host.datagrams.onSent = (_, { link }) => {
      if (link === "lan0") at.push(host.monotonic());
      return null;
    };
    const start = host.monotonic();
    await host.pass(200_000);
    const waits = at.map((ms) => (ms - start) / 1000);
    expect(waits).toEqual([0, 0.3, 0.8, 1.8, 3.8, 7.8, 15.8, 31.8, 63.8, 127.8]);
    expect(
      announced(gateway)
        .map(({ place: { link }, hex }) => `${link} ${hex}`)
        .slice(0, 4),
    ).toEqual([
      "lan0 008000030000000000000000",
      "wlan0 008000030000000000000000",
      "lan0 008000030000000000000000",
      "wlan0 008000030000000000000000",
    ]);
    expect(announced(gateway).at(-1)?.hex).toBe("008000030000007f00000000");
    expect(updates).toEqual([["NAT-PMP", { announces: true }]]);
  });

  test("when their port becomes another one, with the epoch from zero again", async () => {
    const gateway = await started();
    await gateway.host.pass(200_000);
    const before = announced(gateway).length;
    gateway.server.changed(forward(50_326));
    gateway.server.changed(forward(null, { state: "closed" }));
    gateway.server.changed(forward(50_326));
    await gateway.host.pass(1_000);
    expect(announced(gateway).length).toBe(before);
    gateway.server.changed(forward(50_400));
    await gateway.host.pass(100);
    expect(
      announced(gateway)
        .slice(before)
        .map(({ hex }) => hex),
    ).toEqual(["0080000000000000cb007107", "0080000000000000cb007107"]);
    expect(await replyTo(gateway, MAP)).toEqual([`lan0 ${DEVICE}:40000 0082000000000000${MAPPED}`]);
  });

  test("when the public address becomes another one", async () => {
    const gateway = await started();
    await gateway.host.pass(200_000);
    const before = announced(gateway).length;
    gateway.server.changed(forward(50_326, { address: null }));
    gateway.server.changed(forward(50_326));
    await gateway.host.pass(1_000);
    expect(announced(gateway).length).toBe(before);
    gateway.server.changed(forward(50_326, { address: "203.0.113.8" }));
    await gateway.host.pass(100);
    expect(announced(gateway).at(-1)?.hex).toBe("0080000000000000cb007108");
  });

  test("not of a person's ports, and not of one that was removed and asked for again", async () => {
    const gateway = await started();
    await gateway.host.pass(200_000);
    const before = announced(gateway).length;
    gateway.server.changed(forward(50_326, { asked_by: "operator" }));
    gateway.server.changed(forward(50_400, { asked_by: "operator" }));
    gateway.server.changed(forward(50_326));
    gateway.server.removed(forward(50_326));
    gateway.server.changed(forward(50_400));
    await gateway.host.pass(1_000);
    expect(announced(gateway).length).toBe(before);
  });
});
