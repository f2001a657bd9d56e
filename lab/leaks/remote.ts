import assert from "node:assert/strict";
import { LAN, ROUTER, UPLINK, VPN } from "../../src/sandbox/topology.ts";
import { TO_HOME_ROUTER } from "../miniupnpd.ts";
import { Phone } from "../phone.ts";
import { PROGRAM } from "../program.ts";
import type { Traffic } from "../traffic.ts";
import { until } from "../until.ts";
import { succeeds } from "./connections.ts";
import type { Scenario } from "./scenario.ts";
import type { Stage } from "./stage.ts";

const PORT = 51_820;
const NAME = "phone";
/** Where the internet may see the phone. */
const EXITS: readonly string[] = Object.values(VPN).flatMap(({ v4, v6 }) => [v4, v6]);
/** WireGuard's own packets to the phone; all else to it is a leak. */
const TO_PHONE = new RegExp(`^192\\.168\\.\\S+ > 203\\.0\\.113\\.10\\d UDP ${PORT} > \\d+, \\d+ bytes$`);

/** A phone on the road sends all the time, while its exit, its tunnel, the service and the firewall change. */
export const REMOTE_SCENARIOS: readonly Scenario[] = [
  scenario(
    "a phone on the road, whose exit is moved, disconnected and blocked, and which is removed in a stream",
    async ({ stage, phone, traffic }) => {
      const path = `/api/remote/devices/${NAME}`;
      const move = (exit: string) => succeeds(stage.request(path, { exit }, "PATCH"));
      await stage.gateway.kill("SIGKILL");
      await traffic.sends(50);
      await stage.gateway.start();
      await isServed(stage, phone, VPN.vpn2.v4);
      await stage.devices.disconnect();
      await traffic.sends(50);
      assert.equal(await phone.seenAs(), null);
      await move("main");
      await isServed(stage, phone, VPN.vpn1.v4);
      await move("blocked");
      await traffic.sends(50);
      assert.equal(await phone.seenAs(), null);
      await move("main");
      await isServed(stage, phone, VPN.vpn1.v4);
      await succeeds(stage.request(path, undefined, "DELETE"));
      await isSilent(traffic);
    },
  ),
  scenario(
    "a phone on the road, while the firewall is flushed and its interface is deleted",
    async ({ stage, phone, traffic }) => {
      await stage.inside("nft", "flush", "ruleset");
      await traffic.sends(50);
      await isServed(stage, phone, VPN.vpn2.v4);
      await stage.inside("ip", "link", "del", `${stage.lab.sandbox.interface}r`);
      await traffic.sends(50);
      await isServed(stage, phone, VPN.vpn2.v4);
    },
  ),
];

interface OnTheRoad {
  stage: Stage;
  phone: Phone;
  /** What the phone sends. */
  traffic: Traffic;
}

function scenario(name: string, act: (road: OnTheRoad) => Promise<void>): Scenario {
  return {
    name,
    cards: [2, 1],
    from: "connected",
    allowed: (leak) => TO_PHONE.test(leak) || TO_HOME_ROUTER.test(leak),
    run: async (stage) => {
      const phone = await Phone.onTheRoad(stage.lab, 1);
      await forwardPort(stage);
      try {
        await play(stage, phone, act);
      } finally {
        await stage.gateway.operate("remote", "off");
        await phone.leaves();
        await stage.lab.exec(stage.lab.namespaces.router, ["nft", "delete", "table", "inet", "road"]);
      }
    },
  };
}

async function play(stage: Stage, phone: Phone, act: (road: OnTheRoad) => Promise<void>): Promise<void> {
  const on = await stage.gateway.operate("remote", "on", "--endpoint", ROUTER.public4);
  assert.equal(on.stderr, "");
  // That of an earlier scenario.
  await stage.request(`/api/remote/devices/${NAME}`, undefined, "DELETE");
  const add = ["remote", "add", NAME, "--file", "--exit", "second"];
  const url = ["--url", `http://127.0.0.1:${stage.gateway.port}`];
  const { stdout, stderr } = await stage.lab.outside([...PROGRAM, ...add, ...url]);
  assert.equal(stderr, "");
  await phone.takes(stdout);
  const traffic = await stage.lab.traffic(phone.namespace, { kinds: ["udp", "udp6", "web", "ping"] });
  try {
    await isServed(stage, phone, VPN.vpn2.v4);
    await act({ stage, phone, traffic });
  } finally {
    const { web } = await traffic.stop();
    await stage.devices.lead();
    const elsewhere = Object.keys(web?.seenAs ?? {}).filter((address) => !EXITS.includes(address));
    assert.deepEqual(elsewhere, [], "the internet saw the phone outside its exit");
  }
}

/** Needs both layers. */
async function isServed(stage: Stage, phone: Phone, address: string): Promise<void> {
  if (stage.isWhole) await until(async () => (await phone.seenAs()) === address);
}

/** What was under way when it was removed may still come back. */
async function isSilent(traffic: Traffic): Promise<void> {
  await traffic.sends(50);
  const before = (await traffic.count()).udp?.answered ?? 0;
  await traffic.sends(50);
  assert.equal((await traffic.count()).udp?.answered ?? 0, before, "a removed phone is served");
}

async function forwardPort({ lab, cards }: Stage): Promise<void> {
  const to = cards === 1 ? LAN.gateway4 : UPLINK.gateway4;
  const rule = `iifname "wan0" udp dport ${PORT} dnat ip to ${to}`;
  const table = `table inet road { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
  assert.equal((await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], table)).stderr, "");
}
