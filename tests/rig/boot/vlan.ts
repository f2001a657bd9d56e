import { afterAll, beforeAll, expect, test } from "bun:test";
import { LAN, VPN } from "../../../src/sandbox/topology.ts";
import type { Traffic } from "../tools/traffic.ts";
import { Wiretap } from "../tools/wiretap.ts";
import {
  api,
  arm,
  bootBare,
  clean,
  closeStage,
  connect,
  guest,
  healthy,
  lab,
  note,
  openStage,
  PATIENCE_MS,
  read,
  way,
} from "./stage.ts";
import { VLAN, VlanDevice } from "./vlan-device.ts";

const LINK = `eth1.${VLAN.id}`;
const SETTINGS = "/etc/portcullis/portcullis.env";
/** What the same VLAN is called when somebody makes it anew. */
const RENAMED = "guests";
const TUNNEL = [VPN.vpn1.v4, VPN.vpn1.v6];
/** Datagrams that the device sends to the internet before frames are counted. */
const DATAGRAMS = 25;
/** The device's packets on the LAN's cable, without a tag. */
const AT_HOME = `(src net ${VLAN.prefix4} or (ip6 and src net ${VLAN.prefix6})) and not vlan`;
const NOTHING = [null, null];

let device: VlanDevice;
let traffic: Traffic;

beforeAll(async () => {
  await openStage();
  device = await VlanDevice.plugIn(lab);
}, PATIENCE_MS);

afterAll(async () => {
  device?.unplug();
  await closeStage();
}, PATIENCE_MS);

test(
  "without Portcullis what a device of the VLAN sends leaves, and reaches the home: both sniffers see it",
  async () => {
    await bootBare();
    await guest.shell(`${made(LINK)}; sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1`);
    expect(await guest.shell(`ip -d link show ${LINK}`)).toContain("vlan protocol 802.1Q id 20");
    expect(await guest.shell("lsmod")).toContain("8021q");
    traffic = await lab.traffic(device.namespace, { intervalMs: 200 });
    const [sniffer, cable] = [await lab.sniff(), await Wiretap.start(lab.namespaces.client, "lan0", AT_HOME)];
    await guest.until("the home", async () => (await reached()).length === 2);
    await traffic.sends(DATAGRAMS);
    const outside = (await sniffer.stop()).leaks.filter((leak) => leak.includes(VLAN.host4));
    const seen = await cable.stop();
    note(
      "packets of the VLAN outside a tunnel and at home, without Portcullis",
      `${outside.length}, ${seen.length}`,
    );
    expect(outside.length).toBeGreaterThan(0);
    expect(seen.length).toBeGreaterThan(0);
    await guest.shell(`ip link del ${LINK}; sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0`);
  },
  PATIENCE_MS,
);

