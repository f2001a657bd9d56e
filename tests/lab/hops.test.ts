import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, MULTIHOP_PORTS, ROUTER, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(120_000);

const PAGE = `http://${INTERNET.host4}/ip`;
/** So many datagrams are enough for a leak to show. */
const ENOUGH = 100;
/** Where packets for the first server go that reach it through the second one, and the other way round. */
const WAYS = {
  "box-vpn-1": { address: VPN.vpn2.v4, port: MULTIHOP_PORTS.vpn1 },
  "box-vpn-2": { address: VPN.vpn1.v4, port: MULTIHOP_PORTS.vpn2 },
} as const;

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(() => lab.close());

const connect = async (server: string, via?: string) => {
  const { status, body } = await gateway.api("POST", "/api/connect", { server, ...(via && { via }) });
  expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
};
const status = async () => (await gateway.api("GET", "/api/status")).body;
const seenAs = () => lab.fetchFrom(lab.namespaces.client, PAGE);
const sniff = (...endpoints: { address: string; port: number }[]) =>
  Sniffer.start(lab.namespaces.router, "lan0", { endpoints, direction: "in" });
/** What comes to the exit's WireGuard; its NAT may use the same port for an answer to a client. */
const tapExit = () =>
  Wiretap.start(lab.namespaces.vpn1, "wan0", `udp and dst host ${VPN.vpn1.v4} and dst port ${VPN_PORT}`);

test("from blocked: packets go to the entry alone, and the internet sees the exit", async () => {
  const [sniffer, exit] = [await sniff(WAYS["box-vpn-1"]), await tapExit()];
  const traffic = await Promise.all(
    [lab.namespaces.client, lab.namespaces.gateway].map((sender) => lab.traffic(sender)),
  );
  await connect("box-vpn-1", "box-vpn-2");
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  expect(await status()).toMatchObject({
    ...{ connected: true, server: "box-vpn-1", via: "box-vpn-2", ip: VPN.vpn2.v4 },
    location: "Gothenburg, Sweden",
  });
  await Promise.all(traffic.map((each) => each.sends(ENOUGH)));
  for (const each of traffic) {
    const { udp, web } = await each.stop();
    expect(udp?.answered).toBeGreaterThan(0);
    expect(Object.keys(web?.seenAs ?? {})).toEqual([VPN.vpn1.v4]);
  }
  const { leaks, missed, wireguard } = await sniffer.stop();
  expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
  expect(wireguard).toBeGreaterThan(ENOUGH);
  const arrived = await exit.stop();
  const from = (address: string) => arrived.filter((line) => line.includes(` ${address}.`)).length;
  expect(from(VPN.vpn2.v4)).toBeGreaterThan(ENOUGH);
  expect(from(ROUTER.public4)).toBe(0);
});

test("a direct connect to the exit is what the sniffer would call a leak", async () => {
  const sniffer = await sniff(WAYS["box-vpn-1"]);
  await connect("box-vpn-1");
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  const { leaks } = await sniffer.stop();
  expect(leaks.filter((frame) => frame.includes(`${VPN.vpn1.v4} UDP`)).length).toBeGreaterThan(0);
  expect(await status()).not.toHaveProperty("via");
});

test("a switch to another exit by another entry loses no packet, and back neither", async () => {
  await connect("box-vpn-1", "box-vpn-2");
  const sniffer = await sniff(...Object.values(WAYS));
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "web"] });
  for (const [exit, entry, seen] of [
    ["box-vpn-2", "box-vpn-1", VPN.vpn2.v4],
    ["box-vpn-1", "box-vpn-2", VPN.vpn1.v4],
  ] as const) {
    await traffic.sends(ENOUGH);
    await connect(exit, entry);
    expect(await seenAs()).toBe(seen);
  }
  await traffic.sends(ENOUGH);
  const { udp } = await traffic.stop();
  expect(udp?.sent).toBeGreaterThan(3 * ENOUGH);
  expect(udp?.lost).toEqual([]);
  const { leaks, missed } = await sniffer.stop();
  expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
});

test("a service that is killed leaves both hops as they are, and the next one takes them up", async () => {
  await connect("box-vpn-1", "box-vpn-2");
  const sniffer = await sniff(WAYS["box-vpn-1"]);
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await traffic.sends(ENOUGH);
  await gateway.kill("SIGKILL");
  await traffic.sends(ENOUGH);
  await gateway.start();
  expect(await status()).toMatchObject({ connected: true, server: "box-vpn-1", via: "box-vpn-2" });
  await traffic.sends(ENOUGH);
  expect((await traffic.stop()).udp?.lost).toEqual([]);
  expect((await sniffer.stop()).leaks).toEqual([]);
  expect(gateway.log()).toContain("the tunnel to box-vpn-1 via box-vpn-2 is up already: adopting it");
});

test("an entry that forwards nothing any more ends in blocked, never in the direct way, and is found again", async () => {
  await connect("box-vpn-1", "box-vpn-2");
  const rules = (await lab.exec(lab.namespaces.vpn2, ["nft", "list", "ruleset"])).stdout;
  expect((await lab.exec(lab.namespaces.vpn2, ["nft", "flush", "ruleset"])).code).toBe(0);
  // What is forwarded already has its entry in conntrack.
  await lab.exec(lab.namespaces.vpn2, ["nft", "-f", "-"], FORWARDS_NOTHING);
  const openAgain = async () => {
    await lab.exec(lab.namespaces.vpn2, ["nft", "flush", "ruleset"]);
    await lab.exec(lab.namespaces.vpn2, ["nft", "-f", "-"], rules);
  };
  const sniffer = await sniff(WAYS["box-vpn-1"]);
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  try {
    await until(async () => (await status()).state === "reconnecting", 60_000);
    expect(await seenAs()).toBeNull();
  } finally {
    await openAgain();
  }
  await until(async () => (await status()).state === "connected", 60_000);
  expect(await status()).toMatchObject({ server: "box-vpn-1", via: "box-vpn-2" });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await traffic.stop();
  expect((await sniffer.stop()).leaks).toEqual([]);
}, 180_000);

const FORWARDS_NOTHING =
  "table inet none { chain none { type filter hook forward priority 0; policy drop; } }";
