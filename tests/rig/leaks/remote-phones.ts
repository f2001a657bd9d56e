import assert from "node:assert/strict";
import { INTERNET, LAN, ROUTER, UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { Phone } from "../home/phone.ts";
import { TO_HOME_ROUTER } from "../peers/miniupnpd.ts";
import type { Lab } from "../tools/lab.ts";
import { PROGRAM } from "../tools/program.ts";
import type { Kind, Traffic } from "../tools/traffic.ts";
import { until } from "../tools/until.ts";
import { succeeds } from "./connections.ts";
import type { Exit } from "./devices.ts";
import type { Allowance } from "./row.ts";
import type { Scenario, Stage } from "./stage.ts";

export const PORT = 51_820;
/** The port that the provider of the main tunnel forwards. */
const FORWARDED_PORT = 51_413;
/** WireGuard's own packets to a phone; all else to it is a leak. */
const TO_PHONE = new RegExp(
  `^192\\.168\\.\\S+ > 203\\.0\\.113\\.10\\d UDP (${PORT}|${FORWARDED_PORT}) > \\d+, \\d+ bytes$`,
);
const KINDS: readonly Kind[] = ["udp", "udp6", "web", "ping"];
/** Between two datagrams of each kind. Each packet of a phone passes two tunnels, whose programs share the processors. */
const OFTEN_MS = 20;
const HOSTS: readonly string[] = [INTERNET.host4, INTERNET.host6];

/** A remote phone that sends all the time. */
export interface RemotePhone {
  name: string;
  phone: Phone;
  traffic: Traffic;
  /** Where the internet may see it. */
  places: Set<string>;
}

type Act = (stage: Stage, phones: readonly RemotePhone[], all: readonly Phone[]) => Promise<void>;

export interface WayIn {
  kinds?: readonly Kind[];
  /** What else may leave by the uplink. */
  allowed?: Allowance;
  /** The way in is a port that the provider of the main tunnel forwards. Then no packet to a phone leaves by the uplink. */
  isThroughMain?: boolean;
  /** Makes the phones if they are no computers on the internet; others may follow them. */
  arrive?: (lab: Lab) => Promise<Phone[]>;
}

/** Plays with one phone for each of these exits, in this order. */
export function withPhones(name: string, exits: readonly Exit[], act: Act, wayIn: WayIn = {}): Scenario {
  const isOnUplink = wayIn.isThroughMain !== true;
  return {
    name,
    cards: [2, 1],
    from: "connected",
    allowed: (leak) =>
      (isOnUplink && (TO_PHONE.test(leak) || TO_HOME_ROUTER.test(leak))) ||
      (exits.includes("direct") && isTranslated(leak)) ||
      wayIn.allowed?.(leak) === true,
    run: async (stage) => {
      const phones: Phone[] = [];
      const arrive = wayIn.arrive ?? ((lab) => arriveAlone(lab, exits.length));
      await forwardPort(stage, wayIn);
      try {
        phones.push(...(await arrive(stage.lab)));
        await play(stage, phones, exits, wayIn, act);
      } finally {
        await stage.gateway.operate("remote", "off");
        for (const phone of phones) await phone.leaves();
        await atForwarder(stage, wayIn, "");
      }
    },
  };
}

async function arriveAlone(lab: Lab, many: number): Promise<Phone[]> {
  const phones: Phone[] = [];
  while (phones.length < many) phones.push(await Phone.away(lab, phones.length + 1));
  return phones;
}

/** Returns once the phone is seen where its exit leads; null is nowhere. Needs both layers. */
export async function isServed(stage: Stage, { phone }: RemotePhone, address: string | null): Promise<void> {
  if (stage.isWhole) await until(async () => (await phone.seenAs()) === address);
}

/** Where the internet sees a phone with this exit, over IPv4 first. */
export function placesOf(exit: Exit, { cards }: Stage): string[] {
  const { gateway6 } = cards === 2 ? UPLINK : LAN;
  switch (exit) {
    case "main":
      return [VPN.vpn1.v4, VPN.vpn1.v6];
    case "second":
      return [VPN.vpn2.v4, VPN.vpn2.v6];
    case "direct":
      return [ROUTER.public4, gateway6];
    case "blocked":
      return [];
  }
}

/** What was under way may still come back; then nothing does, not even in a connection that is open. */
export async function isSilent({ traffic, name }: RemotePhone): Promise<void> {
  const answered = async () => {
    const { udp, flow } = await traffic.count();
    return [udp?.answered, flow?.answered];
  };
  await traffic.sends(50);
  const before = await answered();
  await traffic.sends(50);
  assert.deepEqual(await answered(), before, `${name} is served`);
}

/** Each packet of a phone may come from a place of this exit from now on. */
export async function move(stage: Stage, phone: RemotePhone, exit: Exit): Promise<void> {
  for (const place of placesOf(exit, stage)) phone.places.add(place);
  await change(stage, phone, { exit });
  await isServed(stage, phone, placesOf(exit, stage)[0] ?? null);
}

/** A request about a phone that must succeed. */
export function change(stage: Stage, { name }: RemotePhone, body?: { exit: Exit }): Promise<void> {
  const path = `/api/remote/devices/${name}`;
  return succeeds(stage.request(path, body, body === undefined ? "DELETE" : "PATCH"));
}

/** What a direct phone sends, as it may leave: with the gateway's address, to the hosts that its traffic asks. */
export function isTranslated(leak: string): boolean {
  const [, from = "", to = ""] = /^(\S+) > (\S+) /.exec(leak) ?? [];
  const own: readonly string[] = [UPLINK.gateway4, UPLINK.gateway6, LAN.gateway4, LAN.gateway6];
  return own.includes(from) && HOSTS.includes(to);
}

async function play(
  stage: Stage,
  phones: readonly Phone[],
  exits: readonly Exit[],
  { kinds = KINDS, isThroughMain = false }: WayIn,
  act: Act,
): Promise<void> {
  const earlier = (await stage.leaks()).length;
  await turnOn(stage, { isThroughMain });
  const all: RemotePhone[] = [];
  try {
    for (const [index, exit] of exits.entries()) {
      const [name, phone] = [`phone${index + 1}`, phones[index]];
      if (phone === undefined) throw new Error("there is a phone for each exit");
      await invite(stage, phone, name, exit);
      const traffic = await stage.lab.traffic(phone.namespace, { kinds, intervalMs: OFTEN_MS });
      all.push({ name, phone, traffic, places: new Set(placesOf(exit, stage)) });
    }
    for (const [index, one] of all.entries())
      await isServed(stage, one, placesOf(exits[index] ?? "blocked", stage)[0] ?? null);
    // The positive control of those that come in by a tunnel: the sniffer sees WireGuard's answers to the others.
    const isSeen = (await stage.leaks()).slice(earlier).some((leak) => TO_PHONE.test(leak));
    if (stage.isWhole) assert.equal(isSeen, !isThroughMain, "WireGuard's answers on the uplink");
    await act(stage, all, phones);
  } finally {
    const reports = await Promise.all(all.map(({ traffic }) => traffic.stop()));
    await stage.devices.lead();
    for (const [index, { web }] of reports.entries()) {
      const elsewhere = Object.keys(web?.seenAs ?? {}).filter((place) => !all[index]?.places.has(place));
      assert.deepEqual(elsewhere, [], `the internet saw ${all[index]?.name} outside its exit`);
    }
  }
}

async function invite(stage: Stage, phone: Phone, name: string, exit: Exit): Promise<void> {
  // That of an earlier scenario.
  await stage.request(`/api/remote/devices/${name}`, undefined, "DELETE");
  const add = ["remote", "add", name, "--file", "--exit", exit];
  const url = ["--url", `http://127.0.0.1:${stage.gateway.port}`];
  const { stdout, stderr } = await stage.lab.outside([...PROGRAM, ...add, ...url]);
  assert.equal(stderr, "");
  await phone.takes(stdout);
}

/** Turns remote access on, or on again. */
export async function turnOn(stage: Stage, { isThroughMain = false }: WayIn): Promise<void> {
  const way = isThroughMain
    ? ["--through", "main", "--port", `${FORWARDED_PORT}`]
    : ["--endpoint", ROUTER.public4, "--port", `${PORT}`];
  assert.equal((await stage.gateway.operate("remote", "on", ...way)).stderr, "");
}

/** By the home router, or by the server of the main tunnel. */
export async function forwardPort(stage: Stage, wayIn: WayIn): Promise<void> {
  const { lab, cards } = stage;
  const [inside = ""] = lab.sandbox.managedAddress.split(",")[0]?.split("/") ?? [];
  const own = cards === 1 ? LAN.gateway4 : UPLINK.gateway4;
  const [port, to] = wayIn.isThroughMain === true ? [FORWARDED_PORT, inside] : [PORT, own];
  await atForwarder(stage, wayIn, chainOf("nat", `udp dport ${port} dnat ip to ${to}`));
}

/** What comes for the port is lost from now on, also that of a connection that is known there. */
export async function losePort(stage: Stage, wayIn: WayIn): Promise<void> {
  const port = wayIn.isThroughMain === true ? FORWARDED_PORT : PORT;
  await atForwarder(stage, wayIn, chainOf("filter", `udp dport ${port} drop`));
}

function chainOf(type: "nat" | "filter", rule: string): string {
  return `chain in { type ${type} hook prerouting priority dstnat - 1\niifname "wan0" ${rule}\n}\n`;
}

async function atForwarder({ lab }: Stage, wayIn: WayIn, chain: string): Promise<void> {
  const table = `add table inet wayIn\ndelete table inet wayIn\ntable inet wayIn {\n${chain}}\n`;
  const { router, vpn1 } = lab.namespaces;
  const namespace = wayIn.isThroughMain === true ? vpn1 : router;
  assert.equal((await lab.exec(namespace, ["nft", "-f", "-"], table)).stderr, "");
}
