import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { exitMarkOf, MAIN_SLOT, markOf } from "../../src/network/slot.ts";
import { INTERNET, MULTIHOP_PORTS, TUNNEL, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { EphemeralService } from "../rig/peers/ephemeral-service.ts";
import { RELAYED, relayServers, relaysAt } from "../rig/peers/relayed-servers.ts";
import { knock } from "../rig/tools/connection-attempt.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same gateway with another provider");

setDefaultTimeout(240_000);

const PORT = 1337;
/** What is not an agreement on keys. */
const OTHER = `not (host ${TUNNEL.server4} and tcp port ${PORT})`;

let lab: Lab;
let gateway: Gateway;
let sniffer: Sniffer;
const relays: Bun.Subprocess[] = [];
let services: Record<"vpn1" | "vpn2", EphemeralService>;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  relays.push(...(await relayServers(lab, { ephemeral_peers: true })));
  services = { vpn1: await serve("vpn1"), vpn2: await serve("vpn2") };
  gateway = await lab.startGateway();
  await gateway.keep();
  const endpoints = Object.values(VPN).flatMap(({ v4 }) =>
    [VPN_PORT, ...Object.values(MULTIHOP_PORTS)].map((port) => ({ address: v4, port })),
  );
  sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
    endpoints: [...endpoints, ...RELAYED.flatMap((transport) => relaysAt(transport))],
    direction: "in",
  });
});
beforeEach(async () => {
  if (!services.vpn1.isRunning) services.vpn1 = await serve("vpn1");
  for (const service of Object.values(services)) await service.behave("answer");
  await gateway.reset();
});
afterAll(async () => {
  for (const service of Object.values(services ?? {})) await service.stop();
  for (const relay of relays) relay.kill("SIGKILL");
  await lab?.close();
});

function serve(role: "vpn1" | "vpn2"): Promise<EphemeralService> {
  const { namespaces, serverInterfaces } = lab.sandbox;
  const wireguard = serverInterfaces[role];
  return EphemeralService.start(TUNNEL.server4, PORT, { namespace: namespaces[role], wireguard });
}

/** What comes out of the tunnel at a server. */
function tapped(role: "vpn1" | "vpn2", filter: string): Promise<Wiretap> {
  const { namespaces, serverInterfaces } = lab.sandbox;
  return Wiretap.start(namespaces[role], serverInterfaces[role], filter);
}

