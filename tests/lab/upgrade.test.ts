import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout } from "bun:test";
import { join } from "node:path";
import { INTERNET, ROUTER, VPN } from "../../src/sandbox/topology.ts";
import { long } from "../fast.ts";
import { createLab, type Gateway, type Lab } from "../rig/tools/lab.ts";
import type { TrafficReport } from "../rig/tools/traffic.ts";

const { test } = long("each case of what other labs show in passing");

setDefaultTimeout(90_000);

const PAGE = `http://${INTERNET.host4}/`;
/** Long enough for a hundred datagrams of each sender. */
const MOMENT_MS = 500;
/** Lost while the program's rules and its table take turns; datagrams are sent each 5 ms. */
const FEW = 20;

/** What `portcullis` 0.1 has in the kernel while it is connected to box-vpn-1, besides its interface and its routes. */
const FORMER = {
  ruleset: join(import.meta.dir, "version-0.1.nft"),
  mark: "0x504c",
  "-4": [
    "100 fwmark 0x504c lookup main",
    "101 fwmark 0x504c unreachable",
    "103 ipproto 17 sport 68 dport 67 lookup main",
    "103 oif wan0 suppress_prefixlength 7 lookup main",
    "104 to 192.168.77.0/24 lookup main",
    "105 lookup 20556",
    "106 unreachable",
  ],
  "-6": [
    "100 fwmark 0x504c lookup main",
    "101 fwmark 0x504c unreachable",
    "103 ipproto 17 sport 546 dport 547 lookup main",
    "104 to fd77::/64 lookup main",
    "104 to fe80::/10 lookup main",
    "105 lookup 20556",
    "106 unreachable",
  ],
};

let lab: Lab;
let gateway: Gateway;
const inside = async (argv: readonly string[], stdin?: string) => {
  const { code, stdout, stderr } = await lab.exec(lab.namespaces.gateway, argv, stdin);
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
  return stdout;
};
const link = () => `${lab.sandbox.interface}0`;
const session = () => inside(["wg", "show", link(), "latest-handshakes"]);

beforeAll(async () => {
  lab = await createLab({ cards: 2 });
  gateway = await lab.startGateway();
  expect(await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).toMatchObject({ status: 200 });
  await gateway.keep();
});
/** A connected gateway of version 0.1, whose service does not run. */
beforeEach(async () => {
  await gateway.reset();
  await gateway.kill("SIGKILL");
  await downgrade();
});
afterAll(() => lab.close(), 30_000);

/** The numbers of the routing rules between the kernel's own. */
async function numbers(family: "-4" | "-6"): Promise<number[]> {
  const rules = JSON.parse(await inside(["ip", "-j", family, "rule", "show"])) as { priority: number }[];
  return rules.map(({ priority }) => priority).filter((number) => number > 0 && number < 32766);
}

/** Makes the kernel of a connected gateway that of version 0.1. */
async function downgrade(): Promise<void> {
  for (const family of ["-4", "-6"] as const) {
    const own = await numbers(family);
    const lines = [
      ...FORMER[family].map((rule) => `rule add priority ${rule}`),
      ...own.map((number) => `rule del priority ${number}`),
    ];
    await inside(["ip", family, "-batch", "-"], `${lines.join("\n")}\n`);
  }
  const table = (await Bun.file(FORMER.ruleset).text()).replaceAll("tunnel0", link());
  await inside(["nft", "-f", "-"], `delete table inet portcullis\n${table}`);
  await inside(["wg", "set", link(), "fwmark", FORMER.mark]);
}

/** Everything that can leak, from the client and from the gateway, while something is done. */
async function during(work: () => Promise<unknown>): Promise<{ leaks: string[]; client: TrafficReport }> {
  const sniffer = await lab.sniff();
  const [client, own] = await Promise.all([
    lab.traffic(lab.namespaces.client),
    lab.traffic(lab.namespaces.gateway, { kinds: ["udp", "udp6", "web", "dns", "ping"] }),
  ]);
  await Bun.sleep(MOMENT_MS);
  await work();
  await Bun.sleep(MOMENT_MS);
  const [report] = await Promise.all([client.stop(), own.stop()]);
  return { leaks: (await sniffer.stop()).leaks, client: report };
}

test("an upgrade from version 0.1 takes the live tunnel over: nothing leaks, and no connection ends", async () => {
  const before = await session();
  const { leaks, client } = await during(() => gateway.start());
  expect(leaks).toEqual([]);
  for (const kind of ["udp", "udp6", "flow"] as const) {
    expect(client[kind]?.answered).toBeGreaterThan(100);
    expect(client[kind]?.refused).toBe(0);
    expect(client[kind]?.lost.length).toBeLessThan(FEW);
  }
  expect(gateway.log()).toContain("the tunnel to box-vpn-1 is up already: adopting it");
  expect((await gateway.api("GET", "/api/status")).body).toMatchObject({
    state: "connected",
    server: "box-vpn-1",
    killswitch_active: true,
  });
  // WireGuard renews a session by itself after two minutes.
  expect(await session()).toBe(before);
  expect(await lab.fetchFrom(lab.namespaces.client, PAGE)).toContain(VPN.vpn1.v4);
}, 120_000);

test("after it the kernel has the rules of today alone, and the next connect works", async () => {
  await gateway.start();
  for (const family of ["-4", "-6"] as const) {
    const all = await numbers(family);
    expect([Math.min(...all), Math.max(...all)]).toEqual([10, 90]);
  }
  const tables = (await inside(["nft", "list", "tables"])).trim().split("\n");
  expect(tables.sort()).toEqual([
    "table arp portcullis",
    "table inet portcullis",
    "table inet portcullis_bounds",
    "table inet portcullis_traffic",
  ]);
  expect((await gateway.operate("killswitch", "status")).code).toBe(0);
  await gateway.api("POST", "/api/connect", { server: "box-vpn-2" });
  expect(await lab.fetchFrom(lab.namespaces.client, PAGE)).toContain(VPN.vpn2.v4);
}, 180_000);

test("positive control: without rules and table the same traffic leaks, and the sniffer sees it", async () => {
  const { leaks } = await during(async () => {
    await gateway.expose();
    expect(await lab.fetchFrom(lab.namespaces.client, PAGE)).toContain(ROUTER.public4);
  });
  expect(leaks.length).toBeGreaterThan(20);
}, 180_000);
