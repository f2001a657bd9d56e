import assert from "node:assert/strict";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import { until } from "../tools/until.ts";
import type { Exit } from "./devices.ts";
import { ofSecond, SECOND_SLOT } from "./exits.ts";
import type { Scenario, Stage } from "./stage.ts";
import { tunnelProcesses } from "./tampering.ts";

const PAGE = `http://${INTERNET.host4}/`;
const ORDER = ["second", "main", "blocked"] as const;
/** An exit that was down is left for a minute at least; one that is lost twice on a busy machine, for two and four. */
const MOVES_WITHIN_MS = 600_000;
const LOOK_MS = 500;

/** A device that has several exits in order is moved by itself. */
export const EXITS_IN_ORDER: readonly Scenario[] = [
  ofSecond(
    "a device with several exits in order moves when the first is disconnected, and is given it again",
    async (stage) => {
      await begin(stage);
      await stage.devices.disconnect();
      await stage.devices.areLed(1, "main");
      await stage.served();
      await stage.devices.lead();
      await stage.devices.assign(1, "second");
      await stage.served();
    },
  ),
  ofSecond(
    "a device with several exits in order moves when the process of the first is killed",
    async (stage) => {
      await begin(stage);
      for (const pid of await tunnelProcesses(stage, SECOND_SLOT)) process.kill(pid, "SIGKILL");
      await stage.devices.areLed(1, "main");
      await stage.served();
      await stage.mended();
      await stage.devices.assign(1, "second");
      await stage.served();
    },
  ),
  {
    ...ofSecond(
      "a device with several exits in order moves when the server of the first is gone, and goes back by itself",
      async (stage) => {
        // Each loss of the tunnel in another scenario would make the device wait twice as long.
        await stage.gateway.restart();
        await begin(stage);
        await without(stage, "vpn2", async () => {
          await moves(stage, "main");
          await stage.served();
        });
        await moves(stage, "second");
        await stage.served();
      },
    ),
    cards: [2],
  },
  {
    ...ofSecond(
      "a device with several exits in order stays while the service is killed, and is refused while no server is left",
      async (stage) => {
        await begin(stage);
        await stage.gateway.kill("SIGKILL");
        await stage.served();
        await without(stage, "vpn2", async () => {
          await leavesByNone(stage);
          await stage.gateway.start();
          await moves(stage, "main");
          await stage.served();
          await without(stage, "vpn1", async () => {
            await moves(stage, "blocked");
            await leavesByNone(stage);
            const { namespace } = stage.devices.numbered(1);
            if (stage.isWhole)
              assert(await stage.lab.isRefused(namespace, PAGE), "the device is not refused");
            await stage.gateway.kill("SIGKILL");
            await stage.gateway.start();
            await leavesByNone(stage);
          });
          await moves(stage, "main");
          await stage.served();
        });
        await moves(stage, "second");
        await stage.served();
      },
    ),
    cards: [2],
  },
];

async function begin(stage: Stage): Promise<void> {
  await stage.devices.assignOrder(1, ORDER, "second");
  await stage.served();
}

/** Nothing that the device sends from its begin to its end may arrive anywhere, whatever exit is the next. */
async function leavesByNone(stage: Stage): Promise<void> {
  await stage.devices.areLed(1, "blocked");
  await stage.observe();
  await stage.devices.areLed(1, "blocked");
}

/** Its cable is out meanwhile. */
async function without(stage: Stage, server: "vpn1" | "vpn2", work: () => Promise<void>): Promise<void> {
  const { internet } = stage.lab.namespaces;
  const cable = (way: "up" | "down") => stage.lab.exec(internet, ["ip", "link", "set", server, way]);
  await cable("down");
  await work().finally(() => cable("up"));
}

/** Waits until the gateway has led the device there. Without both layers no server is missed, and it is not. */
async function moves(stage: Stage, exit: Exit): Promise<void> {
  const { mac } = stage.devices.numbered(1);
  const isLed = async () => {
    const { body } = await stage.request("/api/devices", undefined, "GET");
    return body.devices.find(({ id }: { id: string }) => id === mac)?.exit === exit;
  };
  if (stage.isWhole) await until(isLed, MOVES_WITHIN_MS, LOOK_MS);
  await stage.devices.areLed(1, exit);
}
