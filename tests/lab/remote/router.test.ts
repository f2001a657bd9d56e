import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import type { RemoteStatus } from "../../../src/remote/schema.ts";
import { INTERNET, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { long } from "../../fast.ts";
import { Phone } from "../../rig/home/phone.ts";
import { Miniupnpd, ROUTER_ADDRESS, TO_HOME_ROUTER } from "../../rig/peers/miniupnpd.ts";
import { NatPmpProvider } from "../../rig/peers/nat-pmp-provider.ts";
import { OddHomeRouter } from "../../rig/peers/odd-router.ts";
import { Doorbell } from "../../rig/peers/visited-port.ts";
import { createLab, ENDPOINTS, type Gateway, type Lab } from "../../rig/tools/lab.ts";
import { PROGRAM } from "../../rig/tools/program.ts";
import { Sniffer } from "../../rig/tools/sniffer.ts";
import { until } from "../../rig/tools/until.ts";

const { test } = long("the same gateway beside other home routers");

const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);

/** At home, on the laptop. */
const BELL = 8_080;
const PORT = 51_820;
/** The small router's own choice. */
const OTHER_PORT = 40_400;

const IPV6_REQUEST = /^2001:db8:88::2 > fd88::1 UDP \d+ > 5351, 60 bytes$/;

let lab: Lab;
let gateway: Gateway;
let phone: Phone;
let bell: Doorbell;
let sniffer: Sniffer;
let router: { stop(): Promise<void> } | null = null;

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  phone = await Phone.away(lab, 1);
  bell = await Doorbell.start(lab, lab.namespaces.client, BELL);
  gateway = await lab.startGateway();
  await gateway.ask("POST", "/api/connect", { server: "box-vpn-1" });
  await gateway.keep();
});

beforeEach(async () => {
  await phone.hangsUp();
  await gateway.reset();
  sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
    endpoints: [...ENDPOINTS, { address: UPLINK.gateway4, port: PORT }],
    direction: "in",
  });
});

afterEach(async () => {
  await gateway.operate("remote", "off");
  await router?.stop();
  router = null;
  const { leaks, missed } = await sniffer.stop();
  const others = leaks.filter((line) => !TO_HOME_ROUTER.test(line) && !IPV6_REQUEST.test(line));
  expect({ others, missed }).toEqual({ others: [], missed: 0 });
});

afterAll(async () => {
  bell?.stop();
  await lab?.close();
});

const remote = (): Promise<RemoteStatus> => gateway.ask("GET", "/api/remote");