test(
  "a VLAN that is made while the home's default exit is blocked appears as a network, and is blocked",
  async () => {
    await guest.shell(way.bring);
    await arm("");
    await healthy();
    await connect();
    const sniffer = await lab.sniff();
    await decide("default-exit", { exit: "blocked" });
    await guest.shell(made(LINK));
    // Setup has named the LAN that it found: a VLAN has to be added to it, by each of its names.
    await guest.shell(
      `sed -i s/^PORTCULLIS_LAN=.*/PORTCULLIS_LAN=eth1,${LINK},${RENAMED}/ ${SETTINGS}; systemctl restart portcullis`,
    );
    await guest.until("the network", async () => (await network(LINK))?.present === true);
    await decide("default-exit", { exit: "main" });
    expect(await network(LINK)).toMatchObject({
      exit: "blocked",
      assigned: true,
      others: false,
      reaches: [],
    });
    await isShut();
    await traffic.sends(DATAGRAMS);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "with a name, an exit and no page, its devices leave by the tunnel, and reach neither the home nor the page",
  async () => {
    const sniffer = await lab.sniff();
    await guest.until("the page", async () => (await answers()).every((each) => each !== null));
    await decide(`networks/${LINK}`, { name: "Guests", exit: "main", page: false });
    await guest.until("the tunnel", async () => Bun.deepEquals(await device.pages(), TUNNEL));
    expect(await guest.shell("portcullis networks")).toMatch(/Guests.*main/);
    expect(await answers()).toEqual(NOTHING);
    await isApart();
    await traffic.sends(DATAGRAMS);
    expect(await clean(sniffer)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "it reaches the home while both say so, and no longer",
  async () => {
    for (const link of [LINK, "eth1"]) await decide(`networks/${link}`, { others: true });
    await guest.until("the home", async () => (await reached()).length === 2);
    await decide("networks/eth1", { others: false });
    await isApart();
    await decide(`networks/${LINK}`, { others: false });
  },
  PATIENCE_MS,
);

test(
  "a VLAN that goes keeps its record, which the same VLAN under another name does not have",
  async () => {
    const sniffer = await lab.sniff();
    const record = { name: "Guests", exit: "main", page: false, others: false };
    await guest.shell(`ip link del ${LINK}`);
    await guest.until("its end", async () => (await network(LINK))?.present === false);
    expect(await network(LINK)).toMatchObject(record);
    expect(await device.pages()).toEqual(NOTHING);
    await guest.shell(made(RENAMED));
    await guest.until("the other network", async () => (await network(RENAMED))?.present === true);
    expect(await network(RENAMED)).toMatchObject({ name: "", exit: "blocked", page: false });
    await isShut();
    expect(await answers()).toEqual(NOTHING);
    await guest.shell(`ip link del ${RENAMED}; ${made(LINK)}`);
    await guest.until("the tunnel", async () => Bun.deepEquals(await device.pages(), TUNNEL));
    expect(await network(LINK)).toMatchObject(record);
    await isApart();
    expect(await clean(sniffer)).toEqual([]);
    const { udp } = await traffic.stop();
    note("datagrams of the VLAN's device", udp?.sent);
  },
  PATIENCE_MS,
);

/** As the docs say it. */
function made(link: string): string {
  return [
    `ip link add link eth1 name ${link} type vlan id ${VLAN.id}`,
    `ip address add ${VLAN.gateway4}/24 dev ${link}`,
    `ip address add ${VLAN.gateway6}/64 dev ${link} nodad`,
    `ip link set ${link} up`,
  ].join(" && ");
}

async function isShut(): Promise<void> {
  expect(await device.pages()).toEqual(NOTHING);
  await isApart();
}

/** Neither it nor the home reaches the other, and no packet of it is on the home's cable. */
async function isApart(): Promise<void> {
  const home = await Wiretap.start(lab.namespaces.client, "lan0", AT_HOME);
  expect(await reached()).toEqual([]);
  expect(await pinged(lab.namespaces.client, VLAN.host4, VLAN.host6)).toEqual([]);
  expect(await home.stop()).toEqual([]);
}

/** The addresses of the home's computer from which it gets an answer. */
function reached(): Promise<string[]> {
  return pinged(device.namespace, LAN.client4, LAN.client6);
}

async function pinged(from: string, ...hosts: readonly string[]): Promise<string[]> {
  const pings = hosts.map((host) => lab.exec(from, ["ping", "-nc", "2", "-W", "5", host]));
  const codes = (await Promise.all(pings)).map(({ code }) => code);
  return hosts.filter((_, at) => codes[at] === 0);
}

/** The page's, at the gateway's address on the VLAN and at that on the home's network. */
function answers(): Promise<(string | null)[]> {
  return device.fetched(...[VLAN.gateway4, LAN.gateway4].map((host) => `http://${host}:5000/health`));
}

/** Undefined while it is not known, and without an answer: the guest is busy as it takes an interface in. */
async function network(link: string) {
  const { networks } = await read("/api/networks").catch(() => ({ networks: [] }));
  return networks.find((each: { interface: string }) => each.interface === link);
}

async function decide(what: string, change: object): Promise<void> {
  expect(await api(`/api/${what}`, change, "PUT")).toMatchObject({ success: true });
}
