import { beforeEach, expect, test } from "bun:test";
import { mustParsePrefix } from "../../src/base/address.ts";
import type { Mac } from "../../src/base/mac.ts";
import { Traffic } from "../../src/devices/traffic.ts";
import { COUNTERS_TABLE, type Counted, countersFor, type Links } from "../../src/network/counters.ts";
import { markOfDevice } from "../../src/network/device-mark.ts";
import { FakeHost } from "../fake/host.ts";

const [TV, PHONE, CAMERA] = ["02:00:00:00:00:20", "02:00:00:00:00:30", "02:00:00:00:00:40"] as Mac[] as [
  Mac,
  Mac,
  Mac,
];
const SHED = mustParsePrefix("10.8.0.0/24");
const LINKS: Links = { lans: ["lan0"], remote: null, meshes: [], uplink: "up0", networks: [SHED] };
const BOOT = "/proc/sys/kernel/random/boot_id";

let host: FakeHost;
let warnings: string[];
/** The devices of the LAN, and who has which address. */
let macs: Mac[];
let owners: Record<string, string>;
let traffic: Traffic<string>;
/** What was carried between two readings. */
let carried: string[];
/** What the database has. */
const saved = new Map<string, string>();

/** As after a start of the service; the kernel may have a table already. */
async function begin(network: typeof SHED | null = SHED): Promise<void> {
  carried = [];
  traffic = new Traffic({
    host,
    store: { read: (key) => saved.get(key) ?? null },
    onCarried: (id, { rx, tx }) => rx + tx > 0 && carried.push(`${id} ${rx} ${tx}`),
    owners: () => ownerOf,
    ids: () => [...macs, ...(network === null ? [] : [network]), ...Object.values(owners)],
    macs: () => macs,
    links: () => LINKS,
    log: { warn: (message) => warnings.push(message) },
  });
  await traffic.read();
}

function ownerOf(of: Counted): string | null {
  if ("network" in of) return of.network;
  if ("address" in of) return owners[of.address] ?? null;
  return macs.find((mac) => ("mac" in of ? mac === of.mac : markOfDevice(mac) === of.mark)) ?? null;
}

/** The history is written. */
function save(): void {
  traffic.checkpoint()({ write: (key, text) => void saved.set(key, text) });
}

beforeEach(async () => {
  host = new FakeHost();
  host.patient = true;
  warnings = [];
  saved.clear();
  macs = [TV, PHONE];
  owners = { "192.168.7.20": TV };
  await begin();
});

/** What a device has received and sent, a second later. */
async function figures(id: string): Promise<[number, number]> {
  await host.pass(1_000);
  await traffic.read();
  const { rx, tx } = traffic.of(id);
  return [rx, tx];
}

test("a device's figures are those of its MAC address and of its connections, and of what begins outside", async () => {
  host.carry("sent", TV, 100);
  host.carry("received", TV, 7_000);
  host.carry("inward_4", "192.168.7.20", 10);
  host.carry("received", PHONE, 5);
  host.carry("counter", "from_10_8_0_0_24", 40);
  host.carry("counter", "to_10_8_0_0_24", 4);
  expect([await figures(TV), await figures(PHONE), await figures(SHED)]).toEqual([
    [7_010, 100],
    [5, 0],
    [4, 40],
  ]);
  host.carry("sent", TV, 1);
  expect(await figures(TV)).toEqual([7_010, 101]);
});

test("the addresses of a network behind another router are known, the latest first", async () => {
  host.carry("heard_10_8_0_0_24", "10.8.0.7", 0, 86_390);
  host.carry("heard_10_8_0_0_24", "10.8.0.8", 0, 86_395);
  await figures(TV);
  const heard = traffic.heardIn(SHED).map(({ address, heardAt }) => [address, host.monotonic() - heardAt]);
  expect(heard).toEqual([
    ["10.8.0.8", 5_000],
    ["10.8.0.7", 10_000],
  ] as never);
});

test("without anything saved, figures go on from the table after a restart, and nothing of it is told", async () => {
  host.carry("sent", TV, 100);
  await begin();
  expect([await figures(TV), carried]).toEqual([[0, 100], []]);
  host.carry("sent", TV, 7);
  expect([await figures(TV), carried]).toEqual([[0, 107], [`${TV} 0 7`]]);
});

