import assert from "node:assert/strict";
import { join } from "node:path";
import { addressesOf } from "../../../src/sandbox/addresses.ts";
import { ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import { PROGRAM } from "../../program.ts";
import type { Fresh, FreshScenario } from "./fresh.ts";

/** A connect right after the cable is in may meet a kernel that has not noticed it yet. */
const CONNECTED_WITHIN_MS = 60_000;

/** A machine that boots: traffic waits on both sides before the links have an address or even a carrier. */
export const BOOT_SCENARIOS: readonly FreshScenario[] = [
  {
    name: "boot: `killswitch on` before the interfaces come up",
    arms: [2, 1],
    run: async (fresh) => {
      await control(fresh);
      await network(fresh, "down");
      await killSwitchOn(fresh);
      await fresh.guarded(async () => {
        await network(fresh, "up");
        await fresh.observe();
        assert.equal(await fresh.browse(), null);
      });
    },
  },
  {
    name: "boot: the service starts before the interfaces come up",
    arms: [2, 1],
    run: async (fresh) => {
      await control(fresh);
      await network(fresh, "down");
      const gateway = await fresh.lab.startGateway();
      await fresh.guarded(async () => {
        await network(fresh, "up");
        await fresh.observe();
        assert.equal(await fresh.browse(), null);
        // What came up is the gateway's network as if it had been there from the start.
        await connects(() => gateway.api("POST", "/api/connect", { server: "box-vpn-1" }));
        assert.match((await fresh.browse()) ?? "nothing", new RegExp(VPN.vpn1.v4));
      });
    },
  },
];

/** The same links come up with nothing to protect them. */
async function control(fresh: Fresh): Promise<void> {
  await network(fresh, "down");
  await fresh.startTraffic();
  await fresh.control(async () => {
    await network(fresh, "up");
    await fresh.observe();
  });
  assert.match((await fresh.browse()) ?? "nothing", new RegExp(ROUTER.public4));
}

/** As a network manager leaves them before it has run, and after. */
async function network(fresh: Fresh, state: "up" | "down"): Promise<void> {
  const { lan, uplink } = fresh.lab.sandbox;
  const cards = [...new Set([lan, uplink])];
  if (state === "down") {
    for (const card of cards) {
      await fresh.inside(["ip", "link", "set", card, "down"]);
      await fresh.inside(["ip", "address", "flush", "dev", card]);
    }
    await fresh.forgetRedirects();
    return;
  }
  const all = addressesOf(fresh.lab.sandbox);
  const [, text] = all.find(([namespace]) => namespace === fresh.lab.namespaces.gateway) ?? [];
  await fresh.inside(["ip", "-batch", "-"], text);
  // The kernel looks for a carrier once a second, and at once when it is asked.
  for (const card of cards) await fresh.inside(["cat", `/sys/class/net/${card}/carrier`]);
}

async function killSwitchOn({ lab: { sandbox } }: Fresh): Promise<void> {
  const flags = ["--netns", sandbox.namespaces.gateway, "--state-dir", join(sandbox.directory, "state")];
  const names = ["--interface", sandbox.interface, "--lan", sandbox.lan, "--uplink", sandbox.uplink];
  const child = Bun.spawn([...PROGRAM, "killswitch", "on", ...flags, ...names], {
    stdout: "ignore",
    stderr: "pipe",
  });
  assert.equal(await child.exited, 0, await child.stderr.text());
}

async function connects(attempt: () => Promise<{ status: number; body: unknown }>): Promise<void> {
  const deadline = performance.now() + CONNECTED_WITHIN_MS;
  for (;;) {
    const { status, body } = await attempt();
    if (status === 200) return;
    assert(performance.now() < deadline, JSON.stringify(body));
    await Bun.sleep(1_000);
  }
}
