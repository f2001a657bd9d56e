import assert from "node:assert/strict";
import { INTERNET, VPN } from "../../../src/sandbox/topology.ts";
import { succeeds } from "./connections.ts";
import type { Scenario, Stage } from "./stage.ts";

/** The servers of the tunnels are beside the host, and its resolvers have no rule. */
const HOST = ["203.0.113.64/26", `${INTERNET.host6}/128`];
/** Nothing has these addresses. */
const ELSEWHERE = ["198.51.100.0/24"];
const RELOADS = 15;
/** So many datagrams are enough for a connection to be in use. */
const ENOUGH = 50;

/** Rules by destination. What a device asks for by name goes by its own exit, and the rest by the rule's. */
export const DESTINATIONS: readonly Scenario[] = [
  ofRules(
    "a rule leads all devices but the blocked one to the second tunnel, and others come before it",
    async (stage) => {
      const { devices } = stage;
      await devices.rulePrefixes(HOST, "second");
      await devices.areLed(3, "second", { dns: "direct" });
      await stage.served();
      await stage.sees(VPN.vpn2.v4);
      await devices.rulePrefixes(HOST, "main", [1]);
      await devices.rulePrefixes(HOST, "second", [2]);
      await devices.rulePrefixes(HOST, "blocked", [3]);
      await devices.areLed(1, "main", { dns: "second" });
      await devices.areLed(2, "second", { dns: "blocked" });
      await devices.areLed(3, "blocked", { dns: "direct" });
      await stage.served();
      if (stage.isWhole) {
        const { namespace } = devices.numbered(3);
        assert(
          await stage.lab.isRefused(namespace, `http://${INTERNET.host4}/`),
          "the device is not refused",
        );
      }
      // The next rule is removed before the one of all devices.
      await devices.areLed(3, "second", { dns: "direct" });
    },
  ),
  ofRules("a rule's tunnel goes down, and comes back", async (stage) => {
    await stage.devices.rulePrefixes(HOST, "main", [1, 3]);
    await led(stage, "main");
    await succeeds(stage.disconnect());
    await led(stage, "blocked");
    await succeeds(stage.connect());
    await led(stage, "main");
  }),
  ofRules("the table is flushed, and rules come and go, while others lead a direct device", async (stage) => {
    await stage.devices.rulePrefixes(HOST, "second", [3]);
    await stage.devices.areLed(3, "second", { dns: "direct" });
    await stage.served();
    for (let count = 0; count < RELOADS; count += 1) {
      const id = await stage.devices.rulePrefixes(ELSEWHERE, "blocked");
      await succeeds(stage.request(`/api/destinations/${id}`, undefined, "DELETE"));
    }
    await stage.inside("nft", "flush", "ruleset");
    await stage.mended();
  }),
  ofRules("the service is killed while a rule leads two devices, and starts again", async (stage) => {
    await stage.devices.rulePrefixes(HOST, "main", [1, 3]);
    await led(stage, "main");
    const first = await stage.devices.turn();
    await stage.gateway.kill("SIGKILL");
    await stage.observe();
    await stage.gateway.start();
    await stage.mended();
    if (stage.isWhole) await stage.devices.lostNothing([1, 3], first);
  }),
  ofRules("a rule is removed while its device has a connection, and so has another", async (stage) => {
    const id = await stage.devices.rulePrefixes(HOST, "main", [1]);
    await stage.devices.areLed(1, "main", { dns: "second" });
    const senders = [stage.devices.numbered(1).namespace, stage.lab.namespaces.client];
    const traffics = await Promise.all(
      senders.map((sender) => stage.lab.traffic(sender, { kinds: ["udp", "flow"] })),
    );
    await Promise.all(traffics.map((traffic) => traffic.sends(ENOUGH)));
    await succeeds(stage.request(`/api/destinations/${id}`, undefined, "DELETE"));
    await stage.devices.areLed(1, "second");
    await Promise.all(traffics.map((traffic) => traffic.sends(ENOUGH)));
    const [ruled, other] = await Promise.all(traffics.map((traffic) => traffic.stop()));
    if (!stage.isWhole) return;
    assert((ruled?.flow?.refused ?? 0) > 0, "the connection of the rule goes on");
    assert.deepEqual([other?.flow?.refused, other?.flow?.lost], [0, []]);
  }),
  ofRules("a rule leads a device directly, until the operator withdraws that", async (stage) => {
    await stage.devices.rulePrefixes(HOST, "direct", [1]);
    await stage.devices.areLed(1, "direct", { dns: "second" });
    await stage.served();
    await stage.devices.withdrawDirect();
    await stage.devices.areLed(1, "blocked", { dns: "second" });
    await stage.served();
  }),
];

function ofRules(name: string, run: Scenario["run"]): Scenario {
  return { name, cards: [2, 1], from: "connected", run };
}

/** What the devices with a rule send from now on goes there, and what they ask for as ever. */
async function led(stage: Stage, exit: "main" | "blocked"): Promise<void> {
  await stage.devices.areLed(1, exit, { dns: "second" });
  await stage.devices.areLed(3, exit, { dns: "direct" });
  await stage.observe();
  await stage.served();
}
