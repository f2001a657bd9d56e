import assert from "node:assert/strict";
import { INTERNET, LAN, ROUTER, TUNNEL, UPLINK } from "../../../src/sandbox/topology.ts";
import { inject } from "../tools/injector.ts";
import { place, type Side, tunnelAddresses } from "../tools/intruder.ts";
import type { Lab } from "../tools/lab.ts";
import { Listener } from "../tools/listener.ts";
import { packetFrame } from "../tools/packet.ts";
import { Probe } from "../tools/probe.ts";
import { Wiretap } from "../tools/wiretap.ts";
import { craftedBodies } from "./crafted.ts";
import type { Scenario, Stage } from "./stage.ts";

/** Hosts of nobody's network here, with public and with private addresses. */
const STRANGERS = ["198.51.100.7", "192.168.99.7", "2001:db8:99::7", "fd99::7"];
/** Of a prefix that the provider has given the LAN. */
const PUBLIC = { client: "2001:db8:77::10", gateway: "2001:db8:77::1" };
const PORT = 20_500;
const NOWHERE = ["10.99.9.9", "fd9a::9"];
/** The kernel sends ICMP errors rarely, and a test wants to see each. */
export const UNLIMITED = [
  "net.ipv4.icmp_ratelimit=0",
  "net.ipv4.icmp_msgs_per_sec=100000",
  "net.ipv6.icmp.ratelimit=0",
];
/** For answers, and for what waits in front of a tunnel's two programs. */
const MOMENT_MS = 500;
const DHCP = { 4: { sourcePort: 68, port: 67 }, 6: { sourcePort: 546, port: 547 } } as const;

/** What is no connection of the LAN's: it is not answered, and it does not enter the tunnel. */
export const STRANGER_SCENARIOS: readonly Scenario[] = [
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `crafted packets of strangers on the uplink's side, while ${from}`,
      cards: [2, 1],
      from,
      run: async ({ lab }) => assert.deepEqual(await answersToStrangers(lab), []),
    }),
  ),
  {
    name: "crafted packets of a LAN client that belong to no connection",
    cards: [2, 1],
    from: "connected",
    run: async ({ lab }) => assert.deepEqual(await untranslatedCraft(lab), []),
  },
  {
    name: "packets of the old tunnel's connections at a switch",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      const switches = async () => {
        for (const server of ["box-vpn-2", "box-vpn-1"]) {
          assert.equal((await stage.connect(server)).status, 200);
          await stage.observe(50);
        }
      };
      assert.deepEqual(await untranslated(stage.lab, switches), []);
    },
  },
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `a device that finds the gateway by a public IPv6 address of the LAN's cable, while ${from}`,
      cards: [2, 1],
      from,
      run: publicNeighbour,
    }),
  ),
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `packets in the shape of DHCP for the internet, while ${from}`,
      cards: [2, 1],
      from,
      run: shapedLikeDhcp,
    }),
  ),
];

/** Frames of strangers for addresses everywhere; returns what went back to them, by the cable or through the tunnel. */
export async function answersToStrangers(lab: Lab, more: readonly string[] = []): Promise<string[]> {
  const { gateway, router } = lab.namespaces;
  await lab.exec(gateway, ["sysctl", "-qw", ...UNLIMITED]);
  // With one card the home router is a host of the LAN's cable.
  const home = lab.sandbox.cards === 2 ? [ROUTER.lan[2].v4, ROUTER.lan[2].v6] : [];
  const sources = [...STRANGERS, ...home];
  const targets = [
    ...[INTERNET.host4, TUNNEL.server4, LAN.client4, UPLINK.gateway4, INTERNET.host6, TUNNEL.server6],
    ...[LAN.client6, UPLINK.gateway6, ...NOWHERE, ...more],
  ];
  const pairs = sources.flatMap((from) => targets.map((to) => [from, to] as const));
  const ofOneFamily = pairs.filter(([from, to]) => from.includes(":") === to.includes(":"));
  const back = sources.map((host) => `${host.includes(":") ? "ip6" : "ip"} dst host ${host}`).join(" or ");
  const card = (await place(lab, "uplink")).gateway.replace(/(..)(?=.)/g, "$1:");
  const neighbours = "(icmp6 and ip6[40] >= 133 and ip6[40] <= 136)";
  // A direct device asks the home router for names; nothing of the strangers' comes from that port.
  const others = `not ${neighbours} and not udp dst port 53`;
  const tap = await Wiretap.start(router, "lan0", `ether src ${card} and (${back}) and ${others}`);
  const inside = await enteringTunnel(lab, back, () => send(lab, "uplink", ofOneFamily));
  return [...inside, ...(await tap.stop())];
}

/** What enters a tunnel while `work` is done and has another source than main's and the second tunnel's addresses. */
function untranslated(lab: Lab, work: () => Promise<unknown>): Promise<string[]> {
  const { v4, v6 } = tunnelAddresses(lab);
  const second = lab.sandbox.servers.flatMap(({ imported }) => imported.address.split(","));
  const own = [v4, v6, ...second.map((address) => address.split("/")[0])];
  return enteringTunnel(lab, own.map((address) => `not src host ${address}`).join(" and "), work);
}

