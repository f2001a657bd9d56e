import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { INTERNET } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import type { LanDevice } from "../tools/lan-device.ts";

/** A phone on the internet of a lab: it has an address there, and takes a file for WireGuard. */
export class Phone {
  readonly namespace: string;
  /** As the internet sees it. */
  v4: string;
  /** Its WireGuard interface; unique, because all WireGuard sockets of a machine share one folder. */
  readonly link: string;

  private constructor(
    private readonly lab: Lab,
    /** From 1 to 9. */
    readonly number: number,
    namespace = `${lab.sandbox.id}-phone${number}`,
  ) {
    this.namespace = namespace;
    this.v4 = `203.0.113.10${number}`;
    this.link = `${lab.sandbox.id}p${number}`;
  }

  /** It is gone with the lab. */
  static async away(lab: Lab, number: number): Promise<Phone> {
    const phone = new Phone(lab, number);
    const port = `phone${number}`;
    await phone.batch([], [`netns add ${phone.namespace}`]);
    await phone.batch(
      ["-n", lab.namespaces.internet],
      [
        `link add ${port} type veth peer wan0 netns ${phone.namespace}`,
        `link set dev ${port} master backbone`,
        `link set dev ${port} up`,
      ],
    );
    await phone.batch(
      ["-n", phone.namespace],
      [
        "link set lo up",
        // By no prefix: the tunnel takes everything, as with an address of another network.
        `address add ${phone.v4}/32 dev wan0`,
        `address add 2001:db8:113::10${number}/128 dev wan0 nodad`,
        "link set wan0 up",
        "route add default dev wan0",
        "route add ::/0 dev wan0",
      ],
    );
    return phone;
  }

  /** Behind the NAT of another one, as in a café. */
  static async behind(router: Phone, number: number): Promise<Phone> {
    const { lab } = router;
    const phone = new Phone(lab, number);
    phone.v4 = router.v4;
    const [port, network] = [`phone${number}`, `172.20.${number}`];
    await phone.batch([], [`netns add ${phone.namespace}`]);
    await phone.batch(
      ["-n", router.namespace],
      [
        `link add ${port} type veth peer wan0 netns ${phone.namespace}`,
        `address add ${network}.1/24 dev ${port}`,
        `link set dev ${port} up`,
      ],
    );
    await phone.batch(
      ["-n", phone.namespace],
      [
        "link set lo up",
        `address add ${network}.2/24 dev wan0`,
        "link set wan0 up",
        `route add default via ${network}.1`,
      ],
    );
    const nat = `table ip nat { chain out { type nat hook postrouting priority srcnat\noifname "wan0" masquerade\n}\n}\n`;
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    await router.run(["nft", "-f", "-"], `add table ip nat\ndelete table ip nat\n${nat}`);
    return phone;
  }

  /** It is this device of the LAN, and calls the home from there too; the device leaves with it. */
  static atHome(lab: Lab, { namespace, number, v4 }: LanDevice): Phone {
    const phone = new Phone(lab, number, namespace);
    phone.v4 = v4;
    return phone;
  }

  /** It has another address from now on, as after a change from Wi-Fi to the mobile network. */
  async moves(number: number): Promise<void> {
    const former = this.v4;
    this.v4 = `203.0.113.10${number}`;
    await this.batch(
      ["-n", this.namespace],
      [
        `address add ${this.v4}/32 dev wan0`,
        `address del ${former}/32 dev wan0`,
        "route replace default dev wan0",
      ],
    );
  }

  /** Takes a file as `wg-quick up` does, without its DNS, which would be this machine's. */
  async takes(file: string): Promise<void> {
    const path = join(this.lab.sandbox.directory, `${this.link}.conf`);
    writeFileSync(path, file.replace(/^DNS = .*\n/m, ""), { mode: 0o600 });
    const { code, stderr } = await this.run(["wg-quick", "up", path]);
    if (code !== 0) throw new Error(stderr);
  }

  /** Ends its tunnel. */
  async hangsUp(): Promise<void> {
    await this.run(["ip", "link", "del", this.link]);
  }

  /** It is gone. Its cable goes first: the kernel takes its time with those of a namespace, and the next phone needs the name. */
  async leaves(): Promise<void> {
    await this.hangsUp();
    await this.run(["ip", "link", "del", "wan0"]);
    await this.batch([], [`netns del ${this.namespace}`]);
  }

  run(argv: readonly string[], stdin?: string) {
    return this.lab.exec(this.namespace, argv, stdin);
  }

  /** How the internet sees it; null if no page comes. */
  seenAs(): Promise<string | null> {
    return this.lab.fetchFrom(this.namespace, `http://${INTERNET.host4}/ip`);
  }

  private async batch(where: readonly string[], lines: readonly string[]): Promise<void> {
    const { stderr } = await this.lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
    if (stderr !== "") throw new Error(stderr);
  }
}
