import { join } from "node:path";
import { UPLINK } from "../../../src/sandbox/topology.ts";
import type { Gateway, Lab } from "../tools/lab.ts";
import { Phone } from "./phone.ts";

/** The LAN of the second home, and its only device. */
export const CABIN = {
  ...{ gateway4: "192.168.66.1", device4: "192.168.66.10" },
  ...{ gateway6: "fd66::1", device6: "fd66::10" },
};

/** Behind its router, as `Phone.behind` gives it. */
const CABIN_UPLINK4 = "172.20.4.2";

/** A second home with a gateway of its own, behind somebody's router. Each reaches the other by a port of that one's router. */
export interface Cabin {
  gateway: Gateway;
  /** The namespace of its device. */
  device: string;
  /** The namespace of its router, where `phone4` leads to it. */
  router: string;
  /** What the other home calls. */
  public4: string;
}

export async function openCabin(lab: Lab, port: number): Promise<Cabin> {
  const { sandbox, namespaces } = lab;
  const router = await Phone.away(lab, 1);
  const { namespace } = await Phone.behind(router, 4);
  await forward(lab, namespaces.router, port, UPLINK.gateway4);
  await forward(lab, router.namespace, port, CABIN_UPLINK4);
  const device = `${sandbox.id}-cabin`;
  await batch(lab, [], [`netns add ${device}`]);
  await batch(
    lab,
    ["-n", namespace],
    [
      `link add lan0 type veth peer lan0 netns ${device}`,
      `address add ${CABIN.gateway4}/24 dev lan0`,
      `address add ${CABIN.gateway6}/64 dev lan0 nodad`,
      "link set lan0 up",
    ],
  );
  await batch(
    lab,
    ["-n", device],
    [
      "link set lo up",
      `address add ${CABIN.device4}/24 dev lan0`,
      `address add ${CABIN.device6}/64 dev lan0 nodad`,
      "link set lan0 up",
      `route add default via ${CABIN.gateway4}`,
      `route add ::/0 via ${CABIN.gateway6}`,
    ],
  );
  const own = ["--state-dir", join(sandbox.directory, "cabin"), "--interface", `${sandbox.id}c`];
  const flags = [...own, "--lan", "lan0", "--uplink", "wan0"];
  return {
    gateway: await lab.startGateway({ namespace, flags }),
    device,
    router: router.namespace,
    public4: router.v4,
  };
}

/** As a person sets it at a home router. */
async function forward(lab: Lab, router: string, port: number, to: string): Promise<void> {
  const rule = `iifname "wan0" udp dport ${port} dnat ip to ${to}`;
  const text = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
  const { code, stderr } = await lab.exec(router, ["nft", "-f", "-"], text);
  if (code !== 0) throw new Error(stderr);
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}
