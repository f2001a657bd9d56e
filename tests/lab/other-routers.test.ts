import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout } from "bun:test";
import type { Check, Checks } from "../../src/checks/schema.ts";
import type { JournalEntry } from "../../src/journal/schema.ts";
import { LAN, ROUTER } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { advertisementPacket } from "../network/advertisement.ts";
import { Dnsmasq } from "../rig/peers/dnsmasq.ts";
import { inject } from "../rig/tools/injector.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import { until } from "../rig/tools/until.ts";

const { test } = long("the same gateway beside other home routers");

const TEST_MS = 300_000;
setDefaultTimeout(TEST_MS);

/** Results are kept for five seconds. */
const EVERY_MS = 2_000;
/** As a router that someone connects by one of its LAN ports. */
const STRANGE = { address: "192.168.1.1", range: "192.168.1.100,192.168.1.199" };
/** An advertisement every 4 s that lasts 12 s. */
const ADVERTISES = "enable-ra\nra-param=lan0,4,12\n";
const FLOOD = 3_000;
/**
 * More than the gateway keeps. Each kernel of the lab keeps a neighbour for each, in a table of 1,024 that all namespaces of
 * this machine share: once it is full, other tests lose packets.
 */
const ROUTERS = 100;

let lab: Lab;
let gateway: Gateway;
let sniffer: Sniffer;

async function check(): Promise<Check | undefined> {
  const { checks } = (await gateway.api("GET", "/api/checks")).body as Checks;
  return checks.find(({ id }) => id === "other_routers");
}

/** Waits until the check has found that; before each look something may be done again. */
async function finds(wanted: RegExp, before = async () => {}): Promise<void> {
  let last = "";
  const isFound = async () => {
    await before();
    const found = await check();
    last = `${found?.result}: ${found?.found}`;
    return wanted.test(last);
  };
  await until(isFound, TEST_MS / 2, EVERY_MS).catch(() => {});
  expect(last).toMatch(wanted);
}

async function alerts(): Promise<Extract<JournalEntry, { type: "security_alert" }>[]> {
  const { events } = (await gateway.api("GET", "/api/events?limit=500")).body;
  return events.filter(({ type, code }: JournalEntry & { code?: string }) => {
    return type === "security_alert" && code?.startsWith("other_router");
  });
}

/** Waits until the last alert is that. */
async function alerted(wanted: RegExp): Promise<void> {
  const last = async () => {
    const { code, message } = (await alerts()).at(-1) ?? {};
    return `${code}: ${message}`;
  };
  await until(async () => wanted.test(await last()), TEST_MS / 2, EVERY_MS).catch(() => {});
  expect(await last()).toMatch(wanted);
}

const run = async (namespace: string, ...argv: string[]) =>
  expect(await lab.exec(namespace, argv)).toMatchObject({ code: 0, stderr: "" });

/** Its network changes, so that it asks again soon. */
const addAddress = (number: number) =>
  run(lab.namespaces.gateway, "ip", "address", "add", `192.168.77.${number}/24`, "dev", "lan0");

async function open(cards: 1 | 2, ...sysctls: string[]): Promise<void> {
  lab = await createLab({ cards });
  if (sysctls.length > 0) await run(lab.namespaces.gateway, "sysctl", "-qw", ...sysctls);
  gateway = await lab.startGateway();
  await gateway.keep();
}

/** What each test begins with: nobody has been heard of. */
async function reset(): Promise<void> {
  sniffer = await lab.sniff();
  await gateway.reset();
}

/** Frames from another host of the LAN to its group of all IPv6 hosts. */
function flood(packets: readonly Uint8Array[]): Promise<void> {
  const header = Buffer.from("3333000000010200000000aa86dd", "hex");
  const frames = packets.map((packet) => Buffer.concat([header, packet]));
  return inject(lab.namespaces.client, "lan0", frames);
}

