import assert from "node:assert/strict";
import { MAIN_SLOT, tableOf } from "../../../src/network/slot.ts";
import { LAN } from "../../../src/sandbox/topology.ts";
import {
  askForAddress,
  reachFlow,
  reachFromLan,
  reachFromUplink,
  reachTunnelAddress,
  tunnelAddresses,
} from "../tools/intruder.ts";
import { until } from "../tools/until.ts";
import type { FreshScenario } from "./fresh.ts";
import type { Scenario } from "./stage.ts";
import { answersToStrangers, untranslatedCraft } from "./strangers.ts";

/** Others on the gateway's cables, who write frames as they like. */
export const ATTACKER_SCENARIOS: readonly Scenario[] = [
  {
    name: "spoofed frames to the tunnel's address from the LAN and from the uplink",
    cards: [2, 1],
    from: "connected",
    run: async ({ lab }) => assert.deepEqual(await reachTunnelAddress(lab), []),
  },
  {
    name: "spoofed frames into a forwarded flow's NAT tuple (CVE-2019-14899)",
    cards: [2, 1],
    from: "connected",
    run: async ({ lab }) => assert.deepEqual(await reachFlow(lab), []),
  },
  ...(["connected", "blocked"] as const).map(
    (from): Scenario => ({
      name: `hosts with private addresses on the uplink's side, while ${from}`,
      cards: [2, 1],
      from,
      run: async ({ lab }) => {
        assert.deepEqual(await reachFromUplink(lab), []);
        assert.deepEqual(await reachFromLan(lab), [LAN.client4, LAN.client6]);
      },
    }),
  ),
  {
    name: "ARP for the tunnel's address",
    cards: [2, 1],
    from: "connected",
    run: async ({ lab }) => {
      assert.deepEqual(await askForAddress(lab, tunnelAddresses(lab).v4), []);
      assert.notEqual((await askForAddress(lab, LAN.gateway4)).length, 0);
    },
  },
];

/** The positive control of all of them: the same frames arrive at a gateway that has a tunnel and nothing else. */
export const ATTACKERS_MEET_NO_DEFENCE: FreshScenario = {
  name: "positive control: the same frames arrive where only a tunnel and its NAT are",
  cards: [2, 1],
  run: async (fresh) => {
    const { lab } = fresh;
    const gateway = await lab.startGateway();
    assert.equal((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status, 200);
    await gateway.kill("SIGKILL");
    await fresh.inside(["nft", "delete", "table", "inet", "portcullis"]);
    const nat = `type nat hook postrouting priority srcnat; oifname "${lab.sandbox.interface}0" masquerade;`;
    await fresh.inside(["nft", "-f", "-"], `table inet plain {\nchain outgoing {\n${nat}\n}\n}\n`);
    // Without the table nothing is marked, and only what is marked is routed: to the LAN as into the tunnel.
    for (const family of ["-4", "-6"])
      for (const rule of [
        ["75", "suppress_prefixlength", "0", "lookup", "main"],
        ["80", "lookup", `${tableOf(MAIN_SLOT)}`],
      ])
        await fresh.inside(["ip", family, "rule", "add", "priority", ...rule]);
    await fresh.inside(["sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=0"]);
    for (const reach of [
      ...[reachTunnelAddress, reachFlow, reachFromUplink, reachFromLan],
      ...[answersToStrangers, untranslatedCraft],
    ]) {
      // On a busy machine a frame may come too late for one look.
      await until(async () => {
        const reached = await reach(lab);
        return [/^(IP )?\d+\./, /^(IP6 )?[\da-f]*:/].every((family) =>
          reached.some((line) => family.test(line)),
        );
      });
    }
    assert.notEqual((await askForAddress(lab, tunnelAddresses(lab).v4)).length, 0);
  },
};
