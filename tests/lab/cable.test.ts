import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { LAN_TABLE } from "../../src/network/slot.ts";
import { INTERNET, LAN, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { inject } from "../rig/tools/injector.ts";
import { place } from "../rig/tools/intruder.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import {
  type Body,
  ICMP,
  ICMPV6,
  icmpBytes,
  packetBytes,
  packetFrame,
  TCP,
  tcpBytes,
  UDP,
  udpBytes,
} from "../rig/tools/packet.ts";
import { Probe } from "../rig/tools/probe.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(90_000);

/** Long enough for a handful of packets, and for neighbour discovery before them. */
const MOMENT_MS = 1_500;
const FLOW = { 4: 40_600, 6: 40_601 };
/** Echo of the internet host. */
const ECHO = 7;

let lab: Lab;
let service: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  const { gateway, router } = lab.namespaces;
  service = await lab.startGateway();
  expect((await service.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  await lab.exec(gateway, ["sysctl", "-qw", "net.ipv6.icmp.ratelimit=0"]);
  // The home router answers for the internet's host, so that what is meant for a neighbour reaches that host.
  await lab.exec(router, ["sysctl", "-qw", "net.ipv6.conf.lan0.proxy_ndp=1"]);
  await lab.exec(router, ["ip", "-6", "neigh", "add", "proxy", INTERNET.host6, "dev", "lan0"]);
  await service.keep();
});
beforeEach(() => service.reset());
afterAll(() => lab.close());

/** A frame of the client's, in the name of any host. */
async function send(from: string, to: string, body: Body): Promise<void> {
  const { namespace, own, gateway } = await place(lab, "lan");
  await inject(namespace, "lan0", [packetFrame({ fromMac: own, toMac: gateway, from, to }, body)]);
}

/** What the gateway says to the internet's host by the cable, and what of it arrives there. */
async function saidDuring(work: () => Promise<void>): Promise<{ cable: string[]; internet: string[] }> {
  const { router, internet } = lab.namespaces;
  const filter = `src host ${LAN.gateway6} and dst host ${INTERNET.host6}`;
  const taps = await Promise.all([
    Wiretap.start(router, "lan0", filter),
    Wiretap.start(internet, "backbone", filter),
  ]);
  await work();
  await Bun.sleep(MOMENT_MS);
  const [cable = [], beyond = []] = await Promise.all(taps.map((tap) => tap.stop()));
  return { cable, internet: beyond };
}

test("who asks for the gateway's card in the name of a host of the internet gets no answer, which the router would take on", async () => {
  const router = (await place(lab, "uplink")).own;
  const ends = { from: INTERNET.host6, to: LAN.gateway6 };
  const target = Uint8Array.fromHex("fd770000000000000000000000000001");
  const link = Buffer.concat([Uint8Array.of(1, 1), Uint8Array.fromHex(router)]);
  const bytes = icmpBytes(ends, 135, 0, 0, Buffer.concat([target, link]));
  const said = await saidDuring(() => send(ends.from, ends.to, { protocol: ICMPV6, bytes, hopLimit: 255 }));
  expect(said).toEqual({ cable: [], internet: [] });
});

test("where a router announces the internet's prefix as the cable's, a refusal goes no further than that router", async () => {
  const { gateway } = lab.namespaces;
  // As the kernel sets it for an announced prefix (RFC 4861, section 6.3.4).
  const route = ["2001:db8:113::/64", "dev", lab.sandbox.uplink, "proto", "ra"];
  expect((await lab.exec(gateway, ["ip", "-6", "route", "add", ...route])).stderr).toBe("");
  const ends = { from: INTERNET.host6, to: LAN.gateway6 };
  const ports = { ...ends, sourcePort: 4_444, targetPort: 22, payload: "" };
  const { cable, internet } = await saidDuring(async () => {
    await send(ends.from, ends.to, { protocol: TCP, bytes: tcpBytes(ports, 2) });
    await send(ends.from, ends.to, { protocol: UDP, bytes: udpBytes(ports) });
  }).finally(() => lab.exec(gateway, ["ip", "-6", "route", "del", ...route]));
  // Positive control: it is a neighbour to the gateway, and is refused as one.
  expect(cable.some((line) => line.includes("Flags [R.]"))).toBe(true);
  expect(cable.some((line) => line.includes("unreachable prohibited"))).toBe(true);
  expect(internet).toEqual([]);
});

