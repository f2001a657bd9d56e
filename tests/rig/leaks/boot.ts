import assert from "node:assert/strict";
import { join } from "node:path";
import { addressesOf } from "../../../src/sandbox/addresses.ts";
import { ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { PROGRAM } from "../tools/program.ts";
import { until } from "../tools/until.ts";
import { type Fresh, type FreshScenario, forgetRedirects } from "./fresh.ts";

/** A connect right after the cable is in may meet a kernel that has not noticed it yet. */
const CONNECTED_WITHIN_MS = 60_000;

/** A machine that boots: traffic waits on both sides before the links have an address or even a carrier. */
export const BOOT_SCENARIOS: readonly FreshScenario[] = [
  {
    name: "boot: `killswitch on` before the interfaces come up",
    cards: [2, 1],
    run: async (fresh) => {
      await control(fresh);
      await network(fresh, "down");
      await killSwitchOn(fresh.lab);
      await fresh.guarded(async () => {
        await network(fresh, "up");
        await fresh.observe();
        assert.equal(await fresh.browse(), null);
      });
    },
  },
  {
    name: "boot: the service starts before the interfaces come up",
    cards: [2, 1],
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
  {
    name: "boot with devices assigned: all are refused until the service is there",
    cards: [2, 1],
    run: async (fresh) => {
      const gateway = await fresh.lab.startGateway();
      await fresh.startTraffic();
      await connects(() => gateway.api("POST", "/api/connect", { server: "box-vpn-1" }));
      const devices = await fresh.plugInDevices(gateway);
      await devices.served();
      await gateway.kill("SIGKILL");
      await powerCut(fresh);
      const up = async (look: (epochs: number[]) => Promise<unknown>) => {
        await network(fresh, "up");
        const all = devices.all.map((device) => device.namespace);
        await plugged(fresh.lab, [fresh.lab.namespaces.client, ...all]);
        const epochs = await devices.turn();
        await look(epochs);
        await fresh.observe();
        await devices.turn();
        devices.assertSent(epochs);
      };
      // The first packets wait until the neighbours have found each other.
      const open = await fresh.during(() => up((epochs) => until(() => devices.areInClear(epochs))));
      for (const { device, wrong } of open.devices) assert(wrong > 0, `positive control: device ${device}`);
      await network(fresh, "down");
      await killSwitchOn(fresh.lab);
      const { devices: boot } = await fresh.guarded(() => up(() => fresh.observe()));
      for (const { device, served } of boot) assert.equal(served, 0, `device ${device} is served at boot`);
      await fresh.guarded(async () => {
        await gateway.start();
        await devices.served();
      });
    },
  },
];

/**
 * TCP and UDP flows, from client and gateway, that began while the gateway was a plain router: the kernel knows
 * them, and would go on with them as they were.
 */
export const FLOWS_BEFORE_THE_SERVICE: FreshScenario = {
  name: "flows that began before the service and before the tunnel",
  cards: [2, 1],
  run: async (fresh) => {
    await fresh.startTraffic();
    await fresh.control(() => fresh.observe());
    assert.match((await fresh.browse()) ?? "nothing", new RegExp(ROUTER.public4));
    const gateway = await fresh.lab.startGateway();
    await forgetRedirects(fresh.lab);
    await fresh.guarded(() => fresh.observe());
    await fresh.guarded(async () => {
      assert.equal((await gateway.api("POST", "/api/connect", { server: "box-vpn-1" })).status, 200);
      await fresh.observe();
      assert.match((await fresh.browse()) ?? "nothing", new RegExp(VPN.vpn1.v4));
      await gateway.api("POST", "/api/disconnect");
      await fresh.observe();
    });
  },
};

/** Devices notice that their cable has another end as late as the gateway does. */
export async function plugged(lab: Lab, devices: readonly string[]): Promise<void> {
  for (const namespace of devices)
    await until(async () => {
      const { stdout } = await lab.exec(namespace, ["cat", "/sys/class/net/lan0/operstate"]);
      return stdout === "up\n";
    });
}

/** What the kernel has of a gateway is gone, as after a power cut, and the links are down. */
async function powerCut(fresh: Fresh): Promise<void> {
  await network(fresh, "down");
  await fresh.inside(["nft", "flush", "ruleset"]);
  const links = JSON.parse(await fresh.inside(["ip", "-j", "link", "show"])) as { ifname: string }[];
  for (const { ifname } of links.filter((link) => link.ifname.startsWith(fresh.lab.sandbox.interface)))
    await fresh.inside(["ip", "link", "del", "dev", ifname]);
  for (const family of ["-4", "-6"]) {
    const rules = JSON.parse(await fresh.inside(["ip", "-j", family, "rule", "show"])) as {
      priority: number;
    }[];
    for (const { priority } of rules.filter(({ priority }) => priority > 0 && priority < 100))
      await fresh.inside(["ip", family, "rule", "del", "priority", `${priority}`]);
  }
}

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
export async function network(fresh: Pick<Fresh, "lab" | "inside">, state: "up" | "down"): Promise<void> {
  const { lan, uplink } = fresh.lab.sandbox;
  const cards = [...new Set([lan, uplink])];
  if (state === "down") {
    for (const card of cards) {
      await fresh.inside(["ip", "link", "set", card, "down"]);
      await fresh.inside(["ip", "address", "flush", "dev", card]);
    }
    await forgetRedirects(fresh.lab);
    return;
  }
  const all = addressesOf(fresh.lab.sandbox);
  const [, text] = all.find(([namespace]) => namespace === fresh.lab.namespaces.gateway) ?? [];
  await fresh.inside(["ip", "-batch", "-"], text);
  // The kernel looks for a carrier once a second, and at once when it is asked.
  for (const card of cards) await fresh.inside(["cat", `/sys/class/net/${card}/carrier`]);
}

export async function killSwitchOn({ sandbox }: Lab): Promise<void> {
  const flags = ["--state-dir", join(sandbox.directory, "state"), "--interface", sandbox.interface];
  const names = ["--lan", sandbox.lan, "--uplink", sandbox.uplink];
  const child = Bun.spawn(sandbox.onGateway([...PROGRAM, "killswitch", "on", ...flags, ...names]), {
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
