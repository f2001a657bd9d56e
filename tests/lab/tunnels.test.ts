import { afterAll, beforeAll, beforeEach, expect } from "bun:test";
import { slotOf } from "../../src/network/slot.ts";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import type { TunnelRow } from "../../src/tunnel/schema.ts";
import { generateKeyPair } from "../../src/wireguard/key.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Traffic } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

/** Several connects and a restart, with traffic around them, on a busy machine. */
const TIMEOUT_MS = 240_000;
const PAGE = `http://${INTERNET.host4}/`;
/** So many questions are enough for a loss or a leak to show. */
const ENOUGH = 100;

let lab: Lab;
let gateway: Gateway;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  const [one] = lab.sandbox.servers;
  expect((await api("POST", "/api/custom/add", one.customBody)).status).toBe(200);
  // No server has this key.
  const dead = { ...one.customBody, name: "dead", public_key: generateKeyPair().publicKey };
  expect((await api("POST", "/api/custom/add", dead)).status).toBe(200);
  expect((await api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  await gateway.keep();
}, TIMEOUT_MS);
beforeEach(() => gateway.reset(), TIMEOUT_MS);
afterAll(() => lab?.close(), TIMEOUT_MS);

const api: Gateway["api"] = (...request) => gateway.api(...request);

const lead = (server: string, provider = "managed") =>
  api("PUT", "/api/tunnels/second", { server, provider }).then(({ status }) => status);
const page = () => lab.fetchFrom(lab.namespaces.client, PAGE);
const links = () => slotOf(1, lab.sandbox.interface).links;

async function row(name: string): Promise<TunnelRow | undefined> {
  const { body } = await api("GET", "/api/tunnels");
  return body.tunnels.find((tunnel: TunnelRow) => tunnel.name === name);
}

async function present(): Promise<string[]> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", "link", "show"]);
  const all = JSON.parse(stdout).map(({ ifname }: { ifname: string }) => ifname);
  return links().filter((link) => all.includes(link));
}

/** Nothing of the LAN's traffic by main is lost or reset during the work, and nothing leaves outside the tunnels. */
async function undisturbed(work: (traffic: Traffic) => Promise<unknown>): Promise<void> {
  const sniffer = await lab.sniff();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "udp6", "flow"] });
  await traffic.sends(ENOUGH);
  await work(traffic);
  await traffic.sends(ENOUGH);
  const report = await traffic.stop();
  const { leaks } = await sniffer.stop();
  for (const [kind, tally] of Object.entries(report))
    expect({ kind, lost: tally.lost, refused: tally.refused }).toEqual({ kind, lost: [], refused: 0 });
  expect(leaks).toEqual([]);
}

test(
  "a second tunnel with the same address inside is dialled, switched, fails, dies, ends and goes, and main loses nothing",
  () =>
    undisturbed(async () => {
      expect(await lead("box-vpn-2")).toBe(200);
      expect(await row("second")).toMatchObject({
        server: "box-vpn-2",
        wanted: "box-vpn-2",
        state: "connected",
      });
      expect(await page()).toContain(VPN.vpn1.v4);
      expect(await lead("custom-1", "custom")).toBe(200);
      expect(await lead("dead", "custom")).toBe(500);
      expect(await row("second")).toMatchObject({
        server: "custom-1",
        provider: "custom",
        state: "connected",
      });
      const [link = ""] = await present();
      await lab.exec(lab.namespaces.gateway, ["ip", "link", "del", "dev", link]);
      await until(async () => (await row("second"))?.state !== "connected");
      await until(async () => (await row("second"))?.state === "connected");
      expect((await api("POST", "/api/tunnels/second/disconnect")).status).toBe(200);
      expect(await present()).toEqual([]);
      expect(await lead("box-vpn-2")).toBe(200);
      expect((await api("DELETE", "/api/tunnels/second")).status).toBe(200);
      expect(await present()).toEqual([]);
      expect(await row("second")).toBeUndefined();
      expect(await page()).toContain(VPN.vpn1.v4);
    }),
  TIMEOUT_MS,
);

test(
  "after a SIGKILL and a restart both tunnels are as they were, and the LAN has lost nothing",
  async () => {
    expect(await lead("custom-1", "custom")).toBe(200);
    await undisturbed(async (traffic) => {
      const indexes = async () =>
        Promise.all(
          [0, 1, 2, 3].map(async (which) => {
            const path = `/sys/class/net/${lab.sandbox.interface}${which}/ifindex`;
            return (await lab.exec(lab.namespaces.gateway, ["cat", path])).stdout.trim();
          }),
        );
      // Without the interface of a former server, which stays for a second.
      await until(async () => (await present()).length === 1);
      const before = await indexes();
      await gateway.kill("SIGKILL");
      await traffic.sends(ENOUGH);
      await gateway.start();
      expect(await indexes()).toEqual(before);
      expect(await row("second")).toMatchObject({ server: "custom-1", state: "connected" });
      expect(gateway.log()).toContain("second: the tunnel to custom-1 is up already: adopting it");
      expect((await api("GET", "/health")).status).toBe(200);
    });
  },
  TIMEOUT_MS,
);

test(
  "a tunnel without its interface comes back after a restart, and the other is adopted",
  async () => {
    expect(await lead("custom-1", "custom")).toBe(200);
    await undisturbed(async () => {
      await gateway.kill("SIGTERM");
      for (const link of await present())
        await lab.exec(lab.namespaces.gateway, ["ip", "link", "del", "dev", link]);
      await gateway.start();
      await until(async () => (await row("second"))?.state === "connected");
      expect(await row("second")).toMatchObject({ server: "custom-1", error: null });
    });
  },
  TIMEOUT_MS,
);
