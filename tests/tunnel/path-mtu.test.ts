import { describe, expect } from "bun:test";
import type { Server } from "../../src/servers/schema.ts";
import type { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, server, stoodAlways, TWO } from "./gateway.ts";

const { test } = slow;

const PATIENCE_MS = 60_000;
const WHOLE_MTU = 1420;
/** The resolvers of the servers, which are inside their tunnels. */
const RESOLVER = { one: "10.64.0.101", two: "10.64.0.102" };
const OVER_IPV6 = server("six", 6, { endpoint: { host: "2001:db8::6", port: 51820 } });

/** A test with a gateway that is watched; time goes by in `host.pass` alone. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>): void {
  test(text, () => inDirectory(async (directory) => work(await Gateway.watched(directory))), PATIENCE_MS);
}

async function connect(gateway: Gateway, wanted: Server, tunnel = "main"): Promise<void> {
  const { controller } = await gateway.tunnels.opened(tunnel);
  const connecting = controller.connect(wanted);
  await gateway.host.pass(3_000);
  await connecting;
}

/** How many bytes the path carries, inside the tunnels. */
function narrow({ echoing }: FakeHost, bytes: number): void {
  for (const number of [1, 2, 3, 6]) echoing.set(`10.64.0.${number + 100}`, bytes);
}

/** The last line that set the main tunnel's IPv4 route. */
function routed({ batched }: FakeHost, table = 20556): string | undefined {
  return batched.findLast(
    (line) => line.startsWith("route replace 0.0.0.0/0") && line.includes(`table ${table}`),
  );
}

function echoesOn(host: FakeHost): string[] {
  const echoes: string[] = [];
  host.onEvent = (event) => {
    if (event.startsWith("echo ")) echoes.push(event);
  };
  return echoes;
}

