import assert from "node:assert/strict";
import { TABLE } from "../../../src/killswitch/ruleset.ts";
import { DIRECT_MARK } from "../../../src/network/slot.ts";
import { INTERNET, LAN, TUNNEL } from "../../../src/sandbox/topology.ts";
import { knock } from "../tools/connection-attempt.ts";
import { inject } from "../tools/injector.ts";
import { place } from "../tools/intruder.ts";
import {
  fragmentFrames,
  packetFrame,
  TCP,
  tagged,
  tcpBytes,
  UDP,
  udpBytes,
  type Way,
} from "../tools/packet.ts";
import { until } from "../tools/until.ts";
import { Wiretap } from "../tools/wiretap.ts";
import { craftedBodies } from "./crafted.ts";
import type { Scenario, Stage } from "./stage.ts";

const HOSTS = [INTERNET.host4, INTERNET.host6] as const;
const PAGE6 = `http://[${INTERNET.host6}]/`;
/** No program here sends with as many hops left. */
const HOPS = 77;
/** Of datagrams that arrive by a device's exit, the first in fragments and the second with a priority tag. */
const [IN_FRAGMENTS, WITH_TAG] = [4_242, 4_243];
const ARRIVE = ["IP 4242", "IP 4243", "IP6 4242", "IP6 4243"];
const DIRECT = 3;
/** Nobody else uses them; what is sent to the second one is to leave. */
const [ODD_PORT, OPEN_PORT] = [9_321, 9_322];
/** From where the gateway asks with a direct device's mark, and then where its questions are redirected. */
const [MARKED_PORT, REDIRECTED_PORT] = [20_401, 20_402];
const STRAY_PORT = 57_166;
/** RFC 9293, section 3.1. */
const FIN_ACK = 0x11;
const OUTSIDE_LAN = "198.51.100.7";
/** Long enough for a frame that was sent before to be seen; it takes 5 ms where nothing else runs. */
const MOMENT_MS = 600;

/** Who sends as if it were another, or packets as no program sends them. */
export const IMPOSTORS: readonly Scenario[] = [
  {
    name: "frames that devices make up leave by their exits or not at all",
    cards: [2, 1],
    from: "connected",
    spares: [3],
    run: async (stage) => {
      const side = await place(stage.lab, "lan");
      const client = { namespace: side.namespace, mac: side.own, v4: LAN.client4, v6: LAN.client6 };
      for (const [sender, exit] of [
        [client, "main"],
        [stage.devices.numbered(1), "second"],
        [stage.devices.numbered(2), "blocked"],
      ] as const) {
        const seen = await arriving(stage, async () => {
          await inject(sender.namespace, "lan0", madeUp({ ...sender, gateway: side.gateway }));
          // Behind them in every queue.
          const isThrough = async () => (await stage.lab.fetchFrom(sender.namespace, PAGE6)) !== null;
          if (stage.isWhole && exit !== "blocked") await until(isThrough);
        });
        for (const [by, lines] of Object.entries(seen)) {
          if (by !== exit) assert.deepEqual([by, lines], [by, []]);
          else if (stage.isWhole) assert.deepEqual(lines.flatMap(controlIn), ARRIVE);
        }
      }
    },
  },
  {
    name: "who is not the direct device sends with its address, and it with another, and the gateway with its mark",
    cards: [2, 1],
    from: "connected",
    allowed: (leak) => leak.endsWith(` > ${OPEN_PORT}`) || leak.includes(` UDP ${REDIRECTED_PORT} > 53,`),
    run: async (stage) => {
      const { lab } = stage;
      const [blocked, direct] = [stage.devices.numbered(2), stage.devices.numbered(DIRECT)];
      const open = async () =>
        (await stage.leaks()).filter((leak) => leak.endsWith(` > ${OPEN_PORT}`)).length;
      const before = await open();
      await visit(stage, direct.namespace, direct.v4, OPEN_PORT);
      if (stage.isWhole) await until(async () => (await open()) > before);
      for (const [{ namespace }, address] of [
        [blocked, direct.v4],
        [direct, OUTSIDE_LAN],
      ] as const) {
        await lab.exec(namespace, ["ip", "address", "add", `${address}/32`, "dev", "lan0"]);
        await visit(stage, namespace, address, ODD_PORT);
        await lab.exec(namespace, ["ip", "address", "del", `${address}/32`, "dev", "lan0"]);
      }
      // The neighbours' tables know the right card again.
      await lab.exec(direct.namespace, ["ping", "-c1", "-W1", LAN.gateway4]);
      // Only the firewall refuses root's own packets with that mark.
      if (!stage.isWhole) return;
      await stage.inside("ping", "-c2", "-W1", "-m", `${DIRECT_MARK}`, INTERNET.host4);
      await ask(stage, MARKED_PORT);
      if (stage.cards === 1) return;
      // With one card the source is the uplink's own address, so NAT would change nothing, and it would be dropped too.
      await stage.gateway.kill("SIGKILL");
      await redirectOwn(stage);
      const redirected = async () =>
        (await stage.leaks()).some((leak) => leak.includes(` UDP ${REDIRECTED_PORT} > 53,`));
      await ask(stage, REDIRECTED_PORT);
      await until(redirected);
      await stage.gateway.start();
    },
  },
  {
    name: "packets of the direct device that belong to no connection, while a rule accepts all that is forwarded",
    cards: [2, 1],
    from: "connected",
    allowed: (leak) => leak.includes(` TCP ${STRAY_PORT} > `),
    run: async (stage) => {
      const frames = await strays(stage);
      const seen = async () =>
        (await stage.leaks()).filter((leak) => leak.includes(` TCP ${STRAY_PORT} > `)).length;
      const before = await seen();
      process.kill(stage.gateway.pid, "SIGSTOP");
      await stage.inside("nft", "insert", "rule", ...TABLE.split(" "), "forward", "accept");
      await inject(stage.devices.numbered(DIRECT).namespace, "lan0", frames);
      await Bun.sleep(MOMENT_MS);
      assert.equal(await seen(), before, "packets leave with the device's own address");
      if (stage.isWhole) {
        // Positive control.
        await stage.inside("nft", "flush", "chain", ...TABLE.split(" "), "check_leaving");
        await inject(stage.devices.numbered(DIRECT).namespace, "lan0", frames);
        await until(async () => (await seen()) >= before + frames.length);
      }
      process.kill(stage.gateway.pid, "SIGCONT");
      await stage.mended();
    },
  },
];

