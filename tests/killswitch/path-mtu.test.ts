import { expect, setDefaultTimeout } from "bun:test";
import { rulesetOf } from "../../src/killswitch/ruleset.ts";
import type { Host } from "../../src/system/host.ts";
import { needsNamespaces } from "../fast.ts";
import { inject } from "../rig/tools/injector.ts";
import {
  datagramFrame,
  ICMP,
  ICMPV6,
  icmpBytes,
  packetBytes,
  packetFrame,
  UDP,
  udpBytes,
} from "../rig/tools/packet.ts";
import { until } from "../rig/tools/until.ts";
import { POLICIES } from "./example.ts";
import { CONNECTED, inNamespace } from "./namespace.ts";

// Whoever sends what is too long for a link further on learns it: the gateway's own errors leave only as far as this.

const PATIENCE_MS = 180_000;
setDefaultTimeout(PATIENCE_MS);
const NARROW = 1280;
const WIDE = 1500;
const LONG = "x".repeat(1_340);
const DEVICE_MAC = "020000000050";
const PORT = 40_000;

/** The gateway of the connected policy, without its routing rules, so that only the firewall blocks. */
const LINKS = [
  ...CONNECTED,
  ...["fd00:7::1/64 dev lan0 nodad", "fd00:8::2/64 dev up0 nodad", "fd00:64::2/128 dev wg0 nodad"].map(
    (address) => `address add ${address}`,
  ),
];

interface Case {
  family: 4 | 6;
  device: string;
  server: string;
  /** A router on the way to the server. */
  router: string;
  own: string;
}

const CASES: readonly Case[] = [
  {
    ...{ family: 4, device: "192.168.7.50", server: "203.0.113.80" },
    ...{ router: "203.0.113.1", own: "10.64.0.2" },
  },
  {
    ...{ family: 6, device: "fd00:7::50", server: "2001:db8:9::80" },
    ...{ router: "2001:db8:9::1", own: "fd00:64::2" },
  },
];

const TOO_BIG = {
  4: "icmp type destination-unreachable icmp code frag-needed",
  6: "icmpv6 type packet-too-big",
};

needsNamespaces.test.each(CASES)(
  "a device learns that its packets are too long for the tunnel, IPv$family",
  (each) =>
    inGateway(each, { lan0: WIDE, wg0: NARROW }, async (gateway) => {
      await gateway.deviceSends();
      await gateway.tells("lan0", each.device);
    }),
);

needsNamespaces.test.each(CASES)(
  "a device learns from a router behind the tunnel that its packets are too long, IPv$family",
  (each) =>
    inGateway(each, { lan0: WIDE, wg0: WIDE }, async (gateway) => {
      await gateway.deviceSends();
      await gateway.routerTells();
      await gateway.tells("lan0", each.device);
    }),
);

needsNamespaces.test.each(CASES)(
  "a server behind the tunnel learns that its answers are too long for the LAN, IPv$family",
  (each) =>
    inGateway(each, { lan0: NARROW, wg0: WIDE }, async (gateway) => {
      await gateway.deviceSends("short");
      await gateway.serverAnswers();
      await gateway.tells("wg0", each.server);
    }),
);

interface Gateway {
  deviceSends(payload?: string): Promise<void>;
  serverAnswers(): Promise<void>;
  routerTells(): Promise<void>;
  /** Waits until it leaves by this link for that address; by no other does any. */
  tells(link: "lan0" | "wg0", to: string): Promise<void>;
}

function inGateway(
  { family, device, server, router, own }: Case,
  mtus: Readonly<Record<"lan0" | "wg0", number>>,
  work: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  return inNamespace(async (host) => {
    await build(host, family, mtus);
    const namespace = (await host.run(["ip", "netns", "identify"])).trim();
    const macOf = async (link: string) => {
      const [found] = JSON.parse(await host.run(["ip", "-j", "link", "show", link]));
      return String(found.address).replaceAll(":", "");
    };
    const [lan, tunnel] = [await macOf("lan0"), await macOf("wg0")];
    const comesBack = { fromMac: DEVICE_MAC, toMac: tunnel, to: own };
    const sent = { from: own, to: server, sourcePort: PORT, targetPort: 9, payload: LONG };
    await work({
      deviceSends: (payload = LONG) => {
        const way = { fromMac: DEVICE_MAC, toMac: lan, from: device, to: server };
        return inject(namespace, "peer0", [
          datagramFrame({ ...way, sourcePort: PORT, targetPort: 9, payload }),
        ]);
      },
      serverAnswers: () =>
        inject(namespace, "peer2", [
          datagramFrame({ ...comesBack, from: server, sourcePort: 9, targetPort: PORT, payload: LONG }),
        ]),
      routerTells: () => {
        const about = packetBytes(sent, { protocol: UDP, bytes: udpBytes(sent) }).subarray(0, 548);
        const ends = { from: router, to: own };
        const [type, code, protocol] = family === 4 ? [3, 4, ICMP] : [2, 0, ICMPV6];
        const bytes = icmpBytes(ends, type, code, NARROW, about);
        return inject(namespace, "peer2", [packetFrame({ ...comesBack, from: router }, { protocol, bytes })]);
      },
      tells: async (link, to) => {
        const header = family === 4 ? "ip" : "ip6";
        const rule = `oifname "${link}" ${header} daddr ${to}`;
        await until(async () => ((await counts(host)).get(rule) ?? 0) > 0);
        const others = [...(await counts(host))].filter(([other]) => other !== rule);
        expect(others.map(([, packets]) => packets)).toEqual(others.map(() => 0));
      },
    });
  });

  async function build(host: Host, of: 4 | 6, { lan0, wg0 }: typeof mtus): Promise<void> {
    const routes = [`-4 route add default dev wg0`, `-6 route add default dev wg0`];
    await host.run(["ip", "-batch", "-"], {
      stdin: [...LINKS, `link set lan0 mtu ${lan0}`, `link set wg0 mtu ${wg0}`, ""].join("\n"),
    });
    for (const route of routes) await host.run(["ip", ...route.split(" ")]);
    await host.run([
      ...["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
      ...["all", "lan0", "up0", "wg0"].map((name) => `net.ipv4.conf.${name}.rp_filter=0`),
    ]);
    await host.run(["nft", "-f", "-"], { stdin: rulesetOf(POLICIES.connected) });
    const header = of === 4 ? "ip" : "ip6";
    const rules = [
      `oifname "lan0" ${header} daddr ${device}`,
      `oifname "wg0" ${header} daddr ${server}`,
      `oifname "up0"`,
    ];
    const lines = rules.map(
      (rule) => `${rule} ${TOO_BIG[of]} counter comment "${rule.replaceAll('"', "'")}"`,
    );
    const chain = ["chain count {", "type filter hook postrouting priority 300", ...lines, "}"];
    await host.run(["nft", "-f", "-"], { stdin: ["table inet made {", ...chain, "}"].join("\n") });
  }
}

/** How many packets each rule has counted, by its text. */
async function counts(host: Host): Promise<ReadonlyMap<string, number>> {
  const listing = await host.run(["nft", "list", "chain", "inet", "made", "count"]);
  return new Map(
    [...listing.matchAll(/counter packets (\d+) bytes \d+ comment "(.*)"/g)].map(([, packets, rule = ""]) => [
      rule.replaceAll("'", '"'),
      Number(packets),
    ]),
  );
}
