import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { RELAY_MARK } from "../../src/network/slot.ts";
import { commandIn } from "../../src/sandbox/namespace.ts";
import { INTERNET, UPLINK, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import {
  RELAY_TARGETS,
  RELAYED,
  relayServers,
  relaysAt,
  UDP2TCP_PORTS,
} from "../rig/peers/relayed-servers.ts";
import { type Knock, knock } from "../rig/tools/connection-attempt.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same tunnel inside another transport");

setDefaultTimeout(240_000);

/** Whatever else is blocked, a way that exists is found within 30 s, and on a busy machine by then. */
const FOUND_WITHIN_MS = 120_000;
const UDP_RANGES = [
  [53, 53],
  [443, 443],
  [4_000, 4_100],
];

let lab: Lab;
let gateway: Gateway;
let sniffer: Sniffer;
const servers: Bun.Subprocess[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { router, vpn1, vpn2 } = lab.namespaces;
  servers.push(...(await relayServers(lab, { ports: UDP_RANGES })));
  for (const namespace of [vpn1, vpn2]) {
    const ports = UDP_RANGES.map(([from, to]) => `${from}-${to}`).join(", ");
    await load(
      namespace,
      `table inet ports { chain in { type nat hook prerouting priority -90; iifname "wan0" udp dport { ${ports} } redirect to :${VPN_PORT}; }; }`,
    );
  }
  gateway = await lab.startGateway();
  await gateway.keep();
  const ports = [VPN_PORT, 443, 53, 4_050];
  const udp = ENDPOINTS.flatMap((each) => ports.map((port) => ({ ...each, port })));
  sniffer = await Sniffer.start(router, "lan0", {
    endpoints: [
      ...udp,
      ...relaysAt("lwo", ports),
      ...relaysAt("shadowsocks"),
      ...relaysAt("udp2tcp", UDP2TCP_PORTS),
    ],
    direction: "in",
  });
});
beforeEach(async () => {
  await hotel("");
  await gateway.reset();
});
afterAll(async () => {
  for (const server of servers) server.kill("SIGKILL");
  await lab?.close();
});

async function load(namespace: string, text: string): Promise<void> {
  expect(await lab.exec(namespace, ["nft", "-f", "-"], text)).toMatchObject({ code: 0, stderr: "" });
}

/** What the network in between does to packets of the home; everything else passes. */
async function hotel(rules: string, more = ""): Promise<void> {
  const replace = "add table inet hotel\ndelete table inet hotel\n";
  const chain = `chain forward {\ntype filter hook forward priority 0\n${rules}\n}`;
  await load(lab.namespaces.router, `${replace}table inet hotel {\n${more}\n${chain}\n}\n`);
}

const NO_UDP = 'iifname "lan0" meta l4proto udp counter drop;';
/** WireGuard's messages by their first bytes, whatever the port. */
const NO_WIREGUARD =
  "meta l4proto udp @th,64,32 { 0x01000000, 0x02000000, 0x03000000, 0x04000000 } counter drop;";
/** The first packets of a flow pass. */
const FEW_PACKETS = "meta l4proto udp ct packets > 20 counter drop;";

async function dropped(): Promise<number> {
  const { stdout } = await lab.exec(lab.namespaces.router, ["nft", "list", "table", "inet", "hotel"]);
  return Number(/packets (\d+)/.exec(stdout)?.[1]);
}

async function status() {
  return (await gateway.api("GET", "/api/status")).body;
}

async function connect(server = "box-vpn-1", transport?: string) {
  const body = { server, ...(transport !== undefined && { transport }) };
  return gateway.api("POST", "/api/connect", body);
}