const connect = (body: object) => gateway.api("POST", "/api/connect", body);
const status = async () => (await gateway.api("GET", "/api/status")).body;
const rows = async () => (await gateway.api("GET", "/api/tunnels")).body.tunnels;
const seenAs = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/ip`);
const OK = { success: true };

/** The preshared keys that a server knows of its peers, by the peers' keys. */
async function secretsAt(role: "vpn1" | "vpn2"): Promise<Map<string, string>> {
  const { namespaces, serverInterfaces } = lab.sandbox;
  const { stdout } = await lab.exec(namespaces[role], [
    "wg",
    "show",
    serverInterfaces[role],
    "preshared-keys",
  ]);
  return new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split("\t") as [string, string]),
  );
}

test("what is required is in use before a packet of a device comes out at the server", async () => {
  const { client } = lab.namespaces;
  const traffic = await lab.traffic(client);
  await services.vpn1.behave("lost");
  const before = await tapped("vpn1", OTHER);
  const failed = await connect({ server: "box-vpn-1", quantum: "require" });
  expect(failed.body.error).toContain("did not answer within 8 s");
  expect(services.vpn1.said("registered").length).toBeGreaterThan(0);
  expect(await before.stop()).toEqual([]);
  expect(await status()).toMatchObject({ connected: false, state: "failed", killswitch_active: true });
  await services.vpn1.behave("answer");
  const after = await tapped("vpn1", OTHER);
  expect((await connect({ server: "box-vpn-1", quantum: "require" })).body).toEqual(OK);
  expect(await status()).toMatchObject({ connected: true, quantum: true });
  await traffic.sends(50);
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await traffic.stop();
  // Positive control.
  expect((await after.stop()).length).toBeGreaterThan(10);
  const loaded = services.vpn1.said("loaded").at(-1) ?? "";
  expect((await secretsAt("vpn1")).get(loaded)).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  const secret = (await secretsAt("vpn1")).get(loaded) ?? "";
  expect(gateway.log()).toContain("its keys are safe from quantum computers");
  expect(gateway.log()).not.toContain(secret);
});

test("while keys are agreed on, nothing else enters the tunnel, in each layer, nor after SIGKILL", async () => {
  const { client, gateway: own } = lab.namespaces;
  const link = `${lab.sandbox.interface}0`;
  await services.vpn1.behave("silent");
  const asked = services.vpn1.said("asked").length;
  const tap = await tapped("vpn1", "not (tcp src port 1337 or tcp dst port 1337)");
  const knocks = await tapped(
    "vpn1",
    "tcp dst port 1337 and tcp[tcpflags] & tcp-syn != 0 and portrange 20000-20099",
  );
  const traffic = await lab.traffic(client);
  const connecting = connect({ server: "box-vpn-1", quantum: "require" }).catch(() => null);
  await until(() => services.vpn1.said("asked").length > asked, 20_000, 20);
  const inside = (sourcePort: number, more: { mark?: number; uid?: number } = {}) =>
    knock(own, { sourcePort, address: TUNNEL.server4, port: PORT, link, ...more });
  const mark = exitMarkOf(markOf(MAIN_SLOT));
  const knocked = await Promise.all([
    knock(client, { sourcePort: 20_001, address: TUNNEL.server4, port: PORT }),
    inside(20_002),
    inside(20_003, { mark, uid: 65_534 }),
    // Positive control: with the mark, which only root can set, the same packets are permitted.
    inside(20_004, { mark }),
  ]);
  expect(knocked).toEqual([false, false, false, true]);
  await gateway.kill("SIGKILL");
  // Routing alone.
  await lab.exec(own, ["nft", "flush", "ruleset"]);
  await traffic.sends(50);
  await gateway.start();
  await traffic.sends(20);
  expect(await status()).toMatchObject({ connected: false, state: "disconnected" });
  await traffic.stop();
  await connecting;
  expect(await tap.stop()).toEqual([]);
  const arrived = (await knocks.stop()).map((line) => /\.(200\d\d) >/.exec(line)?.[1]);
  expect(new Set(arrived)).toEqual(new Set(["20004"]));
});

test("a server that has no such keys is refused if they are required, and the tunnel that was up carries on", async () => {
  expect((await connect({ server: "box-vpn-2", quantum: "require" })).body).toEqual(OK);
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  // It would know no handshake that ends what it has given before.
  await services.vpn1.behave("unload");
  await services.vpn1.stop();
  const refused = await connect({ server: "box-vpn-1", quantum: "require" });
  expect(refused.body.error).toContain(`${TUNNEL.server4}:${PORT} takes no connections`);
  expect(await status()).toMatchObject({ connected: true, server: "box-vpn-2", quantum: true });
  expect((await connect({ server: "box-vpn-1", quantum: "on" })).body).toEqual(OK);
  expect(await status()).toMatchObject({ connected: true, server: "box-vpn-1", quantum: false });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  const { result, found } = checks.find(({ id }: { id: string }) => id === "tunnel:main");
  expect([result, found]).toEqual(["warning", expect.stringContaining("not safe from quantum computers")]);
  services.vpn1 = await serve("vpn1");
  expect((await connect({ server: "box-vpn-2", quantum: "on" })).body).toEqual(OK);
  expect(await status()).toMatchObject({ connected: true, quantum: true });
  await traffic.sends(20);
  await traffic.stop();
});

test("SIGKILL lets nothing out, and the next start agrees on new keys by itself", async () => {
  await connect({ server: "box-vpn-1", quantum: "require" });
  const first = services.vpn1.said("loaded").at(-1);
  const traffic = await lab.traffic(lab.namespaces.client);
  await traffic.sends(20);
  await gateway.kill("SIGKILL");
  await traffic.sends(20);
  await gateway.start();
  await until(async () => (await status()).connected);
  expect(await status()).toMatchObject({ server: "box-vpn-1", quantum: true });
  expect((await rows())[0]).toMatchObject({ wanted: "box-vpn-1", wanted_quantum: "require" });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await until(() => services.vpn1.said("loaded").at(-1) !== first);
  expect((await secretsAt("vpn1")).has(first ?? "")).toBe(false);
  await traffic.stop();
});

test("a handshake with the normal key ends the keys, and the gateway agrees on new ones without a person", async () => {
  await connect({ server: "box-vpn-1", quantum: "require" });
  const first = services.vpn1.said("loaded").at(-1) ?? "";
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await services.vpn1.behave("unload");
  expect(services.vpn1.said("unloaded")).toContain(first);
  await until(() => services.vpn1.said("loaded").at(-1) !== first, 120_000);
  // Its routes carry a moment before it says so.
  await until(async () => (await status()).connected);
  expect(await status()).toMatchObject({ server: "box-vpn-1", quantum: true });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await traffic.stop();
});

test("two tunnels with one key, over two hops and far away, have keys of their own", async () => {
  // The connection inside the tunnel takes as long as over an ocean.
  await lab.delay(80);
  expect((await connect({ server: "box-vpn-1", quantum: "require" })).body).toEqual(OK);
  const tv = { provider: "managed", server: "box-vpn-2", quantum: "require" };
  expect((await gateway.api("PUT", "/api/tunnels/tv", tv)).body).toEqual(OK);
  expect(await rows()).toMatchObject([
    { name: "main", server: "box-vpn-1", quantum: true },
    { name: "tv", server: "box-vpn-2", quantum: true, wanted_quantum: "require" },
  ]);
  await gateway.api("DELETE", "/api/tunnels/tv");
  // WireGuard's other end is the exit: the entry forwards its packets as they are.
  const hops = { server: "box-vpn-2", via: "box-vpn-1", quantum: "require" };
  expect((await connect(hops)).body).toEqual(OK);
  expect(await status()).toMatchObject({ server: "box-vpn-2", via: "box-vpn-1", quantum: true });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  await lab.delay(0);
});

test.each(["udp2tcp", "lwo"])(
  "a tunnel by %s has such keys, too, and is back with new ones after its relay has ended with the service",
  async (transport) => {
    const wanted = { server: "box-vpn-1", transport, quantum: "require" };
    expect((await connect(wanted)).body).toEqual(OK);
    const there = { server: "box-vpn-1", transport, quantum: true };
    expect(await status()).toMatchObject(there);
    expect(await seenAs()).toBe(VPN.vpn1.v4);
    const first = services.vpn1.said("loaded").at(-1);
    await gateway.kill("SIGKILL");
    expect(await seenAs()).toBeNull();
    await gateway.start();
    await until(async () => (await status()).connected);
    expect(await status()).toMatchObject(there);
    expect(await seenAs()).toBe(VPN.vpn1.v4);
    expect(services.vpn1.said("loaded").at(-1)).not.toBe(first);
  },
);

test.each(["plain", "lwo"])(
  "keys are agreed on whatever the reverse-path filter (transport: %s)",
  async (transport) => {
    const { gateway: own } = lab.namespaces;
    const setFilter = async (value: number) => {
      const all = `for link in /proc/sys/net/ipv4/conf/*; do echo ${value} > $link/rp_filter; done`;
      expect(await lab.exec(own, ["sh", "-c", all])).toMatchObject({ code: 0, stderr: "" });
    };
    for (const value of [1, 2, 0]) {
      await setFilter(value);
      const wanted = { server: "box-vpn-1", quantum: "require", transport };
      expect((await connect(wanted)).body).toEqual(OK);
      expect([value, await status(), await seenAs()]).toMatchObject([
        ...[value, { connected: true, quantum: true }, VPN.vpn1.v4],
      ]);
      await gateway.api("POST", "/api/disconnect");
    }
  },
);

test("nothing of all this has left outside the tunnels", async () => {
  const { leaks, wireguard, missed } = await sniffer.stop();
  expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
  expect(wireguard).toBeGreaterThan(0);
});