/** What arrives at the servers by the tunnel while `work` is done, of the packets that a filter picks. */
async function enteringTunnel(lab: Lab, filter: string, work: () => Promise<unknown>): Promise<string[]> {
  const servers = (["vpn1", "vpn2"] as const).map((role, index) => ({
    namespace: lab.namespaces[role],
    link: lab.sandbox.serverInterfaces[role],
    peer: lab.sandbox.servers[index]?.managed.publicKey ?? "",
  }));
  const allow = (prefixes: string) =>
    Promise.all(
      servers.map(({ namespace, link, peer }) =>
        lab.exec(namespace, ["wg", "set", link, "peer", peer, "allowed-ips", prefixes]),
      ),
    );
  // A server drops what has another source than its customer's (white paper, section 2): these take all.
  await allow("0.0.0.0/0,::/0");
  try {
    const taps = await Promise.all(
      servers.map(({ namespace, link }) => Wiretap.start(namespace, link, `inbound and (${filter})`)),
    );
    await work();
    return (await Promise.all(taps.map((tap) => tap.stop()))).flat();
  } finally {
    await allow(lab.sandbox.managedAddress);
  }
}

/** The client's frames for the internet, of every kind; returns what enters the tunnel as it is. */
export function untranslatedCraft(lab: Lab): Promise<string[]> {
  return untranslated(lab, () =>
    send(lab, "lan", [
      [LAN.client4, INTERNET.host4],
      [LAN.client6, INTERNET.host6],
    ]),
  );
}

async function send(lab: Lab, side: Side, pairs: readonly (readonly [string, string])[]): Promise<void> {
  const { namespace, own, gateway } = await place(lab, side);
  const frames = pairs.flatMap(([from, to]) =>
    craftedBodies(from, to).map((body) => packetFrame({ fromMac: own, toMac: gateway, from, to }, body)),
  );
  await inject(namespace, "lan0", frames);
  await Bun.sleep(MOMENT_MS);
}

/** It is refused at once, and whoever is further away hears nothing; by a LAN address it gets in. */
async function publicNeighbour({ lab }: Stage): Promise<void> {
  const { client, gateway } = lab.namespaces;
  for (const [namespace, address] of [
    [gateway, PUBLIC.gateway],
    [client, PUBLIC.client],
  ] as const) {
    await lab.exec(namespace, ["ip", "address", "add", `${address}/64`, "dev", "lan0", "nodad"]);
  }
  const listener = await Listener.start(gateway, PORT);
  const payload = "aa";
  const probe = await Probe.start(client, [
    { protocol: "tcp", address: LAN.gateway6, port: PORT, payload },
    { protocol: "tcp", address: PUBLIC.gateway, port: PORT, payload },
    { protocol: "udp", address: PUBLIC.gateway, port: PORT, payload },
  ]);
  await probe.until(
    ({ target, answered, refused }) => (target.address === LAN.gateway6 ? answered : refused) > 0,
  );
  const [inside, ...refused] = await probe.stop();
  const heard = await listener.stop();
  const beyond = await answersToStrangers(lab, [PUBLIC.gateway]);
  // Where someone has turned that setting off, the refusal has no way back, and must not take the tunnel.
  await lab.exec(gateway, ["sysctl", "-qw", "net.ipv6.fwmark_reflect=0"]);
  beyond.push(...(await answersToStrangers(lab, [PUBLIC.gateway])));
  await lab.exec(gateway, ["sysctl", "-qw", "net.ipv6.fwmark_reflect=1"]);
  await lab.exec(client, ["ip", "address", "del", `${PUBLIC.client}/64`, "dev", "lan0"]);
  assert.deepEqual(heard, [LAN.client6]);
  assert(inside !== undefined && inside.answered > 0);
  for (const { answered, refused: errors } of refused)
    assert(answered === 0 && errors > 0, "not refused at once");
  assert.deepEqual(beyond, []);
}

/** The sniffer takes such packets for leaks where they are for the internet; a lease's renewal arrives at the router. */
async function shapedLikeDhcp({ lab }: Stage): Promise<void> {
  const { client, gateway, router } = lab.namespaces;
  const home = ROUTER.lan[lab.sandbox.cards];
  const packet = { protocol: "udp", payload: "aa" } as const;
  const forInternet = [
    { ...packet, ...DHCP[4], address: INTERNET.host4 },
    { ...packet, ...DHCP[6], address: INTERNET.host6 },
  ];
  const tap = await Wiretap.start(router, "lan0", `udp and src port 68 and dst host ${home.v4}`);
  for (const targets of [forInternet, [{ ...packet, ...DHCP[4], address: home.v4 }]]) {
    const probes = await Promise.all([client, gateway].map((namespace) => Probe.start(namespace, targets)));
    await Promise.all(probes.map((probe) => probe.sends()));
    await Promise.all(probes.map((probe) => probe.stop()));
  }
  const own = lab.sandbox.cards === 2 ? UPLINK.gateway4 : LAN.gateway4;
  assert(
    (await tap.stop()).some((line) => line.includes(`${own}.68 >`)),
    "no lease is renewed",
  );
}
