import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { INTERNET, LAN, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import {
  allowRouted,
  bridgeLan,
  startDocker,
  startTailscale,
  startUfw,
  wgQuick,
  wgQuickLink,
} from "../rig/peers/other-programs.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { Sniffer } from "../rig/tools/sniffer.ts";
import type { Traffic } from "../rig/tools/traffic.ts";
import { until } from "../rig/tools/until.ts";
import { Wiretap } from "../rig/tools/wiretap.ts";

const { test } = long("the same gateway with other networks behind it");

setDefaultTimeout(120_000);

/** On an idle machine 2 s, because such changes come in bursts; nothing polls for them more than once in 5 min. */
const NOTICED_WITHIN_MS = 20_000;
const BACK_WITHIN_MS = 60_000;
/** So many datagrams are enough for a loss or a leak to show. */
const ENOUGH = 100;
const PAGE = `http://${INTERNET.host4}/`;
const PAGE6 = `http://[${INTERNET.host6}]/`;

let lab: Lab;
let neighbour: string;
let gateway: Gateway;
let sniffer: Sniffer;
/** Of the client and of the gateway. */
let traffics: Traffic[];

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  neighbour = await bridgeLan(lab);
  gateway = await lab.startGateway();
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  await gateway.keep();
});
beforeEach(async () => {
  // What another program has set in a test goes as well.
  await gateway.expose();
  await lab.exec(lab.namespaces.gateway, ["ip", "link", "del", "docker0"]);
  await gateway.reset();
  sniffer = await lab.sniff();
  // Whatever a test does, both send all the time, to a resolver that tells whom it saw.
  const { client, gateway: own } = lab.namespaces;
  traffics = await Promise.all(
    [client, own].map((each) => lab.traffic(each, { resolver: INTERNET.dns4, rarelyMs: 200 })),
  );
});
afterEach(async () => {
  await Promise.all([...traffics.splice(0).map((traffic) => traffic.stop()), sniffer.stop()]);
});
afterAll(() => lab?.close());

const inside = async (...argv: string[]) =>
  expect(await lab.exec(lab.namespaces.gateway, argv)).toMatchObject({ code: 0, stderr: "" });
const page = (url = PAGE, from = lab.namespaces.client) => lab.fetchFrom(from, url);
const status = async () => (await gateway.api("GET", "/api/status")).body;
const health = async () => (await gateway.api("GET", "/health")).body;
const sends = () => Promise.all(traffics.map((traffic) => traffic.sends(ENOUGH)));
const leaks = async () => (await sniffer.count()).leaks;
const names = () => `${lab.sandbox.interface}+`;

/** Waits until the status has this error, and returns how long that took. */
async function tells(error: string | null): Promise<number> {
  let last: unknown;
  const ms = await until(async () => {
    last = (await status()).error;
    return last === error;
  }, NOTICED_WITHIN_MS).catch(() => Number.NaN);
  expect(last).toEqual(error);
  return ms;
}

/** Both families reach the internet through the tunnel, and nothing has left outside it. */
async function isServed(): Promise<void> {
  await until(async () => (await page())?.includes(VPN.vpn1.v4) === true, BACK_WITHIN_MS);
  await until(async () => (await page(PAGE6))?.includes(VPN.vpn1.v6) === true, BACK_WITHIN_MS);
  await sends();
  expect(await health()).toBe("healthy");
  expect(await leaks()).toEqual([]);
}

/** Whether computers at two ports of the LAN's bridge reach each other. */
async function reachEachOther(): Promise<boolean> {
  const { code } = await lab.exec(neighbour, ["ping", "-n", "-c", "1", "-W", "2", LAN.client4]);
  return code === 0;
}

async function finding(id: string): Promise<unknown> {
  const { checks } = (await gateway.api("GET", "/api/checks")).body;
  const { result, found, advice } = checks.find((check: { id: string }) => check.id === id);
  return { result, found, advice };
}

