import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, UPLINK, VPN, VPN_PORT } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { AMNEZIA_LINES, AMNEZIA_PORT, startAmnezia } from "../rig/peers/amnezia.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same tunnel inside another transport");

setDefaultTimeout(240_000);

/** WireGuard's messages by their first bytes, whatever the port, are dropped on the way. */
const NO_WIREGUARD = `table inet hotel { chain forward { type filter hook forward priority 0
meta l4proto udp @th,64,32 { 0x01000000, 0x02000000, 0x03000000, 0x04000000 } counter drop; }; }`;

let lab: Lab;
let gateway: Gateway;
let sniffer: Sniffer;
const started: Bun.Subprocess[] = [];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  const { router, vpn1 } = lab.namespaces;
  const [server] = lab.sandbox.servers;
  started.push(
    await startAmnezia(vpn1, VPN_PORT, {
      serverKey: server.publicKey,
      clientKey: server.imported.publicKey,
    }),
  );
  expect(await lab.exec(router, ["nft", "-f", "-"], NO_WIREGUARD)).toMatchObject({ code: 0, stderr: "" });
  gateway = await lab.startGateway();
  const file = server.importText
    .replace("[Interface]\n", `[Interface]\n${AMNEZIA_LINES}\n`)
    .replace(`:${VPN_PORT}\n`, `:${AMNEZIA_PORT}\n`);
  for (const [name, config] of [
    ["hidden", file],
    ["plain", server.importText],
  ])
    expect((await gateway.api("POST", "/api/import", { name, config })).body).toMatchObject({
      success: true,
    });
  await gateway.api("POST", "/api/provider/imported");
  await gateway.keep();
  sniffer = await Sniffer.start(router, "lan0", {
    endpoints: [...ENDPOINTS, { address: VPN.vpn1.v4, port: AMNEZIA_PORT, transport: "amnezia" }],
    direction: "in",
  });
});
beforeEach(() => gateway.reset());
afterAll(async () => {
  for (const each of started) each.kill("SIGKILL");
  await lab?.close();
});

const status = async () => (await gateway.api("GET", "/api/status")).body;
const connect = (name: string, transport?: string) =>
  gateway.api("POST", "/api/connect", { server: name, ...(transport !== undefined && { transport }) });
const seenAs = () => lab.fetchFrom(lab.namespaces.client, `http://${INTERNET.host4}/ip`);

async function dropped(): Promise<number> {
  const { stdout } = await lab.exec(lab.namespaces.router, ["nft", "list", "table", "inet", "hotel"]);
  return Number(/packets (\d+)/.exec(stdout)?.[1]);
}

test("where WireGuard is dropped by its bytes, an imported server with AmneziaWG's settings is reached", async () => {
  const before = await dropped();
  expect((await connect("hidden")).body).toEqual({ success: true });
  expect(await status()).toMatchObject({
    ...{ connected: true, server: "hidden", ip: VPN.vpn1.v4, transport: "amnezia", port: AMNEZIA_PORT },
  });
  expect((await status()).blocked).toBeUndefined();
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  // Long packets, too.
  expect(
    await lab.exec(lab.namespaces.client, ["ping", "-c1", "-W5", "-s1300", INTERNET.host4]),
  ).toMatchObject({ code: 0 });
  expect(await dropped()).toBe(before);
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  const { found } = checks.find(({ id }: { id: string }) => id === "tunnel:main");
  expect(found).toContain(`by AmneziaWG at UDP port ${AMNEZIA_PORT}, as its configuration says`);
  const refused = await connect("hidden", "plain");
  expect([refused.status, refused.body.error]).toEqual([
    400,
    "transport: hidden does not offer plain; choose another server, or auto",
  ]);
  expect(await seenAs()).toBe(VPN.vpn1.v4);
  // Positive control.
  expect((await connect("plain")).status).toBe(500);
  expect(await dropped()).toBeGreaterThan(before);
  expect((await connect("plain", "amnezia")).status).toBe(400);
});

test("before each handshake come the packets of the file and the junk, all from the same port", async () => {
  const tap = await Wiretap.start(
    lab.namespaces.router,
    "lan0",
    `udp dst port ${AMNEZIA_PORT} and src host ${UPLINK.gateway4}`,
  );
  await connect("hidden");
  const lengths = (await tap.stop()).map((line) => Number(/length (\d+)$/.exec(line)?.[1]));
  const [first, ...others] = lengths;
  expect(first).toBe(3 + 16 + 4 + 4 + 4);
  for (const length of others.slice(0, 5)) expect(length >= 40 && length <= 90).toBeTrue();
  expect(others[5]).toBe(72 + 148);
  // A keepalive.
  expect(others[6]).toBe(9 + 32);
});

test("nothing of all this has left outside the tunnel", async () => {
  const { leaks, wireguard, missed } = await sniffer.stop();
  expect({ leaks, missed }).toEqual({ leaks: [], missed: 0 });
  expect(wireguard).toBeGreaterThan(0);
});