test("a client's word that packets are too long for it goes back through the tunnel, as all that it sends", async () => {
  const { client, vpn1 } = lab.namespaces;
  const flow = { protocol: "udp", port: ECHO, payload: "aa" } as const;
  const probe = await Probe.start(client, [
    { ...flow, address: INTERNET.host4, sourcePort: FLOW[4] },
    { ...flow, address: INTERNET.host6, sourcePort: FLOW[6] },
  ]);
  await probe.until(({ answered }) => answered > 0);
  const tap = await Wiretap.start(vpn1, lab.sandbox.serverInterfaces.vpn1, "icmp or icmp6");
  for (const [from, to, targetPort, protocol, type, code] of [
    [LAN.client4, INTERNET.host4, FLOW[4], ICMP, 3, 4],
    [LAN.client6, INTERNET.host6, FLOW[6], ICMPV6, 2, 0],
  ] as const) {
    const back = { from: to, to: from };
    const answer = udpBytes({ ...back, sourcePort: ECHO, targetPort, payload: "aa" });
    const quoted = packetBytes(back, { protocol: UDP, bytes: answer });
    await send(from, to, { protocol, bytes: icmpBytes({ from, to }, type, code, 1_300, quoted) });
  }
  await Bun.sleep(MOMENT_MS);
  const told = await tap.stop();
  await probe.stop();
  expect(told.some((line) => line.includes("need to frag (mtu 1300)"))).toBe(true);
  expect(told.some((line) => line.includes("packet too big, mtu 1300"))).toBe(true);
});

test("what the server sends to a closed port gets no answer by the cable, even if another program opens the firewall", async () => {
  const { router, gateway } = lab.namespaces;
  // A running service would close it again.
  await service.kill("SIGKILL");
  const nft = async (...words: string[]) =>
    expect((await lab.exec(gateway, ["nft", ...words])).stderr).toBe("");
  for (const chain of ["input", "output"]) await nft("insert", "rule", "inet", "portcullis", chain, "accept");
  const ends = { from: VPN.vpn1.v4, to: LAN.gateway4 };
  const bytes = udpBytes({ ...ends, sourcePort: VPN_PORT, targetPort: 4_444, payload: "" });
  const { namespace, own, gateway: toMac } = await place(lab, "uplink");
  const answers = async () => {
    const filter = `icmp and src host ${LAN.gateway4} and dst host ${VPN.vpn1.v4}`;
    const tap = await Wiretap.start(router, "lan0", filter);
    await inject(namespace, "lan0", [
      packetFrame({ fromMac: own, toMac, ...ends }, { protocol: UDP, bytes }),
    ]);
    await Bun.sleep(MOMENT_MS);
    return tap.stop();
  };
  expect(await answers()).toEqual([]);
  // Positive control: with its mark, the kernel's answer takes the cable.
  await nft("flush", "chain", "inet", "portcullis", "unmark_replies");
  expect((await answers()).some((line) => line.includes("udp port 4444 unreachable"))).toBe(true);
});

test("without a route to the LAN's prefix, as at a boot, nothing for the LAN goes to the home router", async () => {
  const { gateway, client } = lab.namespaces;
  const page = `http://[${INTERNET.host6}]/`;
  expect(await lab.fetchFrom(client, page)).not.toBeNull();
  // A running service would see the change.
  await service.kill("SIGKILL");
  const route = async (verb: "add" | "del") => {
    const toLan = ["-6", "route", verb, LAN.prefix6, "dev", lab.sandbox.lan, "proto", "kernel"];
    expect((await lab.exec(gateway, ["ip", ...toLan])).stderr).toBe("");
  };
  await route("del");
  // At a boot the service has not filled it yet.
  await lab.exec(gateway, ["ip", "-6", "route", "flush", "table", `${LAN_TABLE}`]);
  try {
    const tap = await Wiretap.start(lab.namespaces.router, "lan0", `ip6 dst host ${LAN.client6}`);
    const sniffer = await lab.sniff();
    // An answer through the tunnel, and one of the gateway's own.
    expect(await lab.fetchFrom(client, page)).toBeNull();
    expect(await lab.fetchFrom(client, `http://[${LAN.gateway6}]:1/`)).toBeNull();
    expect((await sniffer.stop()).leaks).toEqual([]);
    expect(await tap.stop()).toEqual([]);
  } finally {
    await route("add");
  }
});
