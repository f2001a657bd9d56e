import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, TUNNEL, VPN } from "../../src/sandbox/topology.ts";
import type { Status } from "../../src/tunnel/schema.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(400_000);

const MINUTE_MS = 60_000;
const PAGE = `http://${INTERNET.host4}/`;
const TARGETS = [{ server: "box-vpn-1" }, { server: "box-vpn-2" }];

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const sniffer = await lab.sniff();
  // The positive control: what the gateway sends outside the tunnel is seen.
  await lab.exec(lab.namespaces.gateway, ["ping", "-c", "1", "-W", "2", TUNNEL.server4]);
  await until(() => sniffer.peek().leaks.length > 0);
  await sniffer.stop();
  gateway = await lab.startGateway();
});
afterAll(() => lab?.close());

const status = async (): Promise<Status> => (await gateway.api("GET", "/api/status")).body;
const cableOf = (way: "up" | "down") => lab.exec(lab.namespaces.internet, ["ip", "link", "set", "vpn1", way]);
const isAt = (server: string, at: number) => async () => {
  const { connected, server: present, order } = await status();
  return connected && present === server && order?.at === at;
};
const page = () => lab.fetchFrom(lab.namespaces.client, PAGE);

test("a tunnel goes back by itself while a device streams: no packet is lost, none leaks, and the permission has ended", async () => {
  await cableOf("down");
  const body = { targets: TARGETS, back_after_minutes: 1 };
  expect((await gateway.api("POST", "/api/connect", body)).status).toBe(200);
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  const table = async () =>
    (await lab.exec(lab.namespaces.gateway, ["nft", "list", "ruleset"])).stdout.includes(VPN.vpn1.v4);
  expect(await table()).toBe(false);
  // An attempt in vain.
  await until(table, 2 * MINUTE_MS);
  await until(async () => !(await table()));
  expect(await isAt("box-vpn-2", 1)()).toBe(true);
  await cableOf("up");
  await until(isAt("box-vpn-1", 0), 2 * MINUTE_MS);
  await traffic.sends(200);
  expect(await page()).toContain(VPN.vpn1.v4);
  const { udp } = await traffic.stop();
  expect(udp?.sent).toBeGreaterThan(1_000);
  expect(udp?.lost).toEqual([]);
  const { leaks, wireguard } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(wireguard).toBeGreaterThan(0);
});

test("after a disconnect and a kill, the gateway tells the targets, and whoever sends them back has them again, without a leak", async () => {
  const body = { targets: TARGETS, back_after_minutes: 7, back_when_quiet: true, move_when: ["lossy"] };
  expect((await gateway.api("POST", "/api/connect", body)).status).toBe(200);
  const { order } = await status();
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await traffic.sends(20);
  expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
  await gateway.kill("SIGKILL");
  await gateway.start();
  const { state, last } = await status();
  const targets = TARGETS.map((each) => ({ provider: "managed" as const, ...each }));
  expect([state, last]).toEqual(["disconnected", { ...body, targets } as typeof last]);
  expect((await gateway.api("POST", "/api/connect", last)).status).toBe(200);
  expect((await status()).order).toEqual(order);
  expect(await page()).toContain(VPN.vpn1.v4);
  await traffic.stop();
  const { leaks, wireguard } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(wireguard).toBeGreaterThan(0);
  // A kill while it leads there forgets nothing either.
  await gateway.kill("SIGKILL");
  await gateway.start();
  await until(isAt("box-vpn-1", 0));
  await gateway.api("POST", "/api/disconnect");
  expect((await status()).last).toEqual(last);
});

test("a better target that is silent costs the live tunnel no packet, and the way back to it none either", async () => {
  await gateway.api("POST", "/api/connect", { server: "box-vpn-2" });
  await cableOf("down");
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await traffic.sends(100);
  expect((await gateway.api("POST", "/api/connect", { targets: TARGETS })).status).toBe(200);
  expect(await isAt("box-vpn-2", 1)()).toBe(true);
  await traffic.sends(100);
  await cableOf("up");
  expect((await gateway.api("POST", "/api/connect", { targets: TARGETS })).status).toBe(200);
  expect(await isAt("box-vpn-1", 0)()).toBe(true);
  await traffic.sends(100);
  const { udp } = await traffic.stop();
  expect(udp?.sent).toBeGreaterThan(300);
  expect(udp?.lost).toEqual([]);
  expect((await sniffer.stop()).leaks).toEqual([]);
});
