import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { INTERNET, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { startShadowsocks } from "../rig/peers/shadowsocks.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same tunnel inside another transport");

setDefaultTimeout(240_000);

/** Of Mullvad's list, and the port in the middle of it. */
const [RANGES, PORT] = [[[51_900, 51_949]], 51_924];
/** WireGuard's messages by their first bytes, whatever the port. */
const NO_WIREGUARD =
  "meta l4proto udp @th,64,32 { 0x01000000, 0x02000000, 0x03000000, 0x04000000 } counter drop";

let lab: Lab;
let gateway: Gateway;
const servers: Bun.Subprocess[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { managedList } = lab.sandbox.files;
  const list = JSON.parse(readFileSync(managedList, "utf8"));
  for (const server of list.servers) server.shadowsocks = RANGES;
  writeFileSync(managedList, JSON.stringify(list));
  const { router, vpn1, vpn2 } = lab.namespaces;
  for (const namespace of [vpn1, vpn2]) servers.push(await startShadowsocks(namespace, PORT));
  const table = `table inet hotel {\nchain forward {\ntype filter hook forward priority 0\n${NO_WIREGUARD}\n}\n}\n`;
  expect(await lab.exec(router, ["nft", "-f", "-"], table)).toMatchObject({ code: 0, stderr: "" });
  gateway = await lab.startGateway();
});
afterAll(async () => {
  for (const server of servers) server.kill("SIGKILL");
  await lab?.close();
});

async function dropped(): Promise<number> {
  const { stdout } = await lab.exec(lab.namespaces.router, ["nft", "list", "table", "inet", "hotel"]);
  return Number(/packets (\d+)/.exec(stdout)?.[1]);
}

const status = async () => (await gateway.api("GET", "/api/status")).body;
const connect = (server: string, transport?: string) =>
  gateway.api("POST", "/api/connect", { server, ...(transport !== undefined && { transport }) });
const seenAs = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/ip`);
/** Whether the client's packet of this size gets to the internet and back. */
const pings = async (bytes: number) =>
  (await lab.exec(lab.namespaces.client, ["ping", "-c1", "-W5", "-Mdo", `-s${bytes - 28}`, INTERNET.host4]))
    .code === 0;

test("where WireGuard is dropped by its bytes a server is reached through Debian's ss-server, and a restart comes back to it", async () => {
  const begun = performance.now();
  expect((await connect("box-vpn-1")).body).toEqual({ success: true });
  expect(performance.now() - begun).toBeLessThan(30_000);
  const by = { connected: true, transport: "shadowsocks", port: PORT };
  expect(await status()).toMatchObject({ ...by, server: "box-vpn-1", ip: VPN.vpn1.v4 });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  // Positive control: plain WireGuard was tried first. Nothing of it was seen since.
  const before = await dropped();
  expect(before).toBeGreaterThan(0);
  // 55 bytes are added to each packet, and the longest that fits is a multiple of 16.
  const { mtu } = await status();
  expect(mtu).toBe(1_376);
  expect([await pings(mtu), await pings(mtu + 1)]).toEqual([true, false]);
  expect((await connect("box-vpn-2", "shadowsocks")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ ...by, server: "box-vpn-2" });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  await gateway.kill("SIGKILL");
  expect(await seenAs()).toBeNull();
  await gateway.start();
  await until(async () => (await status()).connected);
  expect(await status()).toMatchObject({ ...by, server: "box-vpn-2" });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  expect(await dropped()).toBe(before);
});