describe("with one cable, where what the gateway asks is DHCP and neighbour discovery and nothing else leaves,", () => {
  beforeAll(() => open(1));
  beforeEach(reset);
  afterEach(async () => {
    const { leaks, dhcp: asked } = await sniffer.stop();
    expect(leaks).toEqual([]);
    expect(asked).toBeGreaterThan(0);
  });
  afterAll(() => lab.close());

  const { v4 } = ROUTER.lan[1];
  const dhcp = "port=0\ninterface=lan0\ndhcp-range=192.168.77.100,192.168.77.199\n";
  const serving = (config: string) => new Dnsmasq(lab, lab.namespaces.router, config);

  test("the home router is told while it leads devices past the gateway, and no longer than that", async () => {
    const both = serving(`${dhcp}dhcp-range=fd77::,ra-stateless,64\n${ADVERTISES}`);
    both.start();
    const server = `the DHCP server ${v4} on lan0 gives devices the router ${v4}`;
    await finds(new RegExp(`^warning: .*${server}`));
    await finds(/^warning: .*fe80::[0-9a-f:]+ on lan0 advertises itself as an IPv6 router/);
    await alerted(/^other_router: .*advertises itself as an IPv6 router/);
    await alerted(new RegExp(`^other_router: Devices might leave outside the tunnel: .*${server}`));
    expect((await gateway.api("GET", "/api/network")).body.other_routers).toHaveLength(2);
    await both.stop();
    // Without IPv6, and with the gateway as router and resolver.
    const right = serving(`${dhcp}dhcp-option=3,${LAN.gateway4}\ndhcp-option=6,${LAN.gateway4}\n`);
    right.start();
    await addAddress(90);
    await finds(/^ok: none leads devices past the gateway$/);
    await alerted(/^other_router_gone: No other router leads devices outside the tunnel now\.$/);
    await right.stop();
  });

  test("a hundred routers and thousands of malformed packets neither stop the service nor hide that devices may leave", async () => {
    const before = (await alerts()).length;
    const fake = (number: number) =>
      advertisementPacket({ from: `fe80::aa:${number.toString(16)}`, lifetime: 20 });
    const routers = Array.from({ length: ROUTERS }, (_, number) => fake(number + 1));
    const garbage = Array.from({ length: FLOOD }, (_, number) => {
      const packet = Uint8Array.from(fake(number));
      crypto.getRandomValues(packet.subarray(41));
      return packet.subarray(0, 41 + (number % (packet.length - 41)));
    });
    // The service listens some seconds after its start.
    await finds(
      /^warning: (fe80::aa:\S+ on lan0 advertises itself as an IPv6 router; ){3}and 13 more: /,
      () => flood(routers),
    );
    await finds(/^ok: /);
    await flood(garbage);
    expect(await check()).toMatchObject({ result: "ok" });
    await alerted(/^other_router_gone: /);
    expect((await alerts()).length - before).toBeLessThanOrEqual(4);
    expect((await gateway.api("GET", "/health")).body).toBe("healthy");
  });
});

describe("with two cables, where nothing is asked on the uplink, and IPv6 turned off on the gateway", () => {
  beforeAll(() => open(2, "net.ipv6.conf.all.disable_ipv6=1"));
  beforeEach(reset);
  afterEach(async () => {
    const { leaks, dhcp } = await sniffer.stop();
    expect({ leaks, dhcp }).toEqual({ leaks: [], dhcp: 0 });
  });
  afterAll(() => lab.close());

  test("a router of another network in the LAN is told, and the interface is listened to again after it was gone", async () => {
    const { client } = lab.namespaces;
    await finds(/^ok: none leads devices past the gateway$/);
    const { address, range } = STRANGE;
    await run(client, "ip", "address", "add", `${address}/24`, "dev", "lan0");
    const config = `port=0\ninterface=lan0\ndhcp-range=${range}\ndhcp-range=fd77::,ra-stateless,64\n${ADVERTISES}`;
    const router = new Dnsmasq(lab, client, config);
    router.start();
    // Whether its DHCP server is heard of as soon depends on the machine.
    await alerted(/^other_router: Devices might leave outside the tunnel: .*fe80::/);
    await run(lab.namespaces.gateway, "ip", "link", "set", "dev", "lan0", "down");
    await run(lab.namespaces.gateway, "ip", "link", "set", "dev", "lan0", "up");
    await addAddress(90);
    await finds(
      new RegExp(`^warning: .*the DHCP server ${address} on lan0 gives devices the router ${address}`),
    );
    await finds(/^warning: .*fe80::[0-9a-f:]+ on lan0 advertises itself as an IPv6 router/);
    await router.stop();
    await addAddress(91);
    await finds(/^ok: /);
    await alerted(/^other_router_gone: /);
  });
});
