import assert from "node:assert/strict";
import { encode, RECURSION_DESIRED } from "dns-packet";
import { INTERNET, LAN } from "../../../src/sandbox/topology.ts";
import { Probe } from "../tools/probe.ts";
import { askGateway } from "../tools/question.ts";
import type { Scenario, Stage } from "./stage.ts";

const PAGE = `http://${INTERNET.host4}/`;
/** The host to which devices send, by its name. */
const HOST = "internet.test";

/**
 * Rules by name. Each VPN server and the router tell what they see of the device's questions and of its traffic, and
 * nothing of either may be seen elsewhere than at the rule's exit.
 */
export const NAMED_SCENARIOS: readonly Scenario[] = [
  {
    name: "a rule by name leads the second tunnel's device to main, and all is flushed",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await leadNames(stage, 1, "main");
      await stage.served();
      await stage.inside("nft", "flush", "ruleset");
      await stage.mended();
      await stage.devices.forgetRules(1, "second");
      await stage.served();
    },
  },
  {
    name: "the service is killed while a rule by name leads to main, and starts again",
    cards: [2, 1],
    from: "connected",
    spares: [3],
    run: async (stage) => {
      await leadNames(stage, 1, "main");
      await stage.served();
      await stage.gateway.kill("SIGKILL");
      await stage.observe();
      await stage.gateway.start();
      await stage.mended();
    },
  },
  {
    name: "the exit of a rule by name goes down, and comes back",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await leadNames(stage, 1, "main");
      await stage.served();
      assert.equal((await stage.disconnect()).status, 200);
      await stage.observe();
      const { namespace } = stage.devices.numbered(1);
      if (stage.isWhole) assert(await stage.lab.isRefused(namespace, PAGE), "the device is not refused");
      assert.equal((await stage.connect()).status, 200);
      await stage.served();
    },
  },
  {
    name: "a rule by name leads the blocked device to the second tunnel, and is removed",
    cards: [2, 1],
    from: "connected",
    spares: [3],
    run: async (stage) => {
      await leadNames(stage, 2, "second");
      await stage.served();
      await stage.devices.forgetRules(2, "blocked");
      await stage.observe();
      const { namespace } = stage.devices.numbered(2);
      if (stage.isWhole) assert(await stage.lab.isRefused(namespace, PAGE), "the device is not refused");
    },
  },
  {
    name: "devices with a rule each for one name ask and leave by the exit of their own rule",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await leadNames(stage, 1, "main");
      await leadNames(stage, 2, "second");
      // A direct device does not ask the gateway.
      await stage.devices.assign(3, "main");
      await stage.devices.ruleNames(3, [HOST], "blocked");
      await stage.served();
      if (!stage.isWhole) return;
      const answers = stage.devices.all.map(({ namespace }) => askGateway(namespace, HOST));
      assert.deepEqual(await Promise.all(answers), [[INTERNET.host4], [INTERNET.host4], ["NXDOMAIN"]]);
    },
  },
  {
    name: "a rule by name leads no device that has not asked the gateway for it",
    cards: [2, 1],
    from: "connected",
    spares: [1, 3],
    run: async (stage) => {
      for (const device of [1, 2, 3]) await stage.devices.ruleNames(device, [HOST], "main");
      await stage.served();
    },
  },
];

/** Every packet of the device that is sent after it returns counts for the exit, and so does every question. */
async function leadNames(stage: Stage, device: number, exit: "main" | "second"): Promise<void> {
  await stage.devices.ruleNames(device, [HOST, "whoami.test"], exit);
  if (stage.isWhole) {
    const { namespace } = stage.devices.numbered(device);
    const probe = await Probe.start(namespace, [asked("A"), asked("AAAA")]);
    await probe.until(({ answered }) => answered > 0);
    await probe.stop();
  }
  await stage.devices.areLed(device, exit);
}

function asked(type: "A" | "AAAA") {
  const query = encode({
    ...{ type: "query", id: 1, flags: RECURSION_DESIRED },
    questions: [{ type, name: HOST }],
  });
  return { protocol: "udp", address: LAN.gateway4, port: 53, payload: query.toHex() } as const;
}
