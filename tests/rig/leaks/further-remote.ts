import assert from "node:assert/strict";
import { INTERNET, LAN, VPN } from "../../../src/sandbox/topology.ts";
import { inject } from "../tools/injector.ts";
import { datagramFrame } from "../tools/packet.ts";
import { randomFrom } from "../tools/random.ts";
import { until } from "../tools/until.ts";
import { succeeds } from "./connections.ts";
import {
  change,
  isServed,
  isSilent,
  move,
  placesOf,
  type RemotePhone,
  turnOn,
  withPhones,
} from "./remote-phones.ts";
import type { Scenario, Stage } from "./stage.ts";

/** Moments after a change at which the service is killed; each is at most this late. */
const MOMENTS = 6;
const LATEST_MS = 150;
const SEED = 0x90ad;
/** Of no other packet in the lab. */
const FORGED = "forged by a remote phone";
const FORGERIES = 20;
const ECHO_PORT = 7;
const ETHERNET_BYTES = 14;
/** With a connection that stays open. */
const DOWNLOADS = ["udp", "udp6", "flow", "web", "ping"] as const;

/** What takes long, so `scripts/leaks` alone plays it. */
export const FURTHER_REMOTE_SCENARIOS: readonly Scenario[] = [
  withPhones(
    "remote phones that download, while the service is killed at moments of a change of their exits",
    ["main", "second", "blocked"],
    async (stage, phones) => {
      const random = randomFrom(SEED + stage.cards);
      const exits = ["main", "second", "blocked"] as const;
      for (let moment = 0; moment < MOMENTS; moment += 1) {
        const phone = phones[moment % phones.length] as RemotePhone;
        const exit = exits[Math.floor(random() * exits.length)] ?? "blocked";
        for (const place of placesOf(exit, stage)) phone.places.add(place);
        const asked = stage.request(`/api/remote/devices/${phone.name}`, { exit }, "PATCH").catch(() => null);
        await Bun.sleep(random() * LATEST_MS);
        await stage.gateway.kill("SIGKILL");
        await asked;
        await phone.traffic.sends(25);
        await stage.gateway.start();
        await move(stage, phone, exit);
      }
    },
    { kinds: DOWNLOADS },
  ),
  withPhones(
    "remote phones that download, while the service is killed at moments of their removal",
    ["main", "second", "main", "second"],
    async (stage, phones) => {
      const random = randomFrom(SEED - stage.cards);
      for (const phone of phones) {
        const path = `/api/remote/devices/${phone.name}`;
        const asked = stage.request(path, undefined, "DELETE").catch(() => null);
        await Bun.sleep(random() * LATEST_MS);
        await stage.gateway.kill("SIGKILL");
        const answer = await asked;
        if (answer?.status === 200) await isSilent(phone);
        await stage.gateway.start();
        const { body } = await stage.request("/api/remote", undefined, "GET");
        const isLeft = body.devices.some(({ name }: { name: string }) => name === phone.name);
        assert.equal(isLeft && answer?.status === 200, false, `${phone.name} is back after its removal`);
        if (isLeft) await change(stage, phone);
        await isSilent(phone);
      }
    },
    { kinds: DOWNLOADS },
  ),
  withPhones(
    "remote phones, while the tunnels of their exits lose interface, routes and server, and remote access is turned off",
    ["main", "second"],
    async (stage, phones) => {
      const [first, second] = phones as [RemotePhone, RemotePhone];
      const all = async () => {
        await isServed(stage, first, VPN.vpn1.v4);
        await isServed(stage, second, VPN.vpn2.v4);
      };
      const base = stage.lab.sandbox.interface;
      await stage.inside("ip", "link", "del", `${base}0`);
      await first.traffic.sends(50);
      await all();
      for (const family of ["-4", "-6"])
        await stage.inside("ip", family, "route", "flush", "table", "all", "dev", `${base}0`);
      await first.traffic.sends(50);
      await all();
      for (const place of placesOf("second", stage)) first.places.add(place);
      await succeeds(stage.connect("box-vpn-2"));
      await isServed(stage, first, VPN.vpn2.v4);
      await succeeds(stage.disconnect());
      await isSilent(first);
      await isServed(stage, second, VPN.vpn2.v4);
      await succeeds(stage.connect());
      await all();
      assert.equal((await stage.gateway.operate("remote", "off")).stderr, "");
      for (const phone of phones) await isSilent(phone);
      await turnOn(stage, {});
      await all();
    },
    { kinds: DOWNLOADS },
  ),
  withPhones(
    "a remote phone whose address changes, and one that is removed in the middle of a download",
    ["second", "main"],
    async (stage, phones) => {
      const [kept, removed] = phones as [RemotePhone, RemotePhone];
      await removed.traffic.sends(25);
      await kept.phone.moves(6);
      await kept.traffic.sends(50);
      await isServed(stage, kept, VPN.vpn2.v4);
      await change(stage, removed);
      await isSilent(removed);
      await isServed(stage, kept, VPN.vpn2.v4);
    },
    { kinds: DOWNLOADS },
  ),
  withPhones(
    "a remote phone that forges its address, and whose packets WireGuard no longer checks",
    ["main", "second"],
    async (stage, phones) => {
      const [forger, other] = phones as [RemotePhone, RemotePhone];
      const link = `${stage.lab.sandbox.interface}r`;
      const [own, others] = [await innerOf(stage, forger), await innerOf(stage, other)];
      const atHost = await counterIn(stage, "internet", "");
      const atGateway = await counterIn(stage, "gateway", `iifname "${link}" `);
      // Positive control: with its own address they arrive.
      await forge(forger, own);
      if (stage.isWhole) await until(async () => (await atHost()) > 0);
      const before = [await atHost(), await atGateway()];
      const foreign = [others, LAN.client4, LAN.gateway4, INTERNET.dns4];
      for (const address of foreign) await forge(forger, address);
      await forger.traffic.sends(25);
      assert.deepEqual([await atHost(), await atGateway()], before, "WireGuard lets forged packets in");
      const { body } = await stage.request("/api/remote", undefined, "GET");
      const { public_key } = body.devices.find(({ name }: { name: string }) => name === forger.name);
      const all = ["allowed-ips", "0.0.0.0/0,::/0"];
      assert.equal((await stage.inside("wg", "set", link, "peer", public_key, ...all)).stderr, "");
      for (const address of foreign.slice(1)) await forge(forger, address);
      await until(async () => (await atGateway()) > (before[1] ?? 0));
      await forger.traffic.sends(25);
      assert.equal(await atHost(), before[0], "forged packets reach the internet");
    },
  ),
];

