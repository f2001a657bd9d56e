import { addressesOf } from "../../../src/sandbox/addresses.ts";
import { LAN, UPLINK } from "../../../src/sandbox/topology.ts";
import type { Side } from "../tools/intruder.ts";
import type { Lab, Ran } from "../tools/lab.ts";
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
  const moved: (() => Promise<void>)[] = [];
  const giveBack = async () => {
    for (const back of moved) await back();
  };
  try {
    moved.push(await move(lab, lan, client, "lan0"));
    moved.push(await move(lab, uplink, home, "gateway"));
    const [, addresses = ""] = addressesOf(lab.sandbox).find(([name]) => name === client) ?? [];
    // The card keeps its own MAC address.
    const lines = addresses.split("\n").filter((line) => !line.startsWith("link set lan0 address"));
    await succeeds(lab.exec(client, ["ip", "-batch", "-"], lines.join("\n")));
    await succeeds(lab.exec(home, ["ip", "link", "set", "gateway", "master", "switch", "up"]));
  } catch (error) {
    await giveBack();
    throw error;
  }
  return giveBack;
}

/** Into a namespace, in the place of a link there. Returns what moves it back. */
async function move(lab: Lab, card: string, namespace: string, name: string): Promise<() => Promise<void>> {
  await succeeds(lab.exec(namespace, ["ip", "link", "del", name]));
  await succeeds(lab.outside(["ip", "link", "set", card, "netns", namespace, "name", name]));
  return async () => {
    const own = ["netns", `${process.pid}`, "name", card];
    await succeeds(lab.exec(namespace, ["ip", "link", "set", name, "down"]));
    await succeeds(lab.exec(namespace, ["ip", "link", "set", name, ...own]));
  };
}

async function succeeds(ran: Promise<Ran>): Promise<void> {
  const { code, stderr } = await ran;
  if (code !== 0) throw new Error(stderr);
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
