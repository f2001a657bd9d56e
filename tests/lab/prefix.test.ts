import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { Check } from "../../src/checks/schema.ts";
import { INTERNET, TUNNEL } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { advertisementPacket } from "../network/advertisement.ts";
import { inject } from "../rig/tools/injector.ts";
import { place, reachFlow, reachTunnelAddress } from "../rig/tools/intruder.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("each case of what the leaks show in passing");

const TEST_MS = 240_000;
setDefaultTimeout(TEST_MS);

const PAGES = [`http://${INTERNET.host4}/`, `http://[${INTERNET.host6}]/`];
/** RFC 4861, section 4.6.2: on-link and for addresses, with infinite lifetimes. */
const PREFIX = `0304${"40c0"}${"ff".repeat(8)}00000000fd640000000000000000000000000000`;
const COVERED = /fd64::\/64 does not count as LAN, because it covers the address of a tunnel$/;

let lab: Lab;
let gateway: Gateway;
beforeAll(async () => {
  lab = await createLab({ cards: 1 });
  gateway = await lab.startGateway();
  await connect("box-vpn-1");
  await gateway.keep();
});
beforeEach(() => gateway.reset());
afterAll(() => lab.close());

async function connect(server: string): Promise<void> {
  const { status, body } = await gateway.api("POST", "/api/connect", { server });
  expect({ status, body }).toMatchObject({ status: 200 });
}

/** A router advertisement of another host of the LAN, which is no router. */
async function advertise(): Promise<void> {
  const { namespace, own } = await place(lab, "lan");
  const header = Buffer.from(`333300000001${own}86dd`, "hex");
  const packet = advertisementPacket({ lifetime: 0, options: PREFIX });
  await inject(namespace, "lan0", [Buffer.concat([header, packet])]);
}

async function addresses(): Promise<string> {
  return (await lab.exec(lab.namespaces.gateway, ["ip", "-6", "address", "show", "dev", "lan0"])).stdout;
}

async function lanCheck(): Promise<Check | undefined> {
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  return checks.find(({ id }: Check) => id === "lan");
}

/** What the client loads of the internet, by each address family. */
async function load(): Promise<(string | null)[]> {
  return Promise.all(PAGES.map((page) => lab.fetchFrom(lab.namespaces.client, page)));
}

test("a device that advertises the prefix of the tunnel's own address ends no tunnel, and nothing leaves outside it", async () => {
  const usual = await load();
  expect(usual).not.toContain(null);
  const sniffer = await lab.sniff();
  await advertise();
  // Positive control: the kernel has taken it, and the service has seen it.
  await until(async () => (await addresses()).includes("inet6 fd64:"));
  await until(async () => COVERED.test((await lanCheck())?.found ?? ""), TEST_MS / 4, 6_000);
  expect((await gateway.api("GET", "/api/status")).body).toMatchObject({ connected: true, error: null });
  expect(await load()).toEqual(usual);
  expect(await reachTunnelAddress(lab)).toEqual([]);
  expect(await reachFlow(lab)).toEqual([]);
  await connect("box-vpn-2");
  expect(await load()).not.toContain(null);
  await gateway.kill("SIGKILL");
  await gateway.start();
  await until(async () => (await gateway.api("GET", "/api/status")).body.connected);
  expect(await load()).not.toContain(null);
  expect((await gateway.api("GET", "/health")).body).toBe("healthy");
  expect((await sniffer.stop()).leaks).toEqual([]);
});

test("positive control: without the kill switch, the same frames reach the tunnel's address, and the same packets leave", async () => {
  const { gateway: namespace } = lab.namespaces;
  await advertise();
  await until(async () => (await addresses()).includes("inet6 fd64:"));
  await gateway.kill("SIGKILL");
  await lab.exec(namespace, ["nft", "delete", "table", "inet", "portcullis"]);
  expect(await reachTunnelAddress(lab)).toContain(TUNNEL.server6);
  const sniffer = await lab.sniff();
  for (const family of ["-4", "-6"]) {
    await lab.exec(namespace, ["ip", family, "rule", "flush"]);
    await lab.exec(namespace, ["ip", family, "rule", "add", "priority", "32766", "lookup", "main"]);
  }
  await load();
  expect((await sniffer.stop()).leaks).not.toEqual([]);
});
