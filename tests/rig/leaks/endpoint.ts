import assert from "node:assert/strict";
import { VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import type { Relayed } from "../../../src/servers/schema.ts";
import { RELAY_TARGETS } from "../peers/relayed-servers.ts";
import { type Outcome, Probe, type Target } from "../tools/probe.ts";
import { Wiretap } from "../tools/wiretap.ts";
import type { Scenario, Stage } from "./stage.ts";

/** Source ports by which the sniffer tells the probes' packets from WireGuard's own. */
const FIRST_PORT = 40_100;

/** WireGuard's four messages with invalid contents, and a payload that is not WireGuard, in hexadecimal. */
const PAYLOADS = [
  `01000000${"a5".repeat(144)}`,
  `02000000${"a5".repeat(88)}`,
  `03000000${"a5".repeat(60)}`,
  `04000000${"a5".repeat(44)}`,
  Buffer.from("none of WireGuard's").toHex(),
  // As LWO hides an initiation, and as Shadowsocks encrypts one.
  `01ff0000${"a5".repeat(144)}`,
  "a5".repeat(203),
];

/** The endpoint may be reached outside the tunnel, but only by the tunnel's own packets. */
export const ENDPOINT_SCENARIOS: readonly Scenario[] = (["connected", "blocked"] as const).map((from) => ({
  name: `client and gateway send to the VPN server's own address while ${from}`,
  cards: [2, 1],
  from,
  run: async (stage) => {
    const ports = `portrange ${FIRST_PORT}-${FIRST_PORT + 99}`;
    // A direct device may happen to use one of these ports, for other hosts.
    const toServer = `(dst host ${VPN.vpn1.v4} or dst host ${VPN.vpn1.v6})`;
    const tapped = `udp and src ${ports} and ${toServer}`;
    // The relay's own connection is made before, and has no further SYN.
    const isOpened = `tcp[tcpflags] & (tcp-syn | tcp-ack) == tcp-syn and dst host ${VPN.vpn1.v4}`;
    const filter = `(${tapped}) or (${isOpened})`;
    const aside = await Wiretap.start(stage.lab.namespaces.router, "lan0", filter);
    const outcomes = await probesOf(stage);
    assert.deepEqual(await aside.stop(), []);
    if (from === "connected") await stage.sees(VPN.vpn1.v4);
    for (const outcome of outcomes) assert(outcome.sent > 0);
  },
}));

async function probesOf({ lab, transport }: Stage): Promise<Outcome[]> {
  const { client, gateway } = lab.namespaces;
  const probes = await Promise.all([client, gateway].map((from) => Probe.start(from, targets(transport))));
  await Promise.all(probes.map((probe) => probe.sends()));
  return (await Promise.all(probes.map((probe) => probe.stop()))).flat();
}

function targets(transport: Relayed | null): Target[] {
  const { v4, v6 } = VPN.vpn1;
  const ports = new Set([
    VPN_PORT,
    4_500,
    80,
    ...(transport === null ? [] : [RELAY_TARGETS[transport].port]),
  ]);
  const both = [v4, v6].flatMap((address) => [...ports].map((port) => ({ address, port })));
  const datagrams = both.flatMap((to) => PAYLOADS.map((payload) => ({ ...to, payload })));
  const connections = both.map((to): Target => ({ ...to, protocol: "tcp", payload: "00" }));
  return [
    ...datagrams.map((one, index): Target => ({ ...one, protocol: "udp", sourcePort: FIRST_PORT + index })),
    ...connections,
  ];
}
