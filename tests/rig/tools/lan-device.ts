import { LAN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "./lab.ts";

/** A computer on the LAN's cable next to the client, with a MAC address and a namespace of its own. */
export class LanDevice {
  readonly namespace: string;
  readonly mac: string;
  readonly v4: string;
  readonly v6: string;

  private constructor(
    lab: Lab,
    /** From 1 to 9. */
    readonly number: number,
  ) {
    this.namespace = `${lab.sandbox.id}-dev${number}`;
    this.mac = `02:00:00:00:10:0${number}`;
    this.v4 = `192.168.77.2${number}`;
    this.v6 = `fd77::2${number}`;
  }

  /** It is gone with the lab. */
  static async plugIn(lab: Lab, number: number): Promise<LanDevice> {
    const device = new LanDevice(lab, number);
    const { namespace, mac, v4, v6 } = device;
    const link = `dev${number}`;
    const cable = `link add link lan0 name ${link} address ${mac} netns ${namespace} type macvlan mode private`;
    await batch(lab, [], [`netns add ${namespace}`]);
    await batch(lab, ["-n", lab.namespaces.client], [cable]);
    await batch(
      lab,
      ["-n", namespace],
      [
        "link set lo up",
        `link set ${link} name lan0`,
        "link set lan0 up",
        `address add ${v4}/24 dev lan0`,
        `address add ${v6}/64 dev lan0 nodad`,
        `route add default via ${LAN.gateway4}`,
        `route add default via ${LAN.gateway6}`,
      ],
    );
    return device;
  }
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}