test("what was not saved yet, or carried while the service was away, is told after its restart, once", async () => {
  host.carry("sent", TV, 100);
  host.carry("sent", CAMERA, 30);
  await figures(TV);
  save();
  host.carry("sent", TV, 5);
  await figures(TV);
  host.carry("received", TV, 2_000);
  // Before the neighbours are read, no device is known.
  macs = [];
  owners = {};
  await begin();
  await figures(TV);
  macs = [TV, PHONE, CAMERA];
  expect([await figures(TV), carried]).toEqual([
    [2_000, 105],
    [`${TV} 2000 5`, `${CAMERA} 0 30`],
  ]);
  save();
  // The table is another one, but what was told stays.
  host.removeCounters();
  await begin();
  host.carry("sent", TV, 1);
  expect([await figures(TV), carried]).toEqual([[2_000, 106], [`${TV} 0 1`]]);
});

test("after a reboot figures begin again", async () => {
  host.carry("sent", TV, 100);
  await figures(TV);
  save();
  host.files.set(BOOT, "another\n");
  host.removeCounters();
  await begin();
  host.carry("sent", TV, 7);
  expect(await figures(TV)).toEqual([0, 7]);
});

test("figures never fall: not when an element times out, nor when another program removes the table", async () => {
  host.carry("sent", TV, 100);
  expect(await figures(TV)).toEqual([0, 100]);
  host.expire("sent", TV);
  expect(await figures(TV)).toEqual([0, 100]);
  host.carry("sent", TV, 30);
  expect(await figures(TV)).toEqual([0, 130]);
  host.removeCounters();
  expect(await figures(TV)).toEqual([0, 130]);
  host.carry("sent", TV, 200);
  expect(await figures(TV)).toEqual([0, 330]);
  expect(warnings).toEqual([]);
});

test("counters that another program has switched off count again, from where they were, and that is told once", async () => {
  host.carry("sent", TV, 100);
  expect(await figures(TV)).toEqual([0, 100]);
  for (const sent of [130, 160]) {
    host.meddle(COUNTERS_TABLE, "dormant");
    host.carry("sent", TV, 1_000);
    await traffic.check();
    host.carry("sent", TV, 30);
    expect(await figures(TV)).toEqual([0, sent]);
  }
  expect(warnings).toEqual([expect.stringContaining("has altered the table inet portcullis_traffic")]);
});

test("what is carried before a device is known is credited once it is, and told", async () => {
  host.carry("sent", CAMERA, 100);
  host.carry("inward_4", "192.168.7.40", 10);
  expect([await figures(CAMERA), carried]).toEqual([[0, 0], []]);
  macs = [TV, PHONE, CAMERA];
  owners["192.168.7.40"] = CAMERA;
  expect([await figures(CAMERA), carried]).toEqual([[10, 100], [`${CAMERA} 10 100`]]);
});

test("after a restart, a device has its figures as soon as it is known", async () => {
  host.carry("sent", TV, 900);
  const all = macs;
  [macs, owners] = [[], {}];
  await begin(null);
  expect(traffic.of(TV)).toEqual({ rx: 0, tx: 0 });
  macs = all;
  await traffic.read();
  expect(traffic.of(TV)).toEqual({ rx: 0, tx: 900 });
});

test("however many ask, a table that cannot be read is read once a second, though a device has become known", async () => {
  const all = macs;
  [macs, owners] = [[], {}];
  await begin(null);
  macs = all;
  host.fails = () => "before";
  host.commands.length = 0;
  for (let asked = 0; asked < 20; asked += 1) await traffic.read();
  expect(host.commands.length).toBeWithin(1, 5);
});

test("however many ask, the table is read once a second", async () => {
  await host.pass(1_000);
  host.commands.length = 0;
  await Promise.all(Array.from({ length: 100 }, () => traffic.read()));
  expect(host.commands).toEqual(["nft -j list table inet portcullis_traffic"]);
});