/** Waits for the router's answer, for which a busy machine needs longer than the command waits. */
async function turnOn(...flags: string[]): Promise<RemoteStatus> {
  const { code, stderr } = await gateway.operate("remote", "on", ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  await until(async () => (await remote()).ways.every(({ state }) => state !== "asking"), TIMEOUT_MS, 500);
  return remote();
}

/** A request may get lost on a busy machine, and is repeated. */
const isAskedBy = (protocol: string) =>
  until(async () => (await remote()).ways[0]?.protocol === protocol, TIMEOUT_MS, 500);

/** The command line, as a person types it. */
async function type(...words: string[]): Promise<string> {
  const url = `http://127.0.0.1:${gateway.port}`;
  const { code, stdout, stderr } = await lab.outside([...PROGRAM, ...words, "--url", url]);
  expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
  return stdout;
}

/** What has gone to the router since the last call. */
async function asked(): Promise<string[]> {
  await sniffer.count();
  return sniffer.take().filter((line) => TO_HOME_ROUTER.test(line));
}

async function comesIn(endpoint: string): Promise<void> {
  const file = await type("remote", "add", "phone", "--file");
  expect(file).toContain(`Endpoint = ${endpoint}\n`);
  await phone.takes(file);
  const home = `http://192.168.77.10:${BELL}/`;
  await until(async () => (await lab.fetchFrom(phone.namespace, home)) === lab.namespaces.client);
  expect(await phone.seenAs()).toBe(VPN.vpn1.v4);
}

test("a phone comes in by the port that the home router forwards by PCP, and off gives it back", async () => {
  const upnpd = await Miniupnpd.start(lab, { natPmp: true, upnp: true });
  router = upnpd;
  // Nothing is asked before, and nobody else may ask.
  expect(await asked()).toEqual([]);
  const { endpoint, error, ways } = await turnOn();
  expect({ endpoint, error, ways }).toEqual({
    endpoint: `${ROUTER_ADDRESS}:${PORT}`,
    error: null,
    ways: [
      {
        kind: "router",
        state: "open",
        endpoint: `${ROUTER_ADDRESS}:${PORT}`,
        protocol: "pcp",
        error: null,
      },
    ],
  });
  const requests = await asked();
  expect(requests.length).toBeGreaterThan(0);
  for (const request of requests) expect(request).toMatch(/ UDP \d+ > 5351, 60 bytes$/);
  const natpmpc = ["timeout", "2", "natpmpc", "-g", ROUTER.lan[2].v4];
  expect(await lab.exec(lab.namespaces.gateway, natpmpc)).not.toMatchObject({ code: 0 });
  expect(await asked()).toEqual([]);
  expect(await type("remote")).toContain(`the home router forwards ${ROUTER_ADDRESS}:${PORT} (PCP)`);
  await comesIn(`${ROUTER_ADDRESS}:${PORT}`);
  expect(await upnpd.ports()).toEqual([expect.stringContaining(`dnat ip to ${UPLINK.gateway4}:${PORT}`)]);
  // Another port: the former one is given back.
  await turnOn("--port", "51900");
  await until(async () => (await upnpd.ports()).every((line) => line.includes(":51900")));
  expect((await remote()).endpoint).toBe(`${ROUTER_ADDRESS}:51900`);
  expect(await gateway.operate("remote", "off")).toMatchObject({ code: 0 });
  await until(async () => (await upnpd.ports()).length === 0);
  await asked();
  expect((await turnOn("--through", "main", "--port", "51413")).ways[0]).toMatchObject({
    kind: "tunnel",
    state: "unknown",
  });
  expect([await asked(), await upnpd.ports()]).toEqual([[], []]);
});

test("a router that restarts is asked again, and one that knows UPnP only is asked by that", async () => {
  const first = await Miniupnpd.start(lab, { natPmp: true, upnp: false });
  router = first;
  await turnOn();
  await comesIn(`${ROUTER_ADDRESS}:${PORT}`);
  await first.stop();
  const second = await Miniupnpd.start(lab, { natPmp: true, upnp: false });
  router = second;
  expect(await second.ports()).toEqual([]);
  // It announces that it has lost its ports.
  await until(async () => (await second.ports()).length === 1, TIMEOUT_MS);
  await second.stop();
  await gateway.operate("remote", "off");
  const third = await Miniupnpd.start(lab, { natPmp: false, upnp: true });
  router = third;
  await turnOn();
  await isAskedBy("upnp");
  expect((await remote()).ways).toMatchObject([{ state: "open", endpoint: `${ROUTER_ADDRESS}:${PORT}` }]);
  expect((await third.ports()).length).toBe(1);
  const lines = await asked();
  for (const what of [/ > 5351, 60 bytes$/, / > 5351, 12 bytes$/, / > 1900,/, / TCP \d+ > 5000$/])
    expect(lines.filter((line) => what.test(line)).length).toBeGreaterThan(0);
  expect(await gateway.operate("remote", "off")).toMatchObject({ code: 0 });
  await until(async () => (await third.ports()).length === 0);
});

test("routers whose UPnP is odd are heard, also if they answer from another port, or to the group only", async () => {
  const address = ROUTER.public4;
  for (const oddity of [
    "answers the group only",
    "has two lines, of which the first is down",
    "grants no leases (725)",
  ]) {
    router = await OddHomeRouter.start(lab, oddity, { address, wanted: PORT });
    await turnOn();
    await isAskedBy("upnp");
    expect([oddity, (await remote()).ways]).toMatchObject([
      oddity,
      [{ state: "open", endpoint: `${address}:${PORT}` }],
    ]);
    await gateway.operate("remote", "off");
    await router.stop();
  }
});

test("the endpoint follows another port; a router behind carrier-grade NAT, and one that refuses, are told", async () => {
  const small = (address: string, result = 0) =>
    NatPmpProvider.atHome(lab, { first: OTHER_PORT, address, result });
  router = await small(ROUTER.public4);
  await turnOn();
  await isAskedBy("nat-pmp");
  expect((await remote()).ways[0]?.state).toBe("open");
  await comesIn(`${ROUTER.public4}:${OTHER_PORT}`);
  await gateway.operate("remote", "off");
  await router.stop();
  router = await small("100.64.3.1");
  await turnOn();
  await isAskedBy("nat-pmp");
  expect(await remote()).toMatchObject({
    endpoint: null,
    error: expect.stringContaining("100.64.3.1 cannot be reached from the internet"),
    ways: [{ state: "closed", protocol: "nat-pmp" }],
  });
  const { checks } = await gateway.ask("GET", "/api/checks");
  expect(checks.find(({ id }: { id: string }) => id === "remote")).toMatchObject({
    result: "fault",
    advice: expect.stringContaining(`UDP port ${PORT} to ${UPLINK.gateway4}, port ${PORT}`),
  });
  await gateway.operate("remote", "off");
  await router.stop();
  router = await small(ROUTER.public4, 2);
  await turnOn();
  const isRefused = async () => /NAT-PMP: refused \(result 2\)/.test((await remote()).ways[0]?.error ?? "");
  await until(isRefused, TIMEOUT_MS, 500);
  expect((await remote()).ways).toMatchObject([{ state: "closed", protocol: null }]);
});

test("for a public IPv6 address, the router is asked by PCP for a hole in its firewall", async () => {
  const { router: home, gateway: own } = lab.namespaces;
  const both = async (verb: "add" | "del") => {
    const nodad = verb === "add" ? ["nodad"] : [];
    await lab.exec(own, ["ip", "address", verb, "2001:db8:88::2/64", "dev", "wan0", ...nodad]);
    await lab.exec(home, ["ip", "address", verb, "2001:db8:88::1/64", "dev", "lan0", ...nodad]);
  };
  await both("add");
  try {
    router = await Miniupnpd.start(lab, { natPmp: true, upnp: true });
    const endpoint = `[2001:db8:88::2]:${PORT}`;
    const way = async () => (await remote()).ways.find(({ kind }) => kind === "own");
    await turnOn();
    await until(async () => (await way())?.state === "open", TIMEOUT_MS, 500);
    expect(await way()).toMatchObject({ endpoint, protocol: "pcp", error: null });
    const list = ["nft", "list", "chain", "inet", "filter", "miniupnpd"];
    // nft shows the address as the header's bytes: it did not write the rule.
    const hole = / th dport 51820 @nh,192,128 0x20010db8008800000000000000000002 .* accept$/m;
    const holes = async () => hole.test((await lab.exec(home, list)).stdout);
    expect(await holes()).toBe(true);
    const requests = () => sniffer.leaks.filter((line) => IPV6_REQUEST.test(line)).length;
    const before = requests();
    expect(before).toBeGreaterThan(0);
    // It is given back, too. miniupnpd does not remove a hole that was asked for twice, as on a busy machine: with
    // nftables it cannot read the label of its own rule.
    expect(await gateway.operate("remote", "off")).toMatchObject({ code: 0 });
    await until(() => requests() > before);
  } finally {
    await both("del");
  }
});

test("with the firewall gone, the mark leads to the router's ports and nowhere else", async () => {
  router = await Miniupnpd.start(lab, { natPmp: true, upnp: false });
  await turnOn();
  const way = async (to: string, ...more: string[]) =>
    (await lab.exec(lab.namespaces.gateway, ["ip", "route", "get", to, "mark", "0x124d", ...more])).stdout;
  const port = ["ipproto", "udp", "dport", "5351"];
  expect(await way(ROUTER.lan[2].v4, ...port)).toContain("dev wan0");
  expect([await way(INTERNET.host4, ...port), await way(ROUTER.lan[2].v4)]).toEqual(["", ""]);
  await gateway.operate("remote", "off");
  // Without the rules it has no meaning, and leads into the tunnel as everything else of the gateway's own.
  await until(async () => !(await way(ROUTER.lan[2].v4, ...port)).includes("dev wan0"));
});
