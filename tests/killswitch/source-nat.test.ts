import { expect } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import { RELAY_MARK } from "../../src/network/slot.ts";
import type { Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { POLICIES } from "./example.ts";
import { inNamespace } from "./namespace.ts";

const PATIENCE_MS = 180_000;
const KNOCK = `${import.meta.dir}/../../lab/knock.ts`;

/** The gateway of the connected policy, without its routing rules, so that only the firewall blocks. */
const LINKS = [
  ...["lan0", "up0", "wg0"].flatMap((name, at) => [
    `link add ${name} type veth peer name peer${at}`,
    `link set ${name} up`,
    `link set peer${at} up`,
  ]),
  ...["192.168.7.1/24 dev lan0", "192.168.8.2/24 dev up0", "10.64.0.2/32 dev wg0"].map(
    (address) => `address add ${address}`,
  ),
  "route add default via 192.168.8.1",
];

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
  PATIENCE_MS,
);

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
  PATIENCE_MS,
);

/** The 12 bytes of the header are enough; they ask for recursion. */
async function query(host: Host, resolver: string): Promise<void> {
  const send = `socket.send(new Uint8Array([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), 53, "${resolver}")`;
  const text = `const socket = await Bun.udpSocket({}); try { ${send}; } catch {} socket.close();`;
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
  PATIENCE_MS,
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
