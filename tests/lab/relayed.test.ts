import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { HOME, INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { Phone } from "../rig/home/phone.ts";
import { TO_HOME_ROUTER } from "../rig/peers/miniupnpd.ts";
import { relayServers, relaysAt, UDP2TCP_PORTS } from "../rig/peers/relayed-servers.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { PROGRAM } from "../rig/tools/program.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same tunnel inside another transport");

setDefaultTimeout(400_000);

const MINUTE_MS = 60_000;
/** A minute until a server is given up, and what is dialled in vain until then and after. */
const REPLACED_WITHIN_MS = 4 * MINUTE_MS;
/** So many datagrams are enough for a loss to show. */
const ENOUGH = 100;
/** Where names are asked for: a relay's packets there are no questions. */
const LWO_PORT = 53;
const PAGE = `http://${INTERNET.host4}/ip`;
const TRANSPORTS = ["lwo", "udp2tcp"] as const;

let lab: Lab;
let gateway: Gateway;
let phone: Phone;
let sniffer: Sniffer;
const servers: Bun.Subprocess[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  servers.push(...(await relayServers(lab, { country: "Sweden", port: LWO_PORT }, TRANSPORTS)));
  phone = await Phone.away(lab, 1);
  // The home router's owner has entered the port.
  const rule = `iifname "wan0" udp dport ${HOME.port} dnat ip to ${UPLINK.gateway4}`;
  const ports = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1; ${rule}; }; }`;
  expect(await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], ports)).toMatchObject({ code: 0 });
  gateway = await lab.startGateway();
  await gateway.keep();
  // WireGuard itself may reach phones, and nobody else.
  sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
    endpoints: [
      { address: UPLINK.gateway4, port: HOME.port },
      ...relaysAt("lwo", [LWO_PORT]),
      ...relaysAt("udp2tcp", UDP2TCP_PORTS),
    ],
    direction: "in",
  });
});
beforeEach(async () => {
  await cableOf("vpn1", "up");
  await cableOf("vpn2", "up");
  await phone.hangsUp();
  await gateway.reset();
});
afterAll(async () => {
  for (const server of servers) server.kill("SIGKILL");
  await lab?.close();
});

const status = async () => (await gateway.api("GET", "/api/status")).body;
const seenAs = () => lab.fetchFrom(lab.namespaces.client, PAGE);
const cableOf = (server: "vpn1" | "vpn2", way: "up" | "down") =>
  lab.exec(lab.namespaces.internet, ["ip", "link", "set", server, way]);
const isAt = (server: string, transport: string) => async () => {
  const found = await status();
  return found.connected && found.server === server && found.transport === transport;
};

test.each(TRANSPORTS)(
  "failover replaces a dead server by another one, which is reached by %s as the first was",
  async (transport) => {
    await gateway.ask("PUT", "/api/settings", { failover: true });
    await gateway.ask("POST", "/api/connect", { server: "box-vpn-1", transport });
    const traffic = await lab.traffic(lab.namespaces.client);
    await traffic.sends(ENOUGH);
    await cableOf("vpn1", "down");
    await until(isAt("box-vpn-2", transport), REPLACED_WITHIN_MS);
    expect(await seenAs()).toBe(VPN.vpn2.v4);
    const { tunnels } = await gateway.ask("GET", "/api/tunnels");
    expect(tunnels[0]).toMatchObject({ wanted_transport: transport });
    await traffic.stop();
  },
);

test("the next target of an order takes over by its own way, and the first is gone back to by its own", async () => {
  const targets = [
    { server: "box-vpn-1", transport: "lwo" },
    { server: "box-vpn-2", transport: "udp2tcp" },
  ];
  await gateway.ask("POST", "/api/connect", { targets, back_after_minutes: 1 });
  expect(await status()).toMatchObject({ server: "box-vpn-1", transport: "lwo", port: LWO_PORT });
  const traffic = await lab.traffic(lab.namespaces.client);
  await traffic.sends(ENOUGH);
  await cableOf("vpn1", "down");
  await until(isAt("box-vpn-2", "udp2tcp"));
  expect(await seenAs()).toBe(VPN.vpn2.v4);
  await cableOf("vpn1", "up");
  await until(isAt("box-vpn-1", "lwo"), 3 * MINUTE_MS);
  await traffic.sends(ENOUGH);
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  await traffic.stop();
});

test("a remote phone leaves by relayed tunnels, not at all while the service is gone, and by them again after that", async () => {
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1", transport: "lwo" });
  await gateway.ask("PUT", "/api/tunnels/tv", {
    server: "box-vpn-2",
    provider: "managed",
    transport: "udp2tcp",
  });
  await invite("phone");
  expect(await phone.seenAs()).toBe(VPN.vpn1.v4);
  await give("phone", "tv");
  expect(await phone.seenAs()).toBe(VPN.vpn2.v4);
  await give("phone", "main");
  await gateway.ask("DELETE", "/api/tunnels/tv");
  const traffic = await lab.traffic(phone.namespace);
  await traffic.sends(ENOUGH);
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-2", transport: "udp2tcp" });
  await traffic.sends(ENOUGH);
  expect(await phone.seenAs()).toBe(VPN.vpn2.v4);
  await gateway.kill("SIGKILL");
  await traffic.sends(ENOUGH);
  expect(await phone.seenAs()).toBeNull();
  await gateway.start();
  await until(async () => (await phone.seenAs()) === VPN.vpn2.v4);
  // Its routes carry a moment before it says so.
  await until(isAt("box-vpn-2", "udp2tcp"));
  await traffic.stop();
});

async function invite(name: string): Promise<void> {
  const on = await gateway.operate("remote", "on", "--endpoint", ROUTER.public4);
  expect(on).toMatchObject({ code: 0, stderr: "" });
  const url = ["--url", `http://127.0.0.1:${gateway.port}`];
  const { stdout, stderr } = await lab.outside([...PROGRAM, "remote", "add", name, "--file", ...url]);
  expect(stderr).toBe("");
  await phone.takes(stdout);
}

async function give(name: string, exit: string): Promise<void> {
  const { devices } = await gateway.ask("GET", "/api/devices");
  const { id } = devices.find((each: { name: string }) => each.name === name);
  await gateway.ask("PUT", `/api/devices/${encodeURIComponent(id)}`, { exit });
}

test("nothing of all this has left in clear, and the sniffer sees what leaves without the kill switch", async () => {
  const { leaks, wireguard, missed } = await sniffer.count();
  expect({ leaks: leaks.filter((leak) => !TO_HOME_ROUTER.test(leak)), missed }).toEqual({
    leaks: [],
    missed: 0,
  });
  expect(wireguard).toBeGreaterThan(0);
  // Positive control.
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1", transport: "lwo" });
  await invite("other");
  expect(await phone.seenAs()).toBe(VPN.vpn1.v4);
  const { devices } = await gateway.ask("GET", "/api/devices");
  const [own] = devices.find((each: { name: string }) => each.name === "other").addresses;
  await gateway.expose();
  const traffics = await Promise.all(
    [lab.namespaces.client, phone.namespace].map((each) => lab.traffic(each, { kinds: ["udp"] })),
  );
  const isSeen = (source: string) => () =>
    sniffer.leaks.some((leak) => leak.startsWith(`${source} > ${INTERNET.host4} UDP `));
  await until(isSeen(LAN.client4));
  await until(isSeen(own));
  for (const traffic of traffics) await traffic.stop();
  await sniffer.stop();
});