test("Docker that begins to drop what is forwarded is named with the commands that help, and those help", async () => {
  expect(await reachEachOther()).toBe(true);
  const container = await startDocker(lab);
  const commands = ["-o", "-i"].map((way) => `iptables -I DOCKER-USER ${way} ${names()} -j ACCEPT`);
  const remedy = commands.join("; ");
  const sysctl = "sysctl -w net.bridge.bridge-nf-call-iptables=0 net.bridge.bridge-nf-call-ip6tables=0";
  const dropped = `Another firewall drops what the LAN sends into the tunnel (ip filter FORWARD); to let it through: ${remedy}`;
  const bridged = `Devices on different ports of the bridge lan0 cannot reach each other, because br_netfilter passes what they send through the firewall; to end that: ${sysctl}`;
  const ms = await tells(`${dropped}; ${bridged}`);
  console.log(`Docker's rules are noticed after ${Math.round(ms)} ms`);
  expect(gateway.log()).toContain(`forwarding_dropped: ${dropped}; ${bridged}`);
  expect(await finding("other_firewalls")).toEqual({
    result: "fault",
    found: "another firewall drops what the LAN sends into the tunnel: ip filter FORWARD",
    advice: `Let it through: ${remedy}`,
  });
  expect(await reachEachOther()).toBe(false);
  expect(await page()).toBeNull();
  // Docker's networks are not LAN: a container has no way out, whatever Docker translates.
  expect(await page(PAGE, container)).toBeNull();
  await sends();
  for (const command of [sysctl, ...commands]) await inside("sh", "-c", `${command} >/dev/null`);
  await tells(null);
  expect(await reachEachOther()).toBe(true);
  await isServed();
  expect(await page(PAGE, container)).toBeNull();
  expect(await leaks()).toEqual([]);
});

test("ufw that is turned on is named for both families with the one command that helps, and that helps", async () => {
  await startUfw(lab);
  const message =
    "Another firewall drops what the LAN sends into the tunnel (ip filter FORWARD, ip6 filter FORWARD); to let it through: ufw default allow routed";
  console.log(`ufw's rules are noticed after ${Math.round(await tells(message))} ms`);
  expect(await page()).toBeNull();
  await sends();
  await allowRouted(lab);
  await tells(null);
  await isServed();
  const { port } = gateway;
  expect(await finding("other_firewalls")).toEqual({
    result: "warning",
    found: `another firewall keeps devices from the gateway's page, port ${port}: ip filter INPUT, ip6 filter INPUT`,
    advice: `If they should reach it: ufw allow in on lan0 to any port ${port} proto tcp`,
  });
});

test("beside Tailscale with an exit node no connection ends, nothing leaves by it, and its rules stay", async () => {
  const [client] = traffics;
  const traffic = await lab.traffic(lab.namespaces.client, { kinds: ["udp", "udp6", "flow"] });
  await traffic.sends(ENOUGH);
  const tailnet = await startTailscale(lab);
  const tap = await Wiretap.start(tailnet, "peer0", "ip or (ip6 and not src net fe80::/10 and not src ::)");
  await isServed();
  await traffic.sends(ENOUGH);
  for (const [kind, { sent, answered, refused }] of Object.entries(await traffic.stop())) {
    expect({ kind, refused }).toEqual({ kind, refused: 0 });
    // On a busy machine answers may take longer than the sender waits.
    expect(answered).toBeGreaterThan(sent / 2);
  }
  // As tailscaled marks its own packets, to leave by the machine's own routes.
  const marked = ["ping", "-n", "-c", "1", "-W", "2", "-m", `${0x80000}`, INTERNET.host4];
  await inside(...marked);
  expect((await status()).error).toBeNull();
  await gateway.kill("SIGKILL");
  await gateway.start();
  await isServed();
  expect((await gateway.api("POST", "/api/disconnect")).status).toBe(200);
  expect((await lab.exec(lab.namespaces.gateway, marked)).code).not.toBe(0);
  await client?.sends(ENOUGH);
  expect(await page()).toBeNull();
  expect(await health()).toBe("healthy");
  expect((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status).toBe(200);
  for (const family of ["-4", "-6"]) {
    const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", family, "rule"]);
    for (const priority of [5210, 5230, 5250, 5270]) expect(stdout).toContain(`${priority}:\t`);
  }
  expect(await tap.stop()).toEqual([]);
  expect(await leaks()).toEqual([]);
});

test("wg-quick, whose rules come first, lets nothing out; it is named, and all is well when it has ended", async () => {
  await wgQuick(lab, "up");
  const rules = "8 suppress_prefixlength 0 lookup main, 9 not fwmark 0xca6c lookup 51820";
  const rule = `A routing rule of another program comes before the kill switch's, so only the firewall blocks: ${rules}, ${rules}; to remove it: sudo wg-quick down, with the name of its interface`;
  const link = wgQuickLink(lab);
  const table = `Another firewall drops what the LAN sends into the tunnel over UDP (ip wg-quick-${link} premangle, ip6 wg-quick-${link} premangle); to let it through: wg-quick down ${link}`;
  await tells(`${rule}; ${table}`);
  expect(await health()).toBe(rule);
  expect(await page()).toBeNull();
  await sends();
  expect(await leaks()).toEqual([]);
  await wgQuick(lab, "down");
  await tells(null);
  await isServed();
});

test("positive control: without the kill switch the same traffic leaks, and the sniffer sees it", async () => {
  await gateway.expose();
  expect(await page()).toContain(ROUTER.public4);
  expect((await leaks()).length).toBeGreaterThan(20);
});