interface Sender {
  mac: string;
  v4: string;
  v6: string;
  /** The link-layer address of the gateway. */
  gateway: string;
}

/** Packets of every kind to the internet, some of them in fragments or with a priority tag. */
function madeUp(sender: Sender): Uint8Array[] {
  return waysOf(sender).flatMap((way) => {
    const datagram = (targetPort: number) => ({
      ...{ hopLimit: HOPS, protocol: UDP },
      bytes: udpBytes({ ...way, sourcePort: IN_FRAGMENTS, targetPort, payload: "x".repeat(1_000) }),
    });
    return [
      ...craftedBodies(way.from, way.to).map((body) => packetFrame(way, { hopLimit: HOPS, ...body })),
      ...fragmentFrames(way, datagram(IN_FRAGMENTS), 496),
      tagged(packetFrame(way, datagram(WITH_TAG)), 0),
    ];
  });
}

/** To a host on the internet, over IPv4 and IPv6. */
function waysOf({ mac, v4, v6, gateway }: Sender): Way[] {
  const macs = { fromMac: mac.replaceAll(":", ""), toMac: gateway };
  return [
    { ...macs, from: v4, to: HOSTS[0] },
    { ...macs, from: v6, to: HOSTS[1] },
  ];
}

/** What arrives by each tunnel, while `work` is done, of the frames that are made up. */
async function arriving({ lab }: Stage, work: () => Promise<unknown>) {
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const filter = `inbound and (ip[8] == ${HOPS - 1} or ip6[7] == ${HOPS - 1})`;
  const [main, second] = await Promise.all([
    Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
    Wiretap.start(lab.namespaces.vpn2, vpn2, filter),
  ]);
  await work();
  return { main: await main.stop(), second: await second.stop() };
}

/** Of the frames that arrive, the family and the port of the datagrams that have to. */
function controlIn(line: string): string[] {
  const [, family, port] = /^(IP6?) .*[ .](424[23]): UDP, (?:bad )?length 1000/.exec(line) ?? [];
  return family === undefined ? [] : [`${family} ${port}`];
}

async function visit({ lab }: Stage, namespace: string, from: string, port: number): Promise<void> {
  const url = `http://${INTERNET.host4}:${port}/`;
  await lab.exec(namespace, ["curl", "-s", "-m", "1", "--interface", from, url]);
}

/** The gateway asks as if it were the direct device. */
async function ask({ lab }: Stage, sourcePort: number): Promise<void> {
  const query = { address: INTERNET.dns4, port: 53, isUdp: true, mark: DIRECT_MARK };
  await knock(lab.namespaces.gateway, { ...query, sourcePort, from: LAN.gateway4 });
}

/** As it does for a tunnel, it redirects the gateway's own questions. */
async function redirectOwn({ lab }: Stage): Promise<void> {
  const rules = [
    `redirect_own_dns oifname "${lab.sandbox.uplink}" udp dport 53 dnat ip to ${TUNNEL.server4}`,
    "redirected_dns return",
  ].map((rule) => `insert rule ${TABLE} ${rule}\n`);
  const { stderr } = await lab.exec(lab.namespaces.gateway, ["nft", "-f", "-"], rules.join(""));
  assert.equal(stderr, "");
}

/** The ends of connections that the gateway does not know, over both families. */
async function strays({ lab, devices }: Stage): Promise<Uint8Array[]> {
  const { gateway } = await place(lab, "lan");
  return waysOf({ ...devices.numbered(DIRECT), gateway }).map((way) => {
    const ends = { from: way.from, to: way.to, sourcePort: STRAY_PORT, targetPort: 7, payload: "" };
    return packetFrame(way, { protocol: TCP, bytes: tcpBytes(ends, FIN_ACK) });
  });
}