describe("after a connect", () => {
  claim("a long packet that is answered changes nothing", async (gateway) => {
    const { host } = gateway;
    narrow(host, 1500);
    await connect(gateway, ONE);
    expect(routed(host)).toBe("route replace 0.0.0.0/0 dev wg0 table 20556");
    expect((await gateway.status()).mtu).toBe(WHOLE_MTU);
    expect(gateway.log.filter((line) => line.includes("packets"))).toEqual([]);
  });

  claim("the routes get the length that is answered, which is logged once and shown", async (gateway) => {
    const { host } = gateway;
    narrow(host, 1400);
    const echoes = echoesOn(host);
    await connect(gateway, ONE);
    expect(echoes).toEqual([`echo ${RESOLVER.one} 1420,1408,1392,1376,1360,1344,1328,1312,1296,1280`]);
    expect(routed(host)).toBe("route replace 0.0.0.0/0 dev wg0 table 20556 mtu lock 1392");
    expect(host.links.get("wg0")?.mtu).toBe(WHOLE_MTU);
    await connect(gateway, TWO);
    expect((await gateway.status()).mtu).toBe(1392);
    expect(gateway.log.filter((line) => line.includes("packets"))).toEqual([
      "packets of more than 1392 bytes do not get through the tunnel whole: none are sent",
    ]);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("what a router has told the kernel counts, although fragments are answered", async (gateway) => {
    const { host } = gateway;
    const address = ONE.config.peer.endpoint.host;
    narrow(host, 1500);
    host.toldMtus.set(address, 1400);
    await connect(gateway, ONE);
    expect([routed(host), (await gateway.status()).mtu]).toEqual([
      "route replace 0.0.0.0/0 dev wg0 table 20556 mtu lock 1328",
      1328,
    ]);
    expect(gateway.log).toContain(
      "packets of more than 1340 bytes do not get through the tunnel whole: none are sent",
    );
    // Enough for the longest packet of the tunnel.
    host.toldMtus.set(address, 1492);
    await gateway.controller.disconnect();
    await connect(gateway, ONE);
    expect((await gateway.status()).mtu).toBe(WHOLE_MTU);
  });

  claim("it counts too if nobody answers, unless a narrower path is known", async (gateway) => {
    const { host } = gateway;
    for (const { config } of [ONE, TWO]) host.toldMtus.set(config.peer.endpoint.host, 1400);
    await connect(gateway, ONE);
    expect((await gateway.status()).mtu).toBe(1328);
    narrow(host, 1300);
    await connect(gateway, TWO);
    host.echoing.clear();
    await connect(gateway, ONE);
    expect((await gateway.status()).mtu).toBe(1296);
  });

  claim("silence says nothing about the length", async (gateway) => {
    const { host } = gateway;
    narrow(host, 1279);
    await connect(gateway, ONE);
    expect([routed(host), (await gateway.status()).mtu]).toEqual([
      "route replace 0.0.0.0/0 dev wg0 table 20556",
      WHOLE_MTU,
    ]);
  });

  claim("nothing is sent to a resolver in the LAN, or of a family that the tunnel lacks", async (gateway) => {
    const echoes = echoesOn(gateway.host);
    const { interface: own, peer } = ONE.config;
    const dns = [..."192.168.7.53 fd00:64::53".split(" ")] as typeof own.dns;
    const addresses = own.addresses.slice(0, 1);
    await connect(gateway, { ...ONE, config: { interface: { ...own, addresses, dns }, peer } });
    expect([echoes, gateway.controller.state.name]).toEqual([[], "connected"]);
  });

  claim("a server's own MTU is the most, and may be lowered", async (gateway) => {
    const { host } = gateway;
    const { interface: own, peer } = ONE.config;
    narrow(host, 1500);
    await connect(gateway, { ...ONE, config: { interface: { ...own, mtu: 1390 }, peer } });
    expect((await gateway.status()).mtu).toBe(1390);
    await gateway.controller.disconnect();
    narrow(host, 1330);
    await connect(gateway, { ...ONE, config: { interface: { ...own, mtu: 1390 }, peer } });
    expect((await gateway.status()).mtu).toBe(1328);
  });
});

describe("what is known of a path", () => {
  claim(
    "is used from the next connect on, also after a restart, until more gets through",
    async (gateway) => {
      const { host } = gateway;
      narrow(host, 1330);
      await connect(gateway, ONE);
      host.echoing.clear();
      await gateway.restart();
      host.batched.length = 0;
      await connect(gateway, TWO);
      expect(host.batched.filter((line) => line.startsWith("route replace 0.0.0.0/0"))).toEqual([
        "route replace 0.0.0.0/0 dev wg1 table 20556 mtu lock 1328",
      ]);
      gateway.watch();
      narrow(host, 1500);
      await connect(gateway, ONE);
      expect([routed(host), (await gateway.status()).mtu]).toEqual([
        "route replace 0.0.0.0/0 dev wg0 table 20556",
        WHOLE_MTU,
      ]);
      expect(gateway.log).toContain("packets of 1420 bytes, the longest, get through the tunnel again");
    },
  );

  claim("survives the repair of routes that another program has removed", async (gateway) => {
    const { host } = gateway;
    narrow(host, 1330);
    await connect(gateway, ONE);
    host.batched.length = 0;
    host.removeRoute("0.0.0.0/0");
    await host.pass(3_000);
    expect(routed(host)).toBe("route replace 0.0.0.0/0 dev wg0 table 20556 mtu lock 1328");
  });

  claim("counts for a server reached over IPv6, with its longer header", async (gateway) => {
    narrow(gateway.host, 1330);
    await connect(gateway, ONE);
    gateway.host.echoing.clear();
    await connect(gateway, OVER_IPV6);
    expect((await gateway.status()).mtu).toBe(1296);
  });

  claim("counts for the other tunnels at once, which send no echo requests of their own", async (gateway) => {
    const { host } = gateway;
    const echoes = echoesOn(host);
    await connect(gateway, TWO, "tv");
    expect([echoes, (await gateway.tunnels.named("tv").controller.row()).mtu]).toEqual([[], WHOLE_MTU]);
    narrow(host, 1330);
    await connect(gateway, ONE);
    await host.pass(3_000);
    expect(routed(host, 20557)).toBe("route replace 0.0.0.0/0 dev wg2 table 20557 mtu lock 1328");
    expect((await gateway.tunnels.named("tv").controller.row()).mtu).toBe(1328);
  });

  claim("belongs to its uplink's network", async (gateway) => {
    const { host, controller } = gateway;
    narrow(host, 1330);
    await connect(gateway, ONE);
    await controller.disconnect();
    host.echoing.clear();
    host.links.get("up0")?.addresses.push("192.168.178.20/24");
    host.tell("ip", "[ADDR]3: up0    inet 192.168.178.20/24 scope global up0");
    await host.pass(5_000);
    await connect(gateway, ONE);
    expect((await gateway.status()).mtu).toBe(WHOLE_MTU);
  });
});

claim("a measurement that the end of the tunnel interrupts changes nothing", async (gateway) => {
  const { host, controller } = gateway;
  host.probePath = async (_, [whole = 0]) => {
    await controller.disconnect();
    return whole - 16;
  };
  await connect(gateway, ONE);
  await host.pass(3_000);
  expect(gateway.store.read("path_mtus")).toBeNull();
  expect((await gateway.status()).mtu).toBeNull();
});

claim("a kernel without ICMP sockets is reported once", async (gateway) => {
  const { host } = gateway;
  host.probePath = () => Promise.reject(new Error("the kernel permits this program no ICMP socket"));
  await connect(gateway, ONE);
  await connect(gateway, TWO);
  expect(gateway.log.filter((line) => line.includes("longest packet"))).toEqual([
    "the longest packet that the tunnel carries is unknown: the kernel permits this program no ICMP socket",
  ]);
});

claim(
  "the service's group may send echo requests, unless the operator has chosen the groups",
  async (gateway) => {
    const { host } = gateway;
    const groups = "/proc/sys/net/ipv4/ping_group_range";
    host.files.set(groups, "1\t0\n");
    await connect(gateway, ONE);
    expect(host.files.get(groups)).toBe("0 0\n");
    host.files.set(groups, "100\t200\n");
    await connect(gateway, TWO);
    expect(host.files.get(groups)).toBe("100\t200\n");
  },
);
