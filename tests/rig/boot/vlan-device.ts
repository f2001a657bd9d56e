import { INTERNET } from "../../../src/sandbox/topology.ts";
import { forward, openLibc, openTap } from "../tools/delay.ts";
import type { Lab } from "../tools/lab.ts";
import { tagged, untagged } from "../tools/packet.ts";

export const VLAN = {
  ...{ id: 20, prefix4: "192.168.20.0/24", prefix6: "fd20::/64", mac: "02:00:00:00:20:10" },
  ...{ gateway4: "192.168.20.1", gateway6: "fd20::1", host4: "192.168.20.10", host6: "fd20::10" },
} as const;

/** At the LAN's cable, where frames have tags, and at the device, which knows of none. */
const [TRUNK, ACCESS] = ["vlan-trunk", "vlan-access"];

/**
 * A device at a switch's port of a VLAN. The switch is a program with two TAP devices, for this machine's kernel may know no
 * VLANs: the emulated machine's does, and gets real frames with tags.
 */
export class VlanDevice {
  readonly namespace: string;

  private constructor(
    private readonly lab: Lab,
    private readonly port: Bun.Subprocess<"ignore", "pipe", "inherit">,
  ) {
    this.namespace = `${lab.sandbox.id}-vlan`;
  }

  /** The bridge of the LAN's cable is there already. It is gone with the lab. */
  static async plugIn(lab: Lab): Promise<VlanDevice> {
    const { gateway } = lab.namespaces;
    const port = Bun.spawn(["ip", "netns", "exec", gateway, process.execPath, import.meta.path], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    const device = new VlanDevice(lab, port);
    const { value } = await port.stdout.getReader().read();
    if (value === undefined) throw new Error("the port of the VLAN did not start");
    await batch(lab, [], [`netns add ${device.namespace}`]);
    await batch(
      lab,
      ["-n", gateway],
      [
        `link set ${TRUNK} master br-lan0 up`,
        `link set ${ACCESS} netns ${device.namespace} name lan0 address ${VLAN.mac}`,
      ],
    );
    await batch(
      lab,
      ["-n", device.namespace],
      [
        "link set lo up",
        "link set lan0 up",
        `address add ${VLAN.host4}/24 dev lan0`,
        `address add ${VLAN.host6}/64 dev lan0 nodad`,
        `route add default via ${VLAN.gateway4}`,
        `route add default via ${VLAN.gateway6}`,
      ],
    );
    return device;
  }

  /** From which addresses the internet sees it, by IPv4 and by IPv6; null where the page does not come. */
  pages(): Promise<(string | null)[]> {
    return this.fetched(`http://${INTERNET.host4}/ip`, `http://[${INTERNET.host6}]/ip`);
  }

  fetched(...urls: readonly string[]): Promise<(string | null)[]> {
    return Promise.all(urls.map((url) => this.lab.fetchFrom(this.namespace, url)));
  }

  unplug(): void {
    this.port.kill("SIGKILL");
  }
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}

if (import.meta.main) {
  const libc = openLibc();
  const [trunk, access] = [openTap(libc, TRUNK), openTap(libc, ACCESS)];
  process.stdout.write("ready\n");
  const passed = (frame: Uint8Array, target: number) =>
    target === trunk ? tagged(frame, VLAN.id) : untagged(frame, VLAN.id);
  // What was written goes out before the loop that never yields.
  setTimeout(() => forward(libc, [trunk, access], 0, passed), 1);
}
