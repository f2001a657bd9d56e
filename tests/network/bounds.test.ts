import { afterEach, beforeEach, expect, test } from "bun:test";
import type { AlertCode } from "../../src/base/alert.ts";
import { ConntrackGuard } from "../../src/network/bounds.ts";
import { boundsFor, mostConnections } from "../../src/network/bounds-table.ts";
import { applySysctls, roomFor } from "../../src/network/sysctls.ts";
import { cidrs } from "../fake/address.ts";
import { FakeHost } from "../fake/host.ts";
import { needsNamespaces } from "../fast.ts";
import { inNamespace } from "../killswitch/namespace.ts";

const GIB = 1_073_741_824;
const MAX = "/proc/sys/net/netfilter/nf_conntrack_max";
const COUNT = "/proc/sys/net/netfilter/nf_conntrack_count";
const ESTABLISHED = "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established";
const LOOK_MS = 12_000;

let host: FakeHost;
let bounds: ConntrackGuard;
let alerts: AlertCode[];
let lines: string[];
let stopping: AbortController;
beforeEach(() => {
  stopping = new AbortController();
  host = new FakeHost();
  host.patient = true;
  alerts = [];
  lines = [];
  const note = (line: string) => void lines.push(line);
  bounds = new ConntrackGuard({
    host,
    ports: [5000],
    alarm: (code) => alerts.push(code),
    log: { info: note, warn: note },
  });
});
afterEach(() => stopping.abort());

async function watch(): Promise<void> {
  void bounds.watch(stopping.signal);
  await host.pass(0);
}

test("a device may have an eighth of the connection table, and 8,192 connections at most", () => {
  expect([1_024, 16_384, 65_536, 262_144].map(mostConnections)).toEqual([128, 2_048, 8_192, 8_192]);
});

test("the connection table gets room as the memory allows, and neighbours get it too", () => {
  const places = (gib: number) =>
    roomFor(gib * GIB).find(({ path }) => path.endsWith("conntrack_max"))?.value;
  expect([0.5, 1, 2, 4, 16].map(places)).toEqual(["65536", "131072", "262144", "262144", "262144"]);
});

test("more room than needed and shorter times are kept", async () => {
  host.files.set(MAX, "500000\n");
  host.files.set(ESTABLISHED, "600\n");
  expect(await applySysctls(host, roomFor(4 * GIB))).toEqual([]);
  host.files.set(MAX, "7000\n");
  host.files.set(ESTABLISHED, "432000\n");
  const changed = await applySysctls(host, roomFor(4 * GIB));
  expect(changed.map(({ path, value }) => [path, value])).toEqual([
    ["netfilter/nf_conntrack_max", "262144"],
    ["netfilter/nf_conntrack_tcp_timeout_established", "7440"],
  ]);
});

test("what a container may not change stays, and nobody is told", async () => {
  host.files.set(MAX, "7000\n");
  host.writeSysctl = () => Promise.reject(new Error("Permission denied"));
  await watch();
  expect(lines).toEqual([]);
});

test("bounds that another program has removed are made again, and those that stand stay", async () => {
  await watch();
  expect(await bounds.refused()).toEqual({ connections: [], solicitations: [] });
  host.removeBounds();
  expect(await bounds.refused()).toBeNull();
  await bounds.check();
  expect(await bounds.refused()).not.toBeNull();
  const before = host.commands.length;
  await bounds.check();
  expect(host.commands.slice(before)).toEqual(["nft -s -t -n list table inet portcullis_bounds"]);
});

