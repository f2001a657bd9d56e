import { beforeEach, expect, test } from "bun:test";
import { Traffic } from "../../src/devices/traffic.ts";
import { countersFor } from "../../src/network/counters.ts";
import { FakeHost } from "../fake/host.ts";

const LINKS = { lans: ["lan0"], remote: null, uplink: "up0" };

let host: FakeHost;
let warnings: string[];
let owners: Record<string, string>;
let traffic: Traffic<string>;
/** What was carried between two readings. */
let carried: string[];

/** As after a start of the service; the kernel may have a table already. */
async function begin(): Promise<void> {
  carried = [];
  traffic = new Traffic({
    host,
    onCarried: (id, { rx, tx }) => carried.push(`${id} ${rx} ${tx}`),
    ownerOf: (address) => owners[address] ?? null,
    ids: () => Object.values(owners),
    log: { warn: (message) => warnings.push(message) },
  });
  traffic.linksAre(LINKS);
  await traffic.read();
}

beforeEach(async () => {
  host = new FakeHost();
  host.patient = true;
  warnings = [];
  owners = { "192.168.7.20": "tv", "fd00:7::20": "tv", "192.168.7.30": "phone" };
  await begin();
});

/** What a device has received and sent, a second later. */
async function figures(id: string): Promise<[number, number]> {
  await host.pass(1_000);
  await traffic.read();
  const { rx, tx } = traffic.of(id);
  return [rx, tx];
}

test("a device's figures are those of all its addresses, in both directions", async () => {
  host.carry("sent_4", "192.168.7.20", 100);
  host.carry("sent_6", "fd00:7::20", 10);
  host.carry("received_6", "fd00:7::20", 7_000);
  host.carry("received_4", "192.168.7.30", 5);
  expect([await figures("tv"), await figures("phone")]).toEqual([
    [7_000, 110],
    [5, 0],
  ]);
  host.carry("sent_4", "192.168.7.20", 1);
  expect(await figures("tv")).toEqual([7_000, 111]);
});

test("figures go on from the table after a restart of the service", async () => {
  host.carry("sent_4", "192.168.7.20", 100);
  await begin();
  expect(await figures("tv")).toEqual([0, 100]);
});

test("what is carried between two readings is told, and not what was there before the first, or before somebody had the address", async () => {
  host.carry("sent_4", "192.168.7.20", 100);
  host.carry("sent_4", "192.168.7.40", 100);
  await begin();
  await figures("tv");
  expect(carried.filter((line) => !line.endsWith(" 0 0"))).toEqual([]);
  host.carry("sent_4", "192.168.7.20", 7);
  host.carry("received_4", "192.168.7.30", 5);
  host.carry("sent_4", "192.168.7.40", 30);
  await figures("tv");
  owners["192.168.7.40"] = "camera";
  host.carry("sent_4", "192.168.7.40", 1);
  expect(await figures("camera")).toEqual([0, 131]);
  host.removeCounters();
  await figures("tv");
  host.carry("sent_4", "192.168.7.20", 200);
  await figures("tv");
  expect(carried.filter((line) => !line.endsWith(" 0 0"))).toEqual([
    "tv 0 7",
    "phone 5 0",
    "camera 0 1",
    "tv 0 200",
  ]);
});

test("figures never fall: not when an address times out, nor when another program removes the table", async () => {
  host.carry("sent_4", "192.168.7.20", 100);
  expect(await figures("tv")).toEqual([0, 100]);
  host.expire("sent_4", "192.168.7.20");
  expect(await figures("tv")).toEqual([0, 100]);
  host.carry("sent_4", "192.168.7.20", 30);
  expect(await figures("tv")).toEqual([0, 130]);
  host.removeCounters();
  expect(await figures("tv")).toEqual([0, 130]);
  host.carry("sent_4", "192.168.7.20", 200);
  expect(await figures("tv")).toEqual([0, 330]);
  expect(warnings).toEqual([]);
});

test("what an address has carried is credited to the device that has it, once somebody has", async () => {
  host.carry("sent_4", "192.168.7.40", 100);
  expect(await figures("tv")).toEqual([0, 0]);
  owners["192.168.7.40"] = "tv";
  expect(await figures("tv")).toEqual([0, 100]);
  owners["192.168.7.40"] = "phone";
  host.carry("sent_4", "192.168.7.40", 11);
  expect([await figures("tv"), await figures("phone")]).toEqual([
    [0, 100],
    [0, 11],
  ]);
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
  expect([await figures("tv"), await figures("tv")]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(warnings).toEqual(["the traffic of devices cannot be counted: nft -f -: made to fail"]);
  host.fails = () => null;
  await figures("tv");
  host.carry("sent_4", "192.168.7.20", 5);
  expect(await figures("tv")).toEqual([0, 5]);
});

test("a full table is emptied once it has been read, so that new addresses are counted", async () => {
  for (let number = 0; number < 4_096; number += 1)
    host.carry("sent_6", `fd00:7::${(number + 256).toString(16)}`, 1);
  host.carry("sent_4", "192.168.7.20", 100);
  expect(await figures("tv")).toEqual([0, 100]);
  expect(host.commands.at(-1)).toBe("nft -f -");
  host.carry("sent_4", "192.168.7.20", 30);
  expect(await figures("tv")).toEqual([0, 130]);
});

test("a packet between the road and the LAN counts for both devices, before a rule ends the counting", () => {
  const rules = countersFor({ lans: ["lan0"], remote: "wgr", uplink: "up0" })
    .split("\n")
    .filter((line) => /ifname.*_4/.test(line))
    .map((line) => line.trim());
  expect(rules).toEqual([
    'iifname "wgr" update @sent_4 { ip saddr }',
    'oifname "wgr" update @received_4 { ip daddr }',
    'iifname "lan0" update @sent_4 { ip saddr } accept',
    'oifname "lan0" update @received_4 { ip daddr } accept',
  ]);
  expect(countersFor({ lans: ["lan0"], remote: null, uplink: "up0" })).not.toContain("wgr");
});

test("several LANs are one look-up; the one that is also the uplink tells its devices by the connection", () => {
  const rules = countersFor({ lans: ["lan0", "eth0", "lan1"], remote: null, uplink: "eth0" })
    .split("\n")
    .filter((line) => /ifname.*_4/.test(line))
    .map((line) => line.trim());
  expect(rules).toEqual([
    'iifname { "lan0", "lan1" } update @sent_4 { ip saddr } accept',
    'iifname "eth0" ct direction original update @sent_4 { ip saddr } accept',
    'oifname { "lan0", "lan1" } update @received_4 { ip daddr } accept',
    'oifname "eth0" ct direction reply update @received_4 { ip daddr } accept',
  ]);
});