test("a machine that cannot count is logged once, and tried again", async () => {
  host.removeCounters();
  host.fails = () => "before";
  expect([await figures(TV), await figures(TV)]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(warnings).toEqual(["the traffic of devices cannot be counted: nft -f -: made to fail"]);
  host.fails = () => null;
  await figures(TV);
  host.carry("sent", TV, 5);
  expect(await figures(TV)).toEqual([0, 5]);
});

test("a set that invented MAC addresses have filled is emptied once it has been read, and known devices are in it first", async () => {
  for (let number = 0; number < 4_095; number += 1)
    host.carry(
      "sent",
      `06:00:00:00:${(number >> 8).toString(16).padStart(2, "0")}:${(number & 255).toString(16).padStart(2, "0")}`,
      1,
    );
  host.carry("sent", TV, 100);
  let loaded = "";
  const run = host.run.bind(host);
  host.run = (argv, options) => {
    loaded = `${options?.stdin ?? loaded}`;
    return run(argv, options);
  };
  expect(await figures(TV)).toEqual([0, 100]);
  expect(host.commands.at(-2)).toBe("nft -f -");
  expect(loaded).toContain(`    elements = { ${TV}, ${PHONE} }\n`);
  expect(loaded).toContain(`    elements = { ${markOfDevice(TV)}, ${markOfDevice(PHONE)} }\n`);
  host.carry("sent", TV, 30);
  expect(await figures(TV)).toEqual([0, 130]);
});

const MARK =
  'ct mark set jhash ether saddr mod 4294967293 seed 0x1 offset 2 comment "the connections of a device"';

function rulesFor(links: Omit<Links, "networks">, networks: Links["networks"] = []): string[] {
  const lines = countersFor({ ...links, networks }).split("\n");
  return lines.filter((line) => /[io]ifname/.test(line)).map((line) => line.trim());
}

test("a packet between the road and the LAN counts for both devices, before a rule ends the counting", () => {
  const links = { lans: ["lan0"], remote: "wgr", meshes: [], uplink: "up0" };
  expect(rulesFor(links)).toEqual([
    `iifname "lan0" ${MARK}`,
    'iifname "wgr" update @road_sent_4 { ip saddr }',
    'oifname "wgr" update @road_received_4 { ip daddr }',
    'iifname "wgr" update @road_sent_6 { ip6 saddr }',
    'oifname "wgr" update @road_received_6 { ip6 daddr }',
    'iifname "lan0" update @sent { ether saddr } accept',
    'oifname "lan0" ct direction reply ct mark != 0 update @received { ct mark } accept',
    'oifname "lan0" goto inward',
  ]);
  expect(countersFor({ ...links, remote: null, meshes: [], networks: [] })).not.toContain("road");
});

test("several LANs are one look-up; on the one that is also the uplink, the connection tells answers of the internet", () => {
  const links = { lans: ["lan0", "eth0"], remote: null, meshes: [], uplink: "eth0" };
  expect(rulesFor(links)).toEqual([
    `iifname { "lan0", "eth0" } ${MARK}`,
    'iifname "eth0" oifname { "lan0", "eth0" } ct direction reply ct mark != 0 update @received { ct mark } accept',
    'iifname "eth0" oifname { "lan0", "eth0" } ct direction reply goto inward',
    'iifname { "lan0", "eth0" } update @sent { ether saddr } accept',
    'oifname { "lan0", "eth0" } ct direction reply ct mark != 0 update @received { ct mark } accept',
    'oifname { "lan0", "eth0" } goto inward',
  ]);
});

test("a network behind another router is told from the router by its prefix", () => {
  const links = { lans: ["lan0"], remote: null, meshes: [], uplink: "up0" };
  expect(rulesFor(links, [SHED])).toEqual([
    `iifname "lan0" ${MARK}`,
    'iifname "lan0" ip saddr 10.8.0.0/24 goto from_10_8_0_0_24',
    'iifname "lan0" update @sent { ether saddr } accept',
    'oifname "lan0" ip daddr 10.8.0.0/24 counter name "to_10_8_0_0_24" accept',
    'oifname "lan0" ct direction reply ct mark != 0 update @received { ct mark } accept',
    'oifname "lan0" goto inward',
  ]);
});
