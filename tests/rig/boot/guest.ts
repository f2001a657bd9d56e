import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { LAN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { processorMs } from "../tools/processor-time.ts";
import { until } from "../tools/until.ts";
import { containedMachine, containedMs, cutPower, diskIsFree, firstProcess } from "./contained.ts";
import { type Architecture, type Image, run } from "./image.ts";
import type { Variant } from "./variant.ts";

/** An emulated machine takes one minute to boot, and half an hour where much else runs. */
const BOOT_MS = 45 * 60_000;
/** Each probe costs time on the processors that emulate the machine. */
const PROBE_EVERY_MS = 500;
const MEMORY_MIB = 1024;
export const CARD_MAC = { eth0: "52:54:00:00:00:01", eth1: "52:54:00:00:00:02" };
/** A cable of the lab's, in its namespace of the gateway. */
export type Cable = "lan0" | "wan0";
/** At which cable each of the machine's cards is. */
const CABLES: Record<Variant["cables"], readonly Cable[]> = { 1: ["lan0"], 2: ["wan0", "lan0"] };

/** A whole machine in place of the lab's gateway: its network cards are the gateway's cables. */
export class Guest {
  /** On the LAN. */
  address: string = LAN.gateway4;
  /** The namespace of the device that a person uses. */
  seat: string;
  private child: Bun.Subprocess | null = null;
  private boots = 0;
  private startedAt = 0;

  private constructor(
    private readonly lab: Lab,
    /** Null for a card that is not plugged in. */
    private cables: readonly (Cable | null)[],
    private readonly architecture: Architecture,
    private readonly image: Image,
  ) {
    this.seat = lab.namespaces.client;
  }

  static async create(
    lab: Lab,
    cables: Variant["cables"],
    architecture: Architecture,
    image: Image,
  ): Promise<Guest> {
    const { gateway } = lab.namespaces;
    const links = CABLES[cables];
    // The namespace only holds cables now: it has no address, and sends nothing of its own.
    const bridges = links.flatMap((link) => [
      `addr flush dev ${link}`,
      `link add br-${link} type bridge mcast_snooping 0`,
      `link set ${link} master br-${link}`,
    ]);
    // A machine that is contained brings its end of a cable with it.
    const sockets =
      image.starts === "contained"
        ? []
        : links.flatMap((link, number) => [
            `tuntap add tap-eth${number} mode tap`,
            `link set tap-eth${number} master br-${link}`,
            `link set tap-eth${number} up`,
          ]);
    await must(lab, gateway, ["ip", "-batch", "-"], `${[...bridges, ...sockets].join("\n")}\n`);
    await must(lab, gateway, ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv4.ip_forward=0"]);
    const up = links.flatMap((link) => ["", "br-"].map((kind) => `link set ${kind}${link} up`));
    await must(lab, gateway, ["ip", "-batch", "-"], `${up.join("\n")}\n`);
    return new Guest(lab, links, architecture, image);
  }

  /** Milliseconds since power came on, without those in which the disk was copied. */
  get age(): number {
    return performance.now() - this.startedAt;
  }

  /** What emulating it has cost since power came on, in milliseconds: unlike its age, a busy machine does not change it. */
  get work(): number {
    if (this.child === null) return 0;
    return (this.isContained ? containedMs : processorMs)(this.child.pid);
  }

  get console(): string {
    const file = this.consoleFile;
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /**
   * `clock` is what a machine without a clock battery believes, in milliseconds since 1970; its own otherwise. `credentials`
   * are systemd's, which come by the firmware or its options, so that nothing on the disk has to be another one
   * (systemd.system-credentials(7)). A machine that is contained may have been on for some minutes already.
   */
  powerOn(clock?: number, credentials: Record<string, string> = {}, age_min = 0): void {
    this.boots += 1;
    this.startedAt = performance.now();
    const machine = this.isContained
      ? this.contained(credentials, age_min)
      : this.emulated(clock, credentials);
    this.child = Bun.spawn(["ip", "netns", "exec", this.lab.namespaces.gateway, ...machine], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    });
    if (this.isContained) this.plugIn(this.child.pid);
  }

  /** Pulls the plug. */
  async powerOff(): Promise<void> {
    if (this.isContained && this.child !== null) await cutPower(this.child.pid);
    this.child?.kill("SIGKILL");
    await this.ended();
  }

  /** Pulls the cables. */
  pull(): Promise<void> {
    return this.set("down");
  }

  plug(): Promise<void> {
    return this.set("up");
  }

  /** From now on each card is at this cable. QEMU has no card that is not plugged in. */
  async wire(...cables: (Cable | null)[]): Promise<void> {
    this.cables = cables;
    // A machine that is contained takes its ends with it.
    const isOff = this.child === null || (this.child.exitCode ?? this.child.signalCode) !== null;
    if (isOff && this.isContained) return;
    const lines = cables.map((cable, number) => `link set tap-eth${number} ${stateOf(cable)}\n`);
    await must(this.lab, this.lab.namespaces.gateway, ["ip", "-batch", "-"], lines.join(""));
  }

  private async set(state: "up" | "down"): Promise<void> {
    // A card of QEMU's has its carrier from QEMU, whatever becomes of the other end.
    if (!this.isContained) {
      for (const [number] of this.cables.entries())
        await this.monitor(`set_link eth${number} ${state === "up" ? "on" : "off"}`);
      return;
    }
    const lines = this.cables.map((_, number) => `link set tap-eth${number} ${state}\n`);
    await must(this.lab, this.lab.namespaces.gateway, ["ip", "-batch", "-"], lines.join(""));
  }

  /** Has QEMU obey a line, which it answers with its next prompt. */
  private async monitor(line: string): Promise<void> {
    await until(() => existsSync(this.monitorFile));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect(this.monitorFile, () => socket.write(`${line}\n`));
    let text = "";
    socket.on("error", reject);
    socket.on("data", (part) => {
      text += part;
      if (text.split("(qemu) ").length > 2) resolve();
    });
    await promise;
    socket.destroy();
  }

  /** When the disk was last written to, in milliseconds since 1970. A copy of it says the same. */
  get writtenAt(): number {
    return statSync(this.image.disk).mtimeMs;
  }

  /** Copies what the disk holds: the same as after a power cut at this moment. Meanwhile the machine stands still. */
  async keepDisk(path: string): Promise<void> {
    const copy = ["cp", "--preserve=timestamps", this.image.disk, path];
    if (this.isContained) return run([...copy, "--reflink=always"]);
    const stoppedAt = performance.now();
    this.child?.kill("SIGSTOP");
    await run([...copy, "--sparse=always"]);
    this.child?.kill("SIGCONT");
    this.startedAt += performance.now() - stoppedAt;
  }

  /** Returns once the machine has shut itself down. */
  async ended(): Promise<void> {
    await this.child?.exited;
    if (this.isContained) await diskIsFree(this.image.disk);
  }

  /** Runs a shell line as root, over SSH from the LAN, and returns what it printed. Throws where it fails. */
  async shell(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.ssh(line);
    if (code !== 0) throw new Error(`${line}: exit ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  ssh(line: string) {
    const options = [
      ...["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=30"],
      // One session for all, which therefore must outlive what is done to the machine.
      ...[
        "ControlMaster=auto",
        `ControlPath=${this.image.folder}/ssh-${this.boots}-${this.address}`,
        "ControlPersist=yes",
      ],
      "ServerAliveInterval=60",
    ].flatMap((option) => ["-o", option]);
    return this.lab.exec(this.seat, ["ssh", "-i", this.image.key, ...options, `root@${this.address}`, line]);
  }

  /** Returns once `probe`, called again and again, says so; the milliseconds since power came on. */
  async until(what: string, probe: () => Promise<boolean>, everyMs = PROBE_EVERY_MS): Promise<number> {
    const deadline = performance.now() + BOOT_MS;
    while (!(await probe())) {
      const ended = this.child?.exitCode ?? this.child?.signalCode ?? null;
      if (performance.now() > deadline || ended !== null) {
        throw new Error(`${what} did not come:\n${this.console.slice(-3000)}`);
      }
      await Bun.sleep(everyMs);
    }
    return this.age;
  }

  /** What a contained machine that is on has at a path. */
  has(path: string): boolean {
    const first = this.child === null ? null : firstProcess(this.child.pid);
    return first !== null && existsSync(`/proc/${first}/root${path}`);
  }

  private get isContained(): boolean {
    return this.image.starts === "contained";
  }

  private emulated(clock: number | undefined, credentials: Record<string, string>): string[] {
    const { qemu, accelerators } = this.architecture;
    const { disk } = this.image;
    const cards = Object.entries(CARD_MAC)
      .slice(0, this.cables.length)
      .flatMap(([name, mac]) => [
        ...["-netdev", `tap,id=${name},ifname=tap-${name},script=no,downscript=no`],
        ...["-device", `virtio-net-pci,netdev=${name},mac=${mac},romfile=`],
      ]);
    return [
      ...qemu,
      // QEMU takes the first that starts.
      ...accelerators.flatMap((accelerator) => ["-accel", accelerator]),
      ...["-m", `${MEMORY_MIB}`, "-smp", "1"],
      ...["-nodefaults", "-display", "none", "-no-reboot", "-serial", `file:${this.consoleFile}`],
      ...["-monitor", `unix:${this.monitorFile},server=on,wait=off`],
      ...(clock === undefined ? [] : ["-rtc", `base=${new Date(clock).toISOString().slice(0, 19)}`]),
      ...this.start(credentials),
      ...[
        "-drive",
        `file=${disk},format=raw,if=none,id=disk,cache=unsafe`,
        "-device",
        "virtio-blk-pci,drive=disk",
      ],
      ...cards,
    ];
  }

  private start(credentials: Record<string, string>): string[] {
    const { starts } = this.image;
    if (starts === "contained") return [];
    const given = Object.entries(credentials).map(([name, text]) => [name, btoa(text)]);
    // Without a second pflash, the firmware's variables are as new at each start.
    if ("firmware" in starts)
      return [
        ...["-drive", `if=pflash,format=raw,unit=0,readonly=on,file=${starts.firmware}`],
        ...given.flatMap(([name, text]) => [
          "-smbios",
          `type=11,value=io.systemd.credential.binary:${name}=${text}`,
        ]),
      ];
    const options = [
      ...[starts.options, `console=${this.architecture.console}`],
      ...given.map(([name, text]) => `systemd.set_credential_binary=${name}:${text}`),
    ];
    return ["-kernel", starts.kernel, "-initrd", starts.initrd, "-append", options.join(" ")];
  }

  private contained(credentials: Record<string, string>, age_min: number): string[] {
    const folder = join(this.image.folder, `credentials-${this.boots}`);
    mkdirSync(folder);
    for (const [name, text] of Object.entries(credentials)) writeFileSync(join(folder, name), text);
    const names = Object.keys(CARD_MAC).slice(0, this.cables.length);
    return containedMachine(this.image.disk, names, folder, age_min);
  }

  /** Gives the namespace of a process the other ends of the cables. */
  private plugIn(pid: number): void {
    const apart = `until [ "$(readlink /proc/${pid}/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done`;
    const cables = Object.entries(CARD_MAC).slice(0, this.cables.length);
    const plugs = cables.flatMap(([name, mac], number) => [
      // The kernel takes its time to end the namespace of the machine before.
      `ip link del tap-${name} 2>/dev/null || true`,
      `ip link add tap-${name} type veth peer name ${name} address ${mac} netns ${pid}`,
      `ip link set tap-${name} ${stateOf(this.cables[number] ?? null)}`,
    ]);
    const { gateway } = this.lab.namespaces;
    const { success, stderr } = Bun.spawnSync([
      "ip",
      "netns",
      "exec",
      gateway,
      "sh",
      "-ec",
      [apart, ...plugs].join("\n"),
    ]);
    if (!success) throw new Error(`no cable: ${stderr}`);
  }

  private get monitorFile(): string {
    return join(this.image.folder, `monitor-${this.boots}`);
  }

  private get consoleFile(): string {
    return join(this.image.folder, `console-${this.boots}.log`);
  }
}

/** For `ip link set`. */
function stateOf(cable: Cable | null): string {
  return cable === null ? "nomaster down" : `master br-${cable} up`;
}

async function must(lab: Lab, namespace: string, argv: string[], stdin?: string): Promise<void> {
  const { code, stderr } = await lab.exec(namespace, argv, stdin);
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}
