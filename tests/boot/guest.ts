import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LAN, ROUTER, UPLINK } from "../../src/sandbox/topology.ts";
import type { Lab } from "../lab/lab.ts";
import type { Architecture, Image } from "./image.ts";

/** An emulated machine that shares its cores with others takes minutes to boot. */
const BOOT_MS = 15 * 60_000;
const MEMORY_MIB = 1024;
/** Work of Debian's that has nothing to do with the network, and takes an emulated machine minutes. */
const MASKED = ["e2scrub_reap.service", "apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer"]
  .map((unit) => `systemd.mask=${unit}`)
  .join(" ");

/** A whole machine in place of the lab's gateway: its two network cards are the gateway's two cables. */
export class Guest {
  private child: Bun.Subprocess | null = null;
  private boots = 0;
  private startedAt = 0;

  private constructor(
    private readonly lab: Lab,
    private readonly architecture: Architecture,
    private readonly image: Image,
  ) {}

  static async create(lab: Lab, architecture: Architecture, image: Image): Promise<Guest> {
    const { gateway, router } = lab.namespaces;
    // The namespace is but a bundle of cables now: it has no address, and says nothing of its own.
    const cables = ["wan0", "lan0"].flatMap((link) => [
      `addr flush dev ${link}`,
      `link add br-${link} type bridge mcast_snooping 0`,
      `tuntap add tap-${link} mode tap`,
      `link set ${link} master br-${link}`,
      `link set tap-${link} master br-${link}`,
    ]);
    await must(lab, gateway, ["ip", "-batch", "-"], `${cables.join("\n")}\n`);
    await must(lab, gateway, ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.ip_forward=0"]);
    const up = ["wan0", "lan0"].flatMap((link) =>
      ["", "br-", "tap-"].map((kind) => `link set ${kind}${link} up`),
    );
    await must(lab, gateway, ["ip", "-batch", "-"], `${up.join("\n")}\n`);
    serveDhcp(router);
    return new Guest(lab, architecture, image);
  }

  /** Milliseconds since power came on. */
  get age(): number {
    return performance.now() - this.startedAt;
  }

  get console(): string {
    const file = this.consoleFile;
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** `clock` is what a machine without a clock battery believes, in milliseconds since 1970; its own otherwise. */
  powerOn(clock?: number): void {
    this.boots += 1;
    this.startedAt = performance.now();
    const { qemu, console } = this.architecture;
    const { kernel, initrd, disk } = this.image;
    const card = (link: string, number: number) => [
      ...["-netdev", `tap,id=${link},ifname=tap-${link},script=no,downscript=no`],
      ...["-device", `virtio-net-pci,netdev=${link},mac=52:54:00:00:00:0${number},romfile=`],
    ];
    const machine = [
      ...qemu,
      ...["-accel", "tcg,thread=multi,tb-size=512", "-m", `${MEMORY_MIB}`, "-smp", "1"],
      ...["-nodefaults", "-display", "none", "-no-reboot", "-serial", `file:${this.consoleFile}`],
      ...(clock === undefined ? [] : ["-rtc", `base=${new Date(clock).toISOString().slice(0, 19)}`]),
      ...["-kernel", kernel, "-initrd", initrd],
      ...[
        "-append",
        `root=/dev/vda rw console=${console} net.ifnames=0 quiet systemd.show_status=1 ${MASKED}`,
      ],
      ...[
        "-drive",
        `file=${disk},format=raw,if=none,id=disk,cache=unsafe`,
        "-device",
        "virtio-blk-pci,drive=disk",
      ],
      ...card("wan0", 1),
      ...card("lan0", 2),
    ];
    this.child = Bun.spawn(
      ["nice", "-n", "15", "ip", "netns", "exec", this.lab.namespaces.gateway, ...machine],
      {
        stdin: "ignore",
        stdout: "inherit",
        stderr: "inherit",
      },
    );
  }

  /** Pulls the plug. */
  async powerOff(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
  }

  /** Returns once the machine has shut itself down. */
  async ended(): Promise<void> {
    await this.child?.exited;
  }

  /** Runs a shell line as root, over SSH from the LAN, and returns what it printed. Throws where it fails. */
  async shell(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.ssh(line);
    if (code !== 0) throw new Error(`${line}: exit ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  ssh(line: string) {
    const { client } = this.lab.namespaces;
    const options = [
      ...["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=30"],
      // One session for all, which therefore must outlive what is done to the machine.
      ...["ControlMaster=auto", `ControlPath=${this.image.folder}/ssh-${this.boots}`, "ControlPersist=yes"],
      "ServerAliveInterval=60",
    ].flatMap((option) => ["-o", option]);
    return this.lab.exec(client, ["ssh", "-i", this.image.key, ...options, `root@${LAN.gateway4}`, line]);
  }

  /** Returns once `probe`, called again and again, says so; the milliseconds since power came on. */
  async until(what: string, probe: () => Promise<boolean>): Promise<number> {
    const deadline = performance.now() + BOOT_MS;
    while (!(await probe())) {
      if (performance.now() > deadline || this.child?.exitCode !== null) {
        throw new Error(`${what} did not come:\n${this.console.slice(-3000)}`);
      }
      await Bun.sleep(100);
    }
    return this.age;
  }

  private get consoleFile(): string {
    return join(this.image.folder, `console-${this.boots}.log`);
  }
}

/** The home router gives its one free address. The lab ends the program with the namespace. */
function serveDhcp(router: string): void {
  const { v4 } = ROUTER.lan[2];
  const options = [
    ...["--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=lan0", "--bind-interfaces"],
    ...[`--dhcp-range=${UPLINK.gateway4},${UPLINK.gateway4},255.255.255.0,1h`, "--leasefile-ro"],
    ...[`--dhcp-option=3,${v4}`, `--dhcp-option=6,${v4}`, "--dhcp-authoritative"],
  ];
  Bun.spawn(["ip", "netns", "exec", router, "dnsmasq", ...options], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}

async function must(lab: Lab, namespace: string, argv: string[], stdin?: string): Promise<void> {
  const { code, stderr } = await lab.exec(namespace, argv, stdin);
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}