async function innerOf(stage: Stage, { name }: RemotePhone): Promise<string> {
  const { body } = await stage.request("/api/devices", undefined, "GET");
  return body.devices.find((each: { name: string }) => each.name === name).addresses[0];
}

/** Sends datagrams with this source into the phone's tunnel. */
async function forge({ phone }: RemotePhone, from: string): Promise<void> {
  const none = "0".repeat(12);
  const frame = datagramFrame({
    ...{ fromMac: none, toMac: none, from, to: INTERNET.host4 },
    ...{ sourcePort: 40_000, targetPort: ECHO_PORT, payload: FORGED },
  });
  await inject(phone.namespace, phone.link, Array(FORGERIES).fill(frame.subarray(ETHERNET_BYTES)));
}

/** Counts the forged datagrams that come by. */
async function counterIn(
  { lab }: Stage,
  role: "internet" | "gateway",
  match: string,
): Promise<() => Promise<number>> {
  const run = (argv: readonly string[], stdin?: string) => lab.exec(lab.namespaces[role], argv, stdin);
  const rule = `${match}udp dport ${ECHO_PORT} udp length ${8 + FORGED.length} counter`;
  const chain = `chain in { type filter hook prerouting priority -450\n${rule}\n}`;
  const { stderr } = await run(
    ["nft", "-f", "-"],
    `add table inet forged\ndelete table inet forged\ntable inet forged { ${chain}\n}\n`,
  );
  assert.equal(stderr, "");
  return async () => {
    const { stdout } = await run(["nft", "list", "table", "inet", "forged"]);
    return Number(/packets (\d+)/.exec(stdout)?.[1] ?? 0);
  };
}
