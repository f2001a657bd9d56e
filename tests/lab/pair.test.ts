import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { INTERNET, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { cutPower, documented, Keepalived, plugInGateway, SHARED } from "../rig/home/gateway-pair.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { isNeighbourly } from "../rig/tools/sniffer.ts";
import type { Traffic } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("each case of what the leaks show in passing");

setDefaultTimeout(180_000);

/** A backup takes over after 4 s, a script fails after 4 s, and a dead tunnel is noticed within 15 s; more when busy. */
const MOVED_WITHIN_MS = 90_000;
/** So many datagrams are enough for a loss or a leak to show. */
const ENOUGH = 100;
/** A master advertises itself once a second, and a change of priority takes effect by then. */
const ADVERTISED_MS = 2_500;
const PAGE = `http://${INTERNET.host4}/`;

let lab: Lab;
let other: string;
let first: Gateway;
let second: Gateway;
let keepers: { first: Keepalived; second: Keepalived };
let sniffer: Sniffer;
let traffic: Traffic;

beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  other = await plugInGateway(lab);
  const { sandbox, namespaces } = lab;
  const own = ["--state-dir", join(sandbox.directory, "other"), "--interface", `${sandbox.id}h`];
  [first, second] = await Promise.all([
    lab.startGateway(),
    lab.startGateway({ namespace: other, flags: own }),
  ]);
  await ask(second, "/api/custom/add", sandbox.servers[1].customBody);
  await ask(second, "/api/provider/custom");
  keepers = {
    first: new Keepalived(lab, namespaces.gateway, documented("MASTER", first.port)),
    second: new Keepalived(lab, other, documented("BACKUP", second.port)),
  };
});
/** Both serve, and the first one has the shared address. */
beforeEach(async () => {
  await lab.plug();
  for (const namespace of [lab.namespaces.gateway, other])
    await lab.exec(namespace, ["ip", "address", "del", `${SHARED}/24`, "dev", "lan0"]);
  await Promise.all([first.restart(), second.restart()]);
  // Each gateway has a key of its own, at a server of its own, so that the page tells which one it came by.
  await ask(first, "/api/connect", { server: "box-vpn-1" });
  await ask(second, "/api/connect", { server: "custom-2" });
  sniffer = await lab.sniff();
  traffic = await lab.traffic(lab.namespaces.client, { resolver: SHARED, rarelyMs: 200 });
  keepers.first.start();
  keepers.second.start();
  await comesBy(VPN.vpn1, "when both have started");
});
afterEach(async () => {
  await Promise.all([keepers.first.stop(), keepers.second.stop()]);
  await traffic.stop();
  await sniffer.stop();
});
afterAll(() => lab?.close());

async function ask(gateway: Gateway, path: string, body?: unknown): Promise<void> {
  const answer = await gateway.api("POST", path, body);
  expect({ path, status: answer.status }).toEqual({ path, status: 200 });
}

const leaks = async () => (await sniffer.count()).leaks.filter((leak) => !isNeighbourly(leak));
const page = () => lab.fetchFrom(lab.namespaces.client, PAGE);

/** Waits until the client has its page by that server, and says how long it took. */
async function comesBy(server: { v4: string }, after: string): Promise<void> {
  const ms = await until(async () => (await page())?.includes(server.v4) === true, MOVED_WITHIN_MS, 50);
  console.log(`${after}, the page is back after ${(ms / 1000).toFixed(1)} s`);
  await traffic.sends(ENOUGH);
  expect(await leaks()).toEqual([]);
}

test("the first gateway serves the shared address", async () => {
  expect(await page()).toContain(VPN.vpn1.v4);
  expect([...keepers.first.complaints(), ...keepers.second.complaints()]).toEqual([]);
});

test("after a power cut of the first, the second serves; when the first is back, it serves again", async () => {
  await cutPower(lab);
  await comesBy(VPN.vpn2, "after a power cut of the master");
  await lab.plug();
  await first.start();
  keepers.first.start();
  await comesBy(VPN.vpn1, "after its return");
});

test("when the first gateway's tunnel dies, the second serves, and the first when it is back", async () => {
  const cable = (state: "up" | "down") =>
    lab.exec(lab.namespaces.vpn1, ["ip", "link", "set", "dev", "wan0", state]);
  await cable("down");
  await comesBy(VPN.vpn2, "after the death of the master's tunnel").finally(() => cable("up"));
  await comesBy(VPN.vpn1, "after its return");
});

test("without any tunnel the first keeps the address, and devices are refused at once", async () => {
  await Promise.all([first, second].map((gateway) => ask(gateway, "/api/disconnect")));
  await until(async () => lab.isRefused(lab.namespaces.client, PAGE));
  await Bun.sleep(2 * ADVERTISED_MS);
  expect(await lab.isRefused(lab.namespaces.client, PAGE)).toBe(true);
  await traffic.sends(ENOUGH);
  expect(await leaks()).toEqual([]);
});

test("VRRP by multicast does not leave a gateway; positive control: without the kill switch it does", async () => {
  const multicast = documented("BACKUP", second.port).replace(/^ {2}unicast_.*\n/gm, "");
  await keepers.second.stop();
  const keeper = new Keepalived(lab, other, multicast);
  const seen = async () => {
    const tap = await Wiretap.start(lab.namespaces.router, "lan0", "ip proto 112 or igmp");
    await Bun.sleep(ADVERTISED_MS);
    return tap.stop();
  };
  keeper.start();
  const isMaster = async () =>
    (await lab.exec(other, ["ip", "address", "show", "dev", "lan0"])).stdout.includes(` ${SHARED}/`);
  try {
    await until(isMaster);
    expect(await seen()).toEqual([]);
    await second.expose();
    expect((await seen()).some((line) => line.includes("224.0.0.18: VRRPv2"))).toBe(true);
  } finally {
    await keeper.stop();
  }
});

test("positive control: without the kill switch the same traffic leaks, and the sniffer sees it", async () => {
  const { gateway, client } = lab.namespaces;
  await keepers.second.stop();
  await keepers.first.stop();
  await first.expose();
  await lab.exec(gateway, ["ip", "address", "add", `${SHARED}/24`, "dev", "lan0"]);
  await lab.exec(client, ["ip", "neigh", "flush", "dev", "lan0"]);
  await until(async () => (await page())?.includes(ROUTER.public4) === true);
  await traffic.sends(ENOUGH);
  expect((await leaks()).length).toBeGreaterThan(20);
});
