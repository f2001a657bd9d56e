import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { TUNNEL, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import type { Quality } from "../../src/tunnel/quality-facts.ts";
import type { Status, TunnelRow } from "../../src/tunnel/schema.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Traffic } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(240_000);

/** Each way, on the cable of one server only. */
const DELAY_MS = 60;
const EVERY_SECONDS = 2;

let lab: Lab;
let gateway: Gateway;
let traffic: Traffic;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const sniffer = await lab.sniff();
  // The positive control: what the gateway sends to a tunnel's resolver outside the tunnel is seen.
  await lab.exec(lab.namespaces.gateway, ["ping", "-c", "1", "-W", "2", TUNNEL.server4]);
  await until(() => sniffer.peek().leaks.length > 0);
  await sniffer.stop();
  gateway = await lab.startGateway();
  await gateway.ask("PUT", "/api/settings", { quality: { every_seconds: EVERY_SECONDS } });
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.ask("PUT", "/api/tunnels/second", { provider: "managed", server: "box-vpn-2" });
  traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
});
afterAll(async () => {
  await traffic?.stop();
  await lab?.close();
});

const status = async (): Promise<Status> => (await gateway.api("GET", "/api/status")).body;
async function qualityOf(name: string): Promise<Quality | undefined> {
  const rows: TunnelRow[] = (await gateway.api("GET", "/api/tunnels")).body.tunnels;
  return rows.find((row) => row.name === name)?.quality;
}
const inRouter = (...argv: string[]) => lab.exec(lab.namespaces.router, argv);

test("each tunnel's round trip and the uplink's are measured, inside and without a leak", async () => {
  const sniffer = await lab.sniff();
  await until(async () => (await qualityOf("second")) !== undefined);
  await until(async () => (await status()).uplink_quality !== undefined);
  await until(async () => ((await qualityOf("main"))?.variation_ms ?? null) !== null);
  const [main, second, uplink] = [
    await qualityOf("main"),
    await qualityOf("second"),
    (await status()).uplink_quality,
  ];
  for (const quality of [main, second, uplink]) expect(quality).toMatchObject({ state: "good" });
  // A busy machine takes its time for some of them.
  await until(async () => ((await qualityOf("main"))?.round_trip_ms ?? DELAY_MS) < DELAY_MS);
  expect((await status()).quality).toBeDefined();
  const metrics = (await gateway.api("GET", "/metrics")).body;
  for (const series of [
    'portcullis_tunnel_round_trip_seconds{tunnel="second"}',
    'portcullis_tunnel_loss_ratio{tunnel="main"} 0',
    "portcullis_uplink_round_trip_seconds ",
  ])
    expect(metrics).toContain(series);
  const { leaks, wireguard } = await sniffer.stop();
  expect(leaks).toEqual([]);
  expect(wireguard).toBeGreaterThan(0);
});

test("a long way to one server makes its tunnel slow, and neither the other nor the uplink", async () => {
  await lab.delay(DELAY_MS, "vpn1");
  await gateway.ask("PUT", "/api/settings", { quality: { slow_ms: 2 * DELAY_MS } });
  await gateway.ask("POST", "/api/disconnect");
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await until(async () => (await qualityOf("main"))?.state === "slow");
  expect((await qualityOf("main"))?.round_trip_ms).toBeGreaterThanOrEqual(2 * DELAY_MS);
  expect((await status()).uplink_quality?.state).toBe("good");
  expect((await qualityOf("second"))?.state).toBe("good");
  await lab.delay(0);
  await until(async () => (await qualityOf("main"))?.state === "good");
});

test("a way that drops every fourth packet to one server makes its tunnel lossy", async () => {
  const rule = `ip daddr ${VPN.vpn1.v4} udp dport ${VPN_PORT} numgen inc mod 4 0 drop`;
  const table = `table inet lossy { chain forward { type filter hook forward priority 0; ${rule}; }; }`;
  expect((await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], table)).stderr).toBe("");
  await until(async () => (await qualityOf("main"))?.state === "lossy");
  expect((await status()).quality?.loss_percent).toBeGreaterThanOrEqual(10);
  expect((await qualityOf("second"))?.state).toBe("good");
  await inRouter("nft", "delete", "table", "inet", "lossy");
});

test("what is switched off sends nothing, and shows nothing", async () => {
  await gateway.ask("PUT", "/api/settings", { quality: { on: false } });
  expect(await qualityOf("main")).toBeUndefined();
  expect((await status()).uplink_quality).toBeUndefined();
  expect((await gateway.api("GET", "/metrics")).body).not.toContain("round_trip_seconds");
});
