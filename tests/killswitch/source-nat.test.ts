import { expect, setDefaultTimeout } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { RELAY_MARK } from "../../src/network/slot.ts";
import type { Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { inject } from "../rig/tools/injector.ts";
import { datagramFrame } from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";
import { POLICIES } from "./example.ts";
import { CONNECTED, inNamespace } from "./namespace.ts";

const PATIENCE_MS = 180_000;
setDefaultTimeout(PATIENCE_MS);
const KNOCK = `${import.meta.dir}/../../tests/rig/tools/connection-attempt.ts`;

/** The gateway of the connected policy, without its routing rules, so that only the firewall blocks. */
const LINKS = [...CONNECTED, "route add default via 192.168.8.1"];

/** As a container engine adds it, and a count of the DNS queries that leave by the uplink. */
const otherAt = (priority: string) => `table ip other {
  chain nat { type nat hook postrouting priority ${priority}; oifname "up0" masquerade; }
  chain count { type filter hook postrouting priority 300; oifname "up0" udp dport 53 counter; }
}`;

needsNamespaces.test.each(["srcnat", "srcnat - 20"])(
  "a redirected DNS query does not leave by the uplink, even if another program translates what does, at %s",
  (priority) =>
    inNamespace(async (host) => {
      await host.run(["ip", "-batch", "-"], { stdin: `${LINKS.join("\n")}\n` });
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      await host.run(["nft", "-f", "-"], { stdin: otherAt(priority) });
      await query(host, "192.168.7.53");
      expect(await counted(host)).toBe(0);
      await host.run(["nft", "delete", "table", "inet", "portcullis"]);
      await query(host, "192.0.2.53");
      expect(await counted(host)).toBe(1);
    }),
);

/** A resolver that a query names, the tunnel's that it is redirected to, and the tunnel's own address. */
const ASKED = [
  ["192.0.2.53", "10.64.0.1", "10.64.0.2"],
  ["2001:db8::53", "fd00:64::1", "fd00:64::2"],
] as const;
const COUNT_ERRORS = `table inet other {
  chain count {
    type filter hook postrouting priority 300;
    oifname "up0" icmp type destination-unreachable counter
    oifname "up0" icmpv6 type destination-unreachable counter
  }
}`;

needsNamespaces.test.each(ASKED)(
  "an ICMP error about a late answer to a redirected query does not leave by the uplink, where a route of DHCP's leads to the tunnel's resolver, %s",
  (asked, resolver, own) =>
    inNamespace(async (host) => {
      const [way, sourcePort] = [asked.includes(":") ? "-6" : "-4", 41_000];
      await host.run(["ip", "-batch", "-"], { stdin: `${[...LINKS, ...WITH_IPV6].join("\n")}\n` });
      await host.run(["ip", way, "route", "replace", "default", "dev", "wg0"]);
      for (const name of ["all", "wg0"])
        await host.run(["sysctl", "-qw", `net.ipv4.conf.${name}.rp_filter=0`]);
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      await host.run(["nft", "-f", "-"], { stdin: COUNT_ERRORS });
      await query(host, asked, sourcePort);
      await host.run(["ip", way, "route", "add", resolver, "dev", "up0"]);
      const [link] = JSON.parse(await host.run(["ip", "-j", "link", "show", "wg0"]));
      const namespace = (await host.run(["ip", "netns", "identify"])).trim();
      const answer = () =>
        inject(namespace, "peer2", [
          datagramFrame({
            ...{ fromMac: DEVICE, toMac: link.address.replaceAll(":", ""), from: resolver, to: own },
            ...{ sourcePort: 53, targetPort: sourcePort, payload: "too late" },
          }),
        ]);
      await answer();
      expect(await errors(host)).toBe(0);
      // Positive control: only this rule holds it back.
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "check_leaving"]);
      await answer();
      expect(await errors(host)).toBe(1);
    }),
);

/** A device's destination where nobody answers, and the device. */
const UNANSWERED = [
  ["203.0.113.80", "192.168.7.50"],
  ["2001:db8:9::80", "fd00:7::50"],
] as const;
const COUNT_OWN_ERRORS = `table inet made {
  chain count {
    type filter hook output priority 0;
    oifname "lo" icmp type destination-unreachable counter
    oifname "lo" icmpv6 type destination-unreachable counter
  }
}`;