test("remote devices have bounds while they may come in, and these are made again as the others", async () => {
  const loaded: string[] = [];
  const run = host.run.bind(host);
  host.run = (argv, options) => {
    if (argv.join(" ") === "nft -f -") loaded.push(`${options?.stdin}`);
    return run(argv, options);
  };
  const last = () => (loaded.at(-1) ?? "").split("\n").filter((line) => line.includes("remote device"));
  await bounds.limitRemote("wgr");
  expect(loaded).toEqual([]);
  await watch();
  const rules = [
    '    iifname "wgr" update @remote_starts_4 { ip saddr limit rate over 500/second burst 2000 packets } goto refuse_remote comment "connections that a remote device begins"',
    '    iifname "wgr" add @remote_4 { ip saddr ct count over 8192 } goto refuse_remote comment "connections that a remote device has"',
    '    iifname "wgr" update @remote_starts_6 { ip6 saddr limit rate over 500/second burst 2000 packets } goto refuse_remote comment "connections that a remote device begins, IPv6"',
    '    iifname "wgr" add @remote_6 { ip6 saddr ct count over 8192 } goto refuse_remote comment "connections that a remote device has, IPv6"',
  ];
  expect(last()).toEqual(rules);
  await bounds.limitRemote(null);
  expect([loaded.length, last()]).toEqual([2, []]);
  await bounds.limitRemote("wgr");
  host.removeBounds();
  await bounds.check();
  expect([loaded.length, last()]).toEqual([4, rules]);
});

needsNamespaces.test(
  "another home counts by its network, and takes no place of a remote device",
  async () => {
    const homes = cidrs("192.168.66.0/24", "fd00:66::/64");
    const limits = { most: 8_192, places: 65_536, ports: [5000], remote: "wgr" };
    const rules = boundsFor({ ...limits, homes });
    const counting = rules.split("\n").filter((line) => /@(remote|homes)_4/.test(line));
    expect(counting.map((line) => line.trim().replace(/ goto.*/, ""))).toEqual([
      'iifname "wgr" ip saddr 192.168.66.0/24 add @homes_4 { ip saddr & 255.255.255.0 ct count over 8192 }',
      'iifname "wgr" ip saddr != { 192.168.66.0/24 } add @remote_4 { ip saddr ct count over 8192 }',
    ]);
    await inNamespace(async (kernel) => {
      await kernel.run(["nft", "-f", "-"], { stdin: rules });
      // The same again keeps what is counted, and so does a home that goes.
      await kernel.run(["nft", "-f", "-"], { stdin: rules });
      await kernel.run(["nft", "-f", "-"], { stdin: boundsFor(limits) });
    });
  },
);

test("what a device has of the gateway's own ports is bounded too, and is made again when it is gone", async () => {
  const rules = boundsFor({ most: 8_192, places: 65_536, ports: [5000, 5443], remote: null });
  expect(rules).toContain("tcp dport != { 5000, 5443 } accept");
  expect(rules).toContain("add @own_device { ether saddr ct count over 128 } goto refuse");
  await watch();
  const run = host.run.bind(host);
  const rest = async (...[argv, options]: Parameters<typeof run>) =>
    (await run(argv, options)).replace(/^.*own_device .*$/gm, "");
  host.run = rest;
  expect(await bounds.refused()).toBeNull();
});

test("a kernel that refuses the bounds is told of once, and asked again", async () => {
  host.fails = () => "before";
  await watch();
  await host.pass(2 * LOOK_MS);
  expect(lines).toEqual([expect.stringContaining("one device may take all connections: ")]);
  host.fails = () => null;
  await host.pass(LOOK_MS);
  expect(await bounds.refused()).not.toBeNull();
});

test("an alert tells of a connection table of which three fifths are taken, and one that there is room again", async () => {
  await watch();
  const taken = async (count: number) => {
    host.files.set(COUNT, `${count}\n`);
    await host.pass(LOOK_MS);
    return alerts;
  };
  expect(await taken(157_000)).toEqual([]);
  expect(await taken(158_000)).toEqual(["connections_full"]);
  expect(await taken(140_000)).toEqual(["connections_full"]);
  expect(await taken(158_000)).toEqual(["connections_full"]);
  expect(await taken(136_000)).toEqual(["connections_full", "connections_free"]);
});
