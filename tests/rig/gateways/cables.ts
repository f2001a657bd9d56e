import { addressesOf } from "../../../src/sandbox/addresses.ts";
import { LAN, UPLINK } from "../../../src/sandbox/topology.ts";
import type { Side } from "../leaks/intruder.ts";
import type { Lab } from "../tools/lab.ts";
import { until } from "../tools/until.ts";
import type { Gateway } from "./gateway.ts";

/** Two cards of this machine: their cables lead to a gateway, which is another one. */
export type Cables = Readonly<Record<Side, string>>;

/** What a person would do, as commands of this machine; who judges is asked to do what has none. */
export type Commands = Partial<Record<"connect" | "disconnect" | "reboot", string>>;

/** A machine that answers slowly after a reboot is waited for. */
const ANSWERS_WITHIN_MS = 600_000;

/** The cards take the place of the lab's own gateway. Returns what gives them back. */
export async function plugIn(lab: Lab, { lan, uplink }: Cables): Promise<() => Promise<void>> {
  const { client, switch: home } = lab.namespaces;
  const ip = async (namespace: string, ...words: string[]) => {
    const { code, stderr } = await lab.exec(namespace, ["ip", ...words]);
    if (code !== 0) throw new Error(`ip ${words.join(" ")}: ${stderr}`);
  };
  const move = async (card: string, namespace: string, name: string) => {
    await ip(namespace, "link", "del", name);
    const { code, stderr } = await lab.outside(["ip", "link", "set", card, "netns", namespace, "name", name]);
    if (code !== 0) throw new Error(`${card}: ${stderr}`);
  };
  const giveBack = async (card: string, namespace: string, name: string) => {
    await ip(namespace, "link", "set", name, "down");
    await ip(namespace, "link", "set", name, "netns", `${process.pid}`, "name", card);
  };
  await move(lan, client, "lan0");
  await move(uplink, home, "gateway");
  const [, addresses = ""] = addressesOf(lab.sandbox).find(([name]) => name === client) ?? [];
  // The card keeps its own MAC address.
  const lines = addresses.split("\n").filter((line) => !line.startsWith("link set lan0 address"));
  const { stderr } = await lab.exec(client, ["ip", "-batch", "-"], lines.join("\n"));
  if (stderr !== "") throw new Error(stderr);
  await ip(home, "link", "set", "gateway", "master", "switch", "up");
  return async () => {
    await giveBack(lan, client, "lan0");
    await giveBack(uplink, home, "gateway");
  };
}

/** Returns once both cards of the gateway are known. */
export async function meet(lab: Lab): Promise<Readonly<Record<Side, string>>> {
  const { client, router } = lab.namespaces;
  return {
    lan: await macOf(lab, client, LAN.gateway4),
    uplink: await macOf(lab, router, UPLINK.gateway4),
  };
}

/** Of whoever answers there, whether or not it answers pings. */
async function macOf(lab: Lab, namespace: string, address: string): Promise<string> {
  let mac = "";
  await until(async () => {
    await lab.exec(namespace, ["ping", "-c", "1", "-W", "1", address]);
    const { stdout } = await lab.exec(namespace, ["ip", "neigh", "show", address]);
    mac = /lladdr (\S+)/.exec(stdout)?.[1]?.replaceAll(":", "") ?? "";
    return mac !== "";
  }, ANSWERS_WITHIN_MS).catch(() => {
    throw new Error(`nobody at the cable has the address ${address}`);
  });
  return mac;
}

/** The gateway at the other ends. */
export function elsewhere({ connect, disconnect, reboot }: Commands): Gateway {
  return {
    name: "the gateway",
    claims: [],
    prepare: async (place) => place.writeConfigs([]),
    boot: async () => {},
    start: async (place) => {
      const done = (command: string | undefined, request: string) =>
        command === undefined ? byHand(request) : place.runHere(command);
      return {
        connect: (...which) =>
          connect === undefined
            ? byHand(`connect it with the configuration ${place.configFile(...which)}`)
            : place.runHere(connect, ...which),
        disconnect: () => done(disconnect, "disconnect it"),
        reboot: () => done(reboot, "reboot it"),
      };
    },
  };
}

async function byHand(request: string): Promise<void> {
  process.stderr.write(`Please ${request}, then press Enter. `);
  for await (const _ of console) return;
}
