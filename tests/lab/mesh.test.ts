import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { MESH, Mesh } from "../rig/home/mesh.ts";
import { Website } from "../rig/peers/website.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Probe } from "../rig/tools/probe.ts";
import { askerIn, questions } from "../rig/tools/question.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("a gateway with phones far away, two tunnels and restarts takes half a minute");

setDefaultTimeout(300_000);

/** Tunnels, WireGuard's own times, and a busy machine. */
const WITHIN_MS = 60_000;
/** With one card, answers that lose their way have one that is open. */
const CARDS = 1;
const [HOMES, SECONDS] = [VPN.vpn1.v4, VPN.vpn2.v4];

let lab: Lab;
let mesh: Mesh;
let gateway: Gateway;
let sniffer: Sniffer;
let website: Website;
let senders: Bun.Subprocess[] = [];
const [phone, tablet] = [() => must(mesh.peers[0]), () => must(mesh.peers[1])];

beforeAll(async () => {
  lab = await createLab({ cards: CARDS });
  mesh = await Mesh.of(lab, 2);
  website = await Website.start(lab);
  website.show("ads.txt", "0.0.0.0 ads.whoami.test\n");
  // Otherwise the kernel sends one ICMP error a second to each device.
  for (const path of ["ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"])
    await mesh.inside(["sysctl", "-qw", `net/${path}=0`]);
});
afterAll(async () => {
  for (const sender of senders) sender.kill();
  await website?.stop();
  await lab?.close();
});

test("without the kill switch, what comes by a mesh leaves outside (control)", async () => {
  for (const path of ["ipv4/ip_forward", "ipv6/conf/all/forwarding"])
    await mesh.inside(["sysctl", "-qw", `net/${path}=1`]);
  sniffer = await lab.sniff();
  await isSeenAs(phone(), ROUTER.public4);
  expect(sniffer.take().length).toBeGreaterThan(0);
  senders = mesh.peers.map((peer) => peer.sends(INTERNET.host4));
});

test("a new mesh is a network that is blocked, and whose devices are known by address", async () => {
  gateway = await lab.startGateway({
    flags: ["--mesh", mesh.link, "--host", "::"],
    environment: website.environment,
  });
  sniffer.take();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  expect(await network()).toMatchObject({ exit: "blocked", page: false, others: false, present: true });
  // Its own packets leave by the tunnel, so the phones are heard again.
  await until(
    async () => (await row(phone())) !== undefined && (await row(tablet())) !== undefined,
    WITHIN_MS,
  );
  expect(await row(phone())).toMatchObject({ interface: mesh.link, exit: "blocked", online: true });
  expect(await phone().seenAs()).toBeNull();
  expect(await reaches(LAN.client4)).toBe(false);
  expect(await page()).toBeNull();
  expect(sniffer.take()).toEqual([]);
});

test("each device of a mesh leaves by its exit, or by that of the mesh, and nothing leaves outside", async () => {
  await decide({ exit: "main" });
  await isSeenAs(phone(), HOMES);
  await gateway.ask("PUT", `/api/devices/${encodeURIComponent(`${tablet().v4}/32`)}`, { exit: "second" });
  await isSeenAs(tablet(), SECONDS);
  await isSeenAs(phone(), HOMES);
  expect(sniffer.take()).toEqual([]);
});

test("names are asked by the exit of the device, by the gateway's own resolver too, and a blocked mesh has none", async () => {
  await until(async () => Bun.deepEquals(await askers(phone()), [HOMES]), WITHIN_MS);
  expect(await askers(tablet())).toEqual([SECONDS]);
  await gateway.ask("PUT", "/api/dns/lists", { lists: [{ url: "https://internet.test/ads.txt" }] });
  await until(async () => (await gateway.ask("GET", "/api/dns")).blocked_names === 1, WITHIN_MS);
  expect(await gateway.ask("GET", "/api/dns")).toMatchObject({ state: "on" });
  await until(async () => Bun.deepEquals(await askers(phone()), [HOMES]), WITHIN_MS);
  await until(async () => Bun.deepEquals(await askers(tablet()), [SECONDS]), WITHIN_MS);
  await decide({ exit: "blocked" });
  // The resolver itself refuses what has no exit.
  await until(async () => Bun.deepEquals(await askers(phone()), ["nobody"]), WITHIN_MS);
  expect(await askers(tablet())).toEqual([SECONDS]);
  await decide({ exit: "main" });
  await gateway.ask("PUT", "/api/dns/lists", { lists: [] });
  expect(sniffer.take()).toEqual([]);
});

test("a mesh reaches the LAN and the page only if people say so", async () => {
  expect(await reaches(LAN.client4)).toBe(false);
  await decide({ others: true });
  expect(await reaches(LAN.client4)).toBe(false);
  await gateway.ask("PUT", "/api/networks/lan0", { others: true });
  await until(() => reaches(LAN.client4), WITHIN_MS);
  await decide({ others: false });
  await until(async () => !(await reaches(LAN.client4)), WITHIN_MS);
  expect(await page()).toBeNull();
  await decide({ page: true });
  await until(async () => (await page()) !== null, WITHIN_MS);
  await decide({ page: false });
  expect(sniffer.take()).toEqual([]);
});

async function isSeenAs(peer: (typeof mesh.peers)[number], address: string): Promise<void> {
  let last: string | null = null;
  await until(async () => {
    last = await peer.seenAs();
    return last === address;
  }, WITHIN_MS).catch(() =>
    expect({ seen: last, log: gateway?.log().slice(-2_000) }).toEqual({ seen: address, log: "" }),
  );
}

/** Who has asked the internet for a name, as the resolvers of the gateway and of the internet say. */
async function askers(peer: (typeof mesh.peers)[number]): Promise<string[]> {
  const probe = await Probe.start(peer.namespace, questions([MESH.gateway4, INTERNET.dns4]));
  await probe.until(({ answered, refused }) => answered + refused > 0);
  const all = (await probe.stop()).map(({ answered, answer }) =>
    answered === 0 ? "refused" : askerIn(answer),
  );
  return [...new Set(all)];
}

async function network() {
  const { networks } = await gateway.ask("GET", "/api/networks");
  return networks.find((each: { interface: string }) => each.interface === mesh.link);
}

async function row(peer: (typeof mesh.peers)[number]) {
  const { devices } = await gateway.ask("GET", "/api/devices");
  return devices.find((each: { id: string }) => each.id === `${peer.v4}/32`);
}

const decide = (change: object) => gateway.ask("PUT", `/api/networks/${mesh.link}`, change);

async function reaches(address: string): Promise<boolean> {
  return (await phone().run(["ping", "-c", "1", "-W", "2", address])).code === 0;
}

const page = () => lab.fetchFrom(phone().namespace, `http://${MESH.gateway4}:${gateway.port}/health`);

function must<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("no such peer");
  return value;
}
