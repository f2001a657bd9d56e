import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { INTERNET, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway with another provider");

setDefaultTimeout(180_000);

/** As in Mullvad's list: ports at which each server answers as at the usual one. */
const RANGES = [
  [53, 53],
  [443, 443],
  [4_000, 4_100],
];
const MIDDLE = 4_050;
const PORTS = [VPN_PORT, 443, 53, MIDDLE];

let lab: Lab;
let gateway: Gateway;
let sniffer: Sniffer;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { router, vpn1, vpn2 } = lab.namespaces;
  const { managedList } = lab.sandbox.files;
  const list = JSON.parse(readFileSync(managedList, "utf8"));
  for (const server of list.servers) server.ports = RANGES;
  writeFileSync(managedList, JSON.stringify(list));
  for (const namespace of [vpn1, vpn2])
    await load(
      namespace,
      `table inet ports { chain in { type nat hook prerouting priority -90; iifname "wan0" udp dport { ${RANGES.map(([from, to]) => `${from}-${to}`).join(", ")} } redirect to :${VPN_PORT}; }; }`,
    );
  await load(
    router,
    "table inet hotel { set closed { type inet_service; flags interval; }; chain out { type filter hook forward priority 0; iifname lan0 udp dport @closed counter drop; }; }",
  );
  gateway = await lab.startGateway();
  await gateway.keep();
  const endpoints = ENDPOINTS.flatMap((each) => PORTS.map((port) => ({ ...each, port })));
  sniffer = await Sniffer.start(router, "lan0", { endpoints, direction: "in" });
});
afterAll(() => lab?.close());

async function load(namespace: string, text: string): Promise<void> {
  expect(await lab.exec(namespace, ["nft", "-f", "-"], text)).toMatchObject({ code: 0, stderr: "" });
}

/** What the network in between drops; everything else passes. */
async function close(...ports: (number | string)[]): Promise<void> {
  const elements = ports.length === 0 ? "" : `\nadd element inet hotel closed { ${ports.join(", ")} }`;
  await load(lab.namespaces.router, `flush set inet hotel closed${elements}`);
}

async function dropped(): Promise<number> {
  const { stdout } = await lab.exec(lab.namespaces.router, ["nft", "list", "chain", "inet", "hotel", "out"]);
  return Number(/packets (\d+)/.exec(stdout)?.[1]);
}

async function status() {
  return (await gateway.api("GET", "/api/status")).body;
}

const connect = (server: string) => gateway.api("POST", "/api/connect", { server });
const seenAs = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/ip`);

test("where the usual port is closed a server is reached at another one, which is told, kept and tried first", async () => {
  await gateway.reset();
  await close(VPN_PORT);
  expect((await connect("box-vpn-1")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ connected: true, server: "box-vpn-1", port: 443 });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  // Positive control: the usual port was tried, and closed.
  const before = await dropped();
  expect(before).toBeGreaterThan(0);
  // The firewall permits the port in use, and no longer the one that was tried.
  const table = await lab.exec(lab.namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
  const permits = (port: number) => new RegExp(`${VPN.vpn1.v4} \\. ${port}\\b`).test(table.stdout);
  expect([permits(443), permits(VPN_PORT)]).toEqual([true, false]);
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  const { result, found } = checks.find(({ id }: { id: string }) => id === "tunnel:main");
  expect([result, found]).toEqual(["ok", expect.stringContaining("at port 443, because it does not answer")]);
  // A restart takes the tunnel over as it is.
  await gateway.kill("SIGKILL");
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await gateway.start();
  expect(await status()).toMatchObject({ connected: true, port: 443 });
  // Another server, by its place: it is asked where servers answer here.
  expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
  expect((await connect("box-vpn-2")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ server: "box-vpn-2", port: 443 });
  expect(await dropped()).toBe(before);
});

test("a place is found although nobody in it answers at the usual port", async () => {
  await gateway.reset();
  await close(VPN_PORT, 443);
  expect((await connect("Sweden")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ connected: true, port: 53 });
});

test("a tunnel whose port is closed while it is up moves to another port by itself, and back to the usual one later", async () => {
  await gateway.reset();
  await close();
  expect((await connect("box-vpn-1")).body).toEqual({ success: true });
  expect((await status()).port).toBeUndefined();
  await close(VPN_PORT, 443, 53);
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await until(async () => (await status()).port === MIDDLE, 120_000);
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await close(MIDDLE);
  await until(async () => (await status()).port === undefined && (await status()).connected, 120_000);
  await traffic.stop();
  expect(await seenAs()).toBe(VPN.vpn1.v4);
});

test("where every port is closed nothing leaves, and the answer says what was tried", async () => {
  await gateway.reset();
  await close("1-65535");
  const answer = await connect("box-vpn-1");
  expect(answer.status).toBe(500);
  expect(answer.body.error).toContain(`at any of its ports ${PORTS.join(", ")}`);
  expect(await seenAs()).toBeNull();
  const { leaks, wireguard, missed } = await sniffer.stop();
  expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
  expect(wireguard).toBeGreaterThan(0);
});