needsNamespaces.test.each(UNANSWERED)(
  "an ICMP error about a device's translated packet does not leave by the uplink, where a route of DHCP's leads to the device, %s",
  (to, device) =>
    inNamespace(async (host) => {
      const [way, family] = to.includes(":") ? ["-6", "ipv6"] : ["-4", "ipv4"];
      await host.run(["ip", "-batch", "-"], { stdin: `${[...LINKS, ...WITH_IPV6].join("\n")}\n` });
      await host.run(["ip", way, "route", "replace", "default", "dev", "wg0"]);
      await host.run(["ip", way, "route", "add", device, "dev", "up0"]);
      await host.run([
        ...["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
        ...["all", "lan0", "up0", "wg0"].map((name) => `net.ipv4.conf.${name}.rp_filter=0`),
        `net.${family}.neigh.wg0.retrans_time_ms=20`,
      ]);
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      await host.run(["nft", "-f", "-"], { stdin: COUNT_ERRORS });
      await host.run(["nft", "-f", "-"], { stdin: COUNT_OWN_ERRORS });
      const [link] = JSON.parse(await host.run(["ip", "-j", "link", "show", "lan0"]));
      const namespace = (await host.run(["ip", "netns", "identify"])).trim();
      const sent = async (sourcePort: number) => {
        const before = await errors(host, "made");
        await inject(namespace, "peer0", [
          datagramFrame({
            ...{ fromMac: DEVICE, toMac: link.address.replaceAll(":", ""), from: device, to },
            ...{ sourcePort, targetPort: 9, payload: "x" },
          }),
        ]);
        await until(async () => (await errors(host, "made")) > before);
      };
      await sent(40_000);
      expect(await errors(host)).toBe(0);
      // Positive control: only this chain holds it back.
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "check_leaving"]);
      await sent(40_001);
      expect(await errors(host)).toBeGreaterThan(0);
    }),
);

const DOCKERS = `table ip other {
  chain nat { type nat hook postrouting priority srcnat; ip saddr 172.17.0.0/16 oifname != "docker0" masquerade; }
}`;
/** Prints what the program there answers. */
const ASK_AT_BRIDGE = `
  const at = { hostname: "172.17.0.1", port: 8123 };
  Bun.listen({ ...at, socket: { open: (socket) => void socket.write("seen from " + socket.remoteAddress), data() {} } });
  const data = (_, text) => { process.stdout.write(String(text)); process.exit(0); };
  await Promise.race([Bun.connect({ ...at, socket: { data } }).then(() => new Promise(() => {})), Bun.sleep(5_000)]);
  process.exit(0);`;

needsNamespaces.test(
  "a program on the gateway reaches another at the address of Docker's bridge, where Docker translates its connection",
  () =>
    inNamespace(async (host) => {
      const bridge = [
        "link add docker0 type bridge",
        "link set docker0 up",
        "address add 172.17.0.1/16 dev docker0",
      ];
      await host.run(["ip", "-batch", "-"], {
        stdin: `${[...LINKS, "link set lo up", ...bridge].join("\n")}\n`,
      });
      await host.run(["nft", "-f", "-"], { stdin: DOCKERS });
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
      expect(await host.run([process.execPath, "-e", ASK_AT_BRIDGE])).toBe("seen from 192.168.7.1");
    }),
);

async function errors(host: Host, table: "made" | "other" = "other"): Promise<number> {
  const listing = await host.run(["nft", "list", "chain", "inet", table, "count"]);
  return [...listing.matchAll(/counter packets (\d+)/g)].reduce(
    (sum, [, packets]) => sum + Number(packets),
    0,
  );
}

needsNamespaces.test(
  "a relay's packets to its server at port 53 are no DNS query: they leave by the uplink for the server itself",
  () =>
    inNamespace(async (host) => {
      await host.run(["ip", "-batch", "-"], { stdin: `${LINKS.join("\n")}\n` });
      const tunnels = POLICIES.connected.endpoints.map((each) => ({
        ...each,
        endpoint: { ...each.endpoint, port: 53 },
        relay: "udp" as const,
      }));
      const policy = { ...POLICIES.connected, endpoints: tunnels, carrying: tunnels };
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
      await host.run(["nft", "-f", "-"], { stdin: otherAt("srcnat") });
      // Any other program's query to that address is redirected.
      await query(host, "192.0.2.1");
      expect(await counted(host)).toBe(0);
      const to = { sourcePort: 20_000, address: "192.0.2.1", port: 53, isUdp: true, mark: RELAY_MARK };
      await host.run([process.execPath, KNOCK, JSON.stringify(to)]);
      expect(await counted(host)).toBe(1);
    }),
);

