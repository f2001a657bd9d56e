import { expect, test } from "bun:test";
import { settingsFrom } from "../../src/base/settings.ts";
import { routeAdvertisement } from "../../src/dhcp/route-advertisement.ts";
import { RouteAdvertiser } from "../../src/dhcp/route-advertiser.ts";
import type { Heard } from "../../src/system/host.ts";
import { cidrs, ip } from "../fake/address.ts";
import { Listening, OWN_MAC } from "../fake/listening.ts";
import { ICMPV6, icmpBytes, packetBytes } from "../rig/tools/packet.ts";

const ENDS = { from: "fe80::1", to: "ff02::1" };
const ALL_NODES_MAC = "33:33:00:00:00:01";
/** Hop limit 64, high preference, 9,000 s; no reachable time, no retransmission time; then the options. */
const OPTIONS = [
  "0000000000000000",
  "0101020000000001",
  `18020108${"00002328"}0000000000000000`,
  `18020108${"00002328"}8000000000000000`,
];
const ADVERTISEMENT = packetBytes(ENDS, {
  protocol: ICMPV6,
  hopLimit: 255,
  bytes: icmpBytes(ENDS, 134, 0, 0x40082328, Uint8Array.fromHex(OPTIONS.join(""))),
});

interface Story {
  dhcp?: string;
  ipv6?: "on" | "off";
  /** Of the link-local address, in milliseconds. */
  tentativeUntil?: number;
  endsAt: number;
  each?: (now: number, listening: Listening) => void;
}

const ONE_LINK = "192.168.7.100-192.168.7.199";

/** When which link was sent the advertisement and when an address was looked up, in seconds, and the warnings. */
async function played({ dhcp = "on", ipv6 = "on", tentativeUntil = 0, endsAt, each = () => {} }: Story) {
  const listening = new Listening();
  const stopping = new AbortController();
  const warnings: string[] = [];
  const sent: string[] = [];
  const looks: number[] = [];
  let now = 0;
  listening.onSent = (link) => sent.push(`${now / 1_000} ${link}`);
  const host = {
    listenOn: async (link: string, heard: Heard) => listening.open(link, heard),
    run: async () => {
      looks.push(now / 1_000);
      return JSON.stringify([{ addr_info: [{ local: "fe80::1", tentative: now < tentativeUntil }] }]);
    },
    monotonic: () => now,
    sleep: async (ms: number) => {
      now += ms;
      each(now, listening);
      if (now > endsAt) stopping.abort();
    },
  };
  const lans = [
    { interface: "lan0", prefixes: cidrs("192.168.7.0/24", "fe80::/10") },
    { interface: "wlan0", prefixes: cidrs("10.5.0.0/16", "fe80::/10") },
  ];
  const settings = settingsFrom({ dhcp, ula: "fd12:3456:789a::/48" });
  const log = { warn: (message: string) => void warnings.push(message) };
  await new RouteAdvertiser({ host, settings, network: () => ({ lans, ipv6 }), log }).watch(stopping.signal);
  for (const { to, packet } of listening.sent) {
    expect(to).toBe(ALL_NODES_MAC);
    expect(packet.toHex()).toBe(ADVERTISEMENT.toHex());
  }
  expect(listening.count).toBe(0);
  return { sent, looks, warnings };
}

const solicit = (listening: Listening, link: string) =>
  listening.hear(link, "router solicitations", { from: "02:00:00:00:00:20", packet: new Uint8Array(48) });

test("the advertisement has a route of high preference to each half of the address space", () => {
  const packet = routeAdvertisement({ mac: OWN_MAC, address: ip("fe80::1") }, 9_000);
  expect(packet.toHex()).toBe(ADVERTISEMENT.toHex());
});

test("it is sent at once, and then every ten minutes", async () => {
  const { sent } = await played({ dhcp: ONE_LINK, endsAt: 1_250_000 });
  expect(sent).toEqual(["0 lan0", "600 lan0", "1200 lan0"]);
});

test("a device that asks has it within 3.5 s, and devices that ask all the time have it every 3 s", async () => {
  const each = (now: number, listening: Listening) => {
    if (now === 20_000 || now > 30_000) solicit(listening, "wlan0");
  };
  const { sent } = await played({ endsAt: 38_000, each });
  expect(sent).toEqual(["0 lan0", "0 wlan0", "20 wlan0", "30.5 wlan0", "33.5 wlan0", "36.5 wlan0"]);
});

test("without DHCP or IPv6 nothing is sent, and before the address is usable neither", async () => {
  expect((await played({ dhcp: "off", endsAt: 5_000 })).sent).toEqual([]);
  expect((await played({ ipv6: "off", endsAt: 5_000 })).sent).toEqual([]);
  const { sent } = await played({ tentativeUntil: 1_200, endsAt: 5_000 });
  expect(sent).toEqual(["3 lan0", "3 wlan0"]);
});

test("while an interface has no usable address, it is looked up every 3 s and not all the time", async () => {
  const { sent, looks } = await played({ tentativeUntil: 60_000, endsAt: 11_000, dhcp: ONE_LINK });
  expect([sent, looks]).toEqual([[], [0, 3, 6, 9]]);
});

test("an interface that is gone is told once, the other is served, and it goes on when that is back", async () => {
  const each = (now: number, listening: Listening) => {
    const { closed } = listening;
    if (now === 10_000) closed.add("lan0");
    if (now === 15_000) solicit(listening, "wlan0");
    if (now === 20_000) closed.delete("lan0");
  };
  const { sent, warnings } = await played({ endsAt: 30_000, each });
  expect(sent).toEqual(["0 lan0", "0 wlan0", "15 wlan0", "20 lan0"]);
  expect(warnings).toEqual([
    "devices are not told to prefer this router for IPv6: there is no interface lan0",
  ]);
});
