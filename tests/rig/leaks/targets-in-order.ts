import { readFileSync, writeFileSync } from "node:fs";
import { VPN } from "../../../src/sandbox/topology.ts";
import { until } from "../tools/until.ts";
import { succeeds } from "./connections.ts";
import { ofMain, type Scenario, type Stage } from "./stage.ts";

const [FIRST, NEXT] = ["box-vpn-1", "box-vpn-2"] as const;
/** Each way, on the cable of the first server only. */
const DELAY_MS = 60;
/** A server is left after three minutes, and gone back to after one or two. */
const MOVES_WITHIN_MS = 300_000;
const LOOK_MS = 500;

/** Main has two targets in order, and moves by itself. */
export const TARGETS_IN_ORDER: readonly Scenario[] = ofMain([
  ofOrder(
    "main leaves the first server of its order when that becomes slow, and goes back to it",
    async (stage) => {
      await measure(stage, { every_seconds: 2, slow_ms: 2 * DELAY_MS });
      await succeeds(connect(stage, { move_when: ["slow"] }));
      await stage.lab.delay(DELAY_MS, "vpn1");
      try {
        // Without both layers nothing enters the tunnel, so nobody knows that it is slow.
        if (stage.isWhole) await isAt(stage, NEXT);
        await stage.observe();
      } finally {
        await stage.lab.delay(0);
      }
      await isAt(stage, FIRST);
      await measure(stage, { every_seconds: 10, slow_ms: 300 });
      await stage.observe();
      await stage.sees(VPN.vpn1.v4);
    },
  ),
  ofOrder(
    "main takes the next server of its order, and goes back to the first once that answers",
    async (stage) => {
      const cable = (way: "up" | "down") =>
        stage.lab.exec(stage.lab.namespaces.internet, ["ip", "link", "set", "vpn1", way]);
      await cable("down");
      try {
        await succeeds(connect(stage));
        await isAt(stage, NEXT);
        await stage.sees(VPN.vpn2.v4);
      } finally {
        await cable("up");
      }
      await isAt(stage, FIRST);
      await stage.observe();
      await stage.sees(VPN.vpn1.v4);
    },
  ),
  ofOrder(
    "main comes back without the server of its order that it had taken, and takes the next",
    async (stage) => {
      // No list has servers by AmneziaWG.
      if (stage.transport === "amnezia") return;
      await succeeds(connect(stage));
      const { managedList } = stage.lab.sandbox.files;
      const before = readFileSync(managedList, "utf8");
      const { servers } = JSON.parse(before);
      const others = servers.filter(({ hostname }: { hostname: string }) => hostname !== FIRST);
      await stage.gateway.kill("SIGKILL");
      writeFileSync(managedList, JSON.stringify({ servers: others }));
      try {
        // As a boot would.
        for (const slot of [0, 1])
          await stage.inside("ip", "link", "del", `${stage.lab.sandbox.interface}${slot}`);
        await stage.observe();
        await stage.gateway.start();
        await isAt(stage, NEXT);
        await stage.observe();
        await stage.sees(VPN.vpn2.v4);
      } finally {
        writeFileSync(managedList, before);
        await stage.gateway.restart();
      }
    },
  ),
]);

function ofOrder(name: string, run: Scenario["run"]): Scenario {
  return {
    name,
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      await run(stage);
      // The order would go on moving it in the next scenarios.
      await succeeds(stage.connect());
    },
  };
}

function connect(stage: Stage, rules: object = {}) {
  const { transport } = stage;
  const targets = [FIRST, NEXT].map((server) => ({ server, ...(transport !== null && { transport }) }));
  return stage.request("/api/connect", { targets, back_after_minutes: 1, ...rules });
}

function measure(stage: Stage, quality: object): Promise<void> {
  return succeeds(stage.request("/api/settings", { quality }, "PUT"));
}

function isAt(stage: Stage, server: string): Promise<number> {
  const met = async () => {
    const { connected, server: present } = await stage.status();
    return connected && present === server;
  };
  return until(met, MOVES_WITHIN_MS, LOOK_MS);
}