/** The 12 bytes of the header are enough; they ask for recursion. */
async function query(host: Host, resolver: string, port = 0): Promise<void> {
  const send = `socket.send(new Uint8Array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), 53, "${resolver}")`;
  const text = `const socket = await Bun.udpSocket({ port: ${port}, hostname: "${resolver.includes(":") ? "::" : "0.0.0.0"}" }); try { ${send}; } catch {} socket.close();`;
  await host.run([process.execPath, "-e", text]);
}

async function counted(host: Host): Promise<number> {
  const listing = await host.run(["nft", "list", "chain", "ip", "other", "count"]);
  return Number(/counter packets (\d+)/.exec(listing)?.[1]);
}

/** Counts what leaves by the tunnel's interface behind all NAT, by its source. */
const SOURCES = `table inet sources {
  chain count {
    type filter hook postrouting priority 300;
    oifname "wg0" udp dport 9 ip saddr 10.64.0.2 counter comment "right"
    oifname "wg0" udp dport 9 ip6 saddr fd00:64::2 counter comment "right"
    oifname "wg0" udp dport 9 ip saddr != 10.64.0.2 counter comment "wrong"
    oifname "wg0" udp dport 9 ip6 saddr != fd00:64::2 counter comment "wrong"
  }
}`;
/** With the last address the kernel removes the routes of IPv4, but not those of IPv6. */
const ROUTES = ["203.0.113.0/24", "2001:db8:9::/64"].map((prefix) => `route replace ${prefix} dev wg0`);
const WITH_IPV6 = [
  ...["fd00:7::1/64 dev lan0 nodad", "fd00:88::2/64 dev up0 nodad", "fd00:64::2/128 dev wg0 nodad"].map(
    (address) => `address add ${address}`,
  ),
];
const ADDRESSES = ["10.64.0.2/32 dev wg0", "fd00:64::2/128 dev wg0 nodad"];

needsNamespaces.test.each(["connected", "two-tunnels"] as const)(
  "nothing leaves by a tunnel that has lost its address, and once it is back, the same flows go on, in both families, %s",
  (name) =>
    inNamespace(async (host) => {
      const batch = (lines: readonly string[]) =>
        host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
      const change = (verb: "add" | "del") =>
        batch([...ADDRESSES.map((each) => `address ${verb} ${each}`), ...ROUTES]);
      const zonesOf = async (port: number) => {
        const zones: number[] = [];
        await host.endConnections(({ zone, original }) => {
          if (original.sourcePort === port) zones.push(zone);
          return false;
        });
        return zones;
      };
      await batch([...LINKS, ...WITH_IPV6]);
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES[name]) });
      await host.run(["nft", "-f", "-"], { stdin: SOURCES });
      await change("del");
      await send(host, 40_000);
      expect([await sources(host), await zonesOf(40_000)]).toEqual([[0, 0, 0, 0], []]);
      await change("add");
      await send(host, 40_000);
      expect([await sources(host), await zonesOf(40_000)]).toEqual([
        [1, 1, 0, 0],
        [1, 1],
      ]);
      // Positive control: without these rules another source leaves, and is kept.
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "check_leaving"]);
      await change("del");
      await send(host, 40_001);
      await change("add");
      await send(host, 40_001);
      expect([await sources(host), await zonesOf(40_001)]).toEqual([
        [1, 1, 2, 2],
        [1, 1],
      ]);
    }),
);

/** A datagram of each family, from the same address and port each time, as a device sends them. */
async function send(host: Host, port: number): Promise<void> {
  const one = (bound: string, to: string) =>
    `const s${to.length} = await Bun.udpSocket({ hostname: "${bound}", port: ${port} }); try { s${to.length}.send("x", 9, "${to}"); } catch {} s${to.length}.close();`;
  await host.run([
    process.execPath,
    "-e",
    `${one("192.168.7.1", "203.0.113.80")} ${one("fd00:7::1", "2001:db8:9::80")}`,
  ]);
}

async function sources(host: Host): Promise<number[]> {
  const listing = await host.run(["nft", "list", "chain", "inet", "sources", "count"]);
  return [...listing.matchAll(/counter packets (\d+)/g)].map(([, packets]) => Number(packets));
}

/** Counts what leaves by the uplink behind all NAT, by its source. */
const DIRECT_SOURCES = `table inet sources {
  chain count {
    type filter hook postrouting priority 300;
    oifname "up0" udp dport 9 ip saddr 192.168.8.2 counter comment "right"
    oifname "up0" udp dport 9 ip saddr != 192.168.8.2 counter comment "wrong"
  }
}`;
/** Of a direct device. */
const DEVICE = "020000000005";
/** An address of the scope `link` is none that masquerade takes, and keeps the interface's routes. */
const WITHOUT_ADDRESS = [
  "address del 192.168.8.2/24 dev up0",
  "route replace default via 192.168.8.1 dev up0 onlink",
];