const seenAs = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/ip`);
const inGateway = (...argv: string[]) => lab.exec(lab.namespaces.gateway, argv);

test("where UDP is dropped a server is reached over TCP, which is told and tried first the next time", async () => {
  await hotel(NO_UDP);
  const begun = performance.now();
  expect((await connect()).body).toEqual({ success: true });
  expect(performance.now() - begun).toBeLessThan(FOUND_WITHIN_MS);
  // Positive control.
  expect(await dropped()).toBeGreaterThan(0);
  expect(await status()).toMatchObject({
    connected: true,
    ip: VPN.vpn1.v4,
    transport: "udp2tcp",
    port: 443,
    blocked: "udp",
  });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  const { result, found } = checks.find(({ id }: { id: string }) => id === "tunnel:main");
  expect([result, found]).toEqual([
    "ok",
    expect.stringContaining("by udp2tcp at TCP port 443, because UDP is blocked here"),
  ]);
  const before = await dropped();
  expect((await connect("Netherlands")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ server: "box-vpn-2", transport: "udp2tcp", port: 443 });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  expect(await dropped()).toBe(before);
});

test("where WireGuard is dropped by its bytes a server is reached by LWO, and in plain again on another uplink", async () => {
  await hotel(NO_WIREGUARD);
  const begun = performance.now();
  expect((await connect()).body).toEqual({ success: true });
  expect(performance.now() - begun).toBeLessThan(FOUND_WITHIN_MS);
  expect(await dropped()).toBeGreaterThan(0);
  expect(await status()).toMatchObject({ transport: "lwo", port: VPN_PORT, blocked: "wireguard" });
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  // The same router lets everything pass later: what worked there is tried first.
  await hotel("");
  await gateway.api("POST", "/api/disconnect");
  await connect();
  expect(await status()).toMatchObject({ transport: "lwo" });
  // Another router with the same address, as in the next hotel.
  await gateway.api("POST", "/api/disconnect");
  const { router } = lab.namespaces;
  await lab.exec(router, ["ip", "link", "set", "dev", "lan0", "address", "02:00:00:00:99:01"]);
  await inGateway("ip", "neigh", "flush", "all");
  await connect();
  expect((await status()).transport).toBeUndefined();
  expect(await seenAs()).toBe(VPN.vpn1.v4);
});

test("where only the first packets of a flow pass, a tunnel that falls silent is back over TCP", async () => {
  await hotel(FEW_PACKETS);
  expect((await connect()).body).toEqual({ success: true });
  expect((await status()).transport).toBeUndefined();
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  await until(async () => (await status()).transport === "udp2tcp", FOUND_WITHIN_MS);
  expect(await dropped()).toBeGreaterThan(0);
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await traffic.stop();
});

test("where a port of TCP is reset the next one is tried at once, and a connection that is reset is made again", async () => {
  await hotel(`${NO_UDP} iifname "lan0" tcp dport 443 reject with tcp reset;`);
  expect((await connect("box-vpn-1", "udp2tcp")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({ transport: "udp2tcp", port: 80 });
  const { latest_handshake } = await status();
  await hotel(`${NO_UDP} iifname "lan0" tcp dport 80 counter reject with tcp reset;`);
  await until(async () => (await seenAs()) === null);
  await hotel(NO_UDP);
  await until(async () => (await seenAs()) === VPN.vpn1.v4);
  // It is the same session of WireGuard's: nothing was dialled.
  expect(await status()).toMatchObject({ port: 80, latest_handshake });
});

test("a login page in the server's place is told, and what is left is not tried", async () => {
  const { router } = lab.namespaces;
  const portal = Bun.spawn(
    commandIn(router, [
      process.execPath,
      "-e",
      'Bun.serve({ port: 8080, fetch: () => new Response("Log in") }); console.log("ready")',
    ]),
    { stdin: "ignore", stdout: "pipe" },
  );
  servers.push(portal);
  await portal.stdout.getReader().read();
  await hotel(
    NO_UDP,
    'chain portal {\ntype nat hook prerouting priority -90\niifname "lan0" tcp dport { 80, 443, 5001 } counter redirect to :8080\n}',
  );
  const before = gateway.log().length;
  const answer = await connect();
  expect(answer.status).toBe(500);
  const [, port] = /something else answers in its place at TCP port (\d+)/.exec(answer.body.error) ?? [];
  expect((await status()).state).toBe("failed");
  // On a busy machine a port may be given up before the page answers there; where it does is the last one.
  const tried = gateway
    .log()
    .slice(before)
    .matchAll(/trying by udp2tcp at TCP port (\d+)/g);
  expect([...tried].at(-1)?.[1]).toBe(port ?? "none");
  expect(await seenAs()).toBeNull();
  portal.kill("SIGKILL");
});

/** Whether a program gets a TCP connection to the server of the relay, from that port. */
function knocks(namespace: string, sourcePort: number, more: Partial<Knock> = {}) {
  return knock(namespace, { sourcePort, address: VPN.vpn1.v4, port: 443, ...more });
}

const NOBODY = { uid: 65_534 };

test.each(RELAYED)("only the relay's own socket is permitted, in each layer (%s)", async (transport) => {
  const { protocol, port } = RELAY_TARGETS[transport];
  const { gateway: own, client, router } = lab.namespaces;
  await connect("box-vpn-1", transport);
  expect(await status()).toMatchObject({ connected: true, transport, port });
  const to = { port, isUdp: protocol === "udp" };
  const table = (await inGateway("nft", "list", "table", "inet", "portcullis")).stdout;
  const accepts = table.split("\n").filter((line) => line.includes("dport") && line.includes(VPN.vpn1.v4));
  expect(accepts).toEqual([
    expect.stringContaining(`== 0x0000134d ip daddr ${VPN.vpn1.v4} ${protocol} dport ${port} accept`),
  ]);
  const tap = await Wiretap.start(
    router,
    "lan0",
    `${protocol} and src portrange 20000-20099 and src host ${UPLINK.gateway4}`,
  );
  // Positive control: with the mark, which only root can set, the same packets are permitted.
  expect(await knocks(own, 20_001, { ...to, mark: RELAY_MARK })).toBe(true);
  expect((await tap.stop()).length).toBeGreaterThan(0);
  const quiet = await Wiretap.start(router, "lan0", `${protocol} and portrange 20000-20099`);
  expect(await knocks(own, 20_002, { ...to, mark: RELAY_MARK, ...NOBODY })).toBe(false);
  await knocks(own, 20_003, to);
  await knocks(own, 20_004, { ...to, ...NOBODY });
  await knocks(client, 20_005, to);
  expect(await quiet.stop()).toEqual([]);
  // Routing alone: the firewall is away, and the service does not put it back.
  process.kill(gateway.pid, "SIGSTOP");
  await inGateway("nft", "flush", "ruleset");
  const routed = await Wiretap.start(router, "lan0", `${protocol} and portrange 20000-20099`);
  await knocks(own, 20_006, to);
  await knocks(own, 20_007, { ...to, ...NOBODY });
  expect(await routed.stop()).toEqual([]);
  expect(await knocks(own, 20_008, { ...to, mark: RELAY_MARK })).toBe(true);
  process.kill(gateway.pid, "SIGCONT");
  await until(async () => (await seenAs()) === VPN.vpn1.v4);
});

test("a switch leads from relay to relay, several tunnels have relays of their own, and two hops have none", async () => {
  await hotel(NO_UDP);
  await connect("box-vpn-1", "udp2tcp");
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp"] });
  expect((await connect("box-vpn-2", "udp2tcp")).body).toEqual({ success: true });
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  await traffic.stop();
  const further = { server: "vpn-1", provider: "managed", transport: "udp2tcp" };
  const put = (body: unknown) => gateway.api("PUT", "/api/tunnels/tv", body);
  expect((await put({ ...further, server: "box-vpn-1" })).body).toEqual({ success: true });
  const { tunnels } = (await gateway.api("GET", "/api/tunnels")).body;
  expect(tunnels).toMatchObject([
    { name: "main", server: "box-vpn-2", transport: "udp2tcp" },
    { name: "tv", server: "box-vpn-1", transport: "udp2tcp", wanted_transport: "udp2tcp" },
  ]);
  const hops = { server: "box-vpn-1", via: "box-vpn-2", transport: "udp2tcp" };
  expect((await gateway.api("POST", "/api/connect", hops)).body.error).toContain(
    "two hops are reached by plain WireGuard only",
  );
  expect(await seenAs()).toBe(VPN.vpn2.v4);
});

test("nothing of all this has left outside the tunnels", async () => {
  const { leaks, wireguard, missed } = await sniffer.stop();
  expect({
    leaks: leaks.filter((leak) => !/ (TCP 200\d\d > 443|UDP 200\d\d > (51820|51924), 16 bytes)$/.test(leak)),
    missed,
  }).toEqual({
    leaks: [],
    missed: 0,
  });
  expect(wireguard).toBeGreaterThan(0);
});