needsNamespaces.test(
  "a direct device has the uplink's own address outside, and waits while the uplink has none",
  () =>
    inNamespace(async (host) => {
      const batch = (lines: readonly string[]) =>
        host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
      await batch([
        ...LINKS,
        "address add 169.254.8.2/24 dev up0 scope link",
        "neighbour add 192.168.8.1 lladdr 02:00:00:00:00:81 dev up0",
        "route replace default via 192.168.8.1 dev up0 onlink",
      ]);
      for (const name of ["all", "lan0", "up0"])
        await host.run(["sysctl", "-qw", `net.ipv4.conf.${name}.rp_filter=0`, "net.ipv4.ip_forward=1"]);
      await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.direct) });
      await host.run(["nft", "-f", "-"], { stdin: DIRECT_SOURCES });
      const [link] = JSON.parse(await host.run(["ip", "-j", "link", "show", "lan0"]));
      const namespace = (await host.run(["ip", "netns", "identify"])).trim();
      const ask = (sourcePort: number) =>
        inject(namespace, "peer0", [
          datagramFrame({
            ...{ fromMac: DEVICE, toMac: link.address.replaceAll(":", ""), from: "192.168.7.50" },
            ...{ to: "203.0.113.80", sourcePort, targetPort: 9, payload: "x" },
          }),
        ]);
      await ask(40_000);
      expect(await sources(host)).toEqual([1, 0]);
      await batch(WITHOUT_ADDRESS);
      await ask(40_001);
      expect(await sources(host)).toEqual([1, 0]);
      await batch([
        "address add 192.168.8.2/24 dev up0",
        "route replace default via 192.168.8.1 dev up0 onlink",
      ]);
      await ask(40_001);
      expect(await sources(host)).toEqual([2, 0]);
      // Positive control: without these rules the LAN's address leaves.
      await host.run(["nft", "flush", "chain", "inet", "portcullis", "check_leaving"]);
      await batch(WITHOUT_ADDRESS);
      await ask(40_002);
      expect(await sources(host)).toEqual([2, 1]);
    }),
);

/** Counts what leaves by the uplink behind all NAT over IPv6, by its source. */
const DIRECT_SOURCES_6 = DIRECT_SOURCES.replaceAll("ip saddr", "ip6 saddr").replaceAll(
  "192.168.8.2",
  "2001:db8:88::2",
);

needsNamespaces.test("over IPv6, too", () =>
  inNamespace(async (host) => {
    const batch = (lines: readonly string[]) =>
      host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
    const own = "2001:db8:88::2/64 dev up0 nodad";
    await batch([
      ...LINKS,
      "address add fd00:7::1/64 dev lan0 nodad",
      `address add ${own}`,
      "neighbour add fe80::81 lladdr 02:00:00:00:00:81 dev up0",
      "route replace 2001:db8:9::/64 via fe80::81 dev up0 onlink",
    ]);
    await host.run(["sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"]);
    await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.direct) });
    await host.run(["nft", "-f", "-"], { stdin: DIRECT_SOURCES_6 });
    const [link] = JSON.parse(await host.run(["ip", "-j", "link", "show", "lan0"]));
    const namespace = (await host.run(["ip", "netns", "identify"])).trim();
    const ask = (sourcePort: number) =>
      inject(namespace, "peer0", [
        datagramFrame({
          ...{ fromMac: DEVICE, toMac: link.address.replaceAll(":", ""), from: "fd00:7::50" },
          ...{ to: "2001:db8:9::80", sourcePort, targetPort: 9, payload: "x" },
        }),
      ]);
    await ask(40_000);
    expect(await sources(host)).toEqual([1, 0]);
    await batch([`address del ${own}`]);
    await ask(40_001);
    expect(await sources(host)).toEqual([1, 0]);
    await batch([`address add ${own}`]);
    await ask(40_001);
    expect(await sources(host)).toEqual([2, 0]);
    // Positive control: without these rules the LAN's address leaves.
    await host.run(["nft", "flush", "chain", "inet", "portcullis", "check_leaving"]);
    await batch([`address del ${own}`]);
    await ask(40_002);
    expect(await sources(host)).toEqual([2, 1]);
  }),
);
