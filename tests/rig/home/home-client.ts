import { closeSync, existsSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import {
  CLIENT_ENVIRONMENT,
  CLIENT_KINDS,
  type ClientKind,
  clientScript,
  UNPACKED,
  writeClientFiles,
} from "../tools/client-programs.ts";
import type { Lab } from "../tools/lab.ts";

/** NetworkManager acts on a lost carrier after 6 s (`carrier-wait-timeout`). */
const DISCONNECTED_MS = 12_000;

/** A mount namespace, a host name, and a process namespace whose processes all end with the first. */
export const OWN = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"];

/** A computer at home that gets its addresses, routes and resolvers from the network. */
export class HomeClient {
  readonly namespace: string;
  readonly mac: string;
  /** As it tells the DHCP server. */
  readonly name: string;
  private child: Bun.Subprocess | null = null;

  private constructor(
    private readonly lab: Lab,
    readonly kind: ClientKind,
  ) {
    const number = CLIENT_KINDS.indexOf(kind) + 1;
    this.namespace = `${lab.sandbox.id}-c${number}`;
    this.name = `${kind.toLowerCase()}-computer`;
    this.mac = `02:00:00:00:20:0${number}`;
  }

  /** Connects it to a switch of the lab's; it runs nothing yet, and is gone with the lab. */
  static async plugIn(lab: Lab, kind: ClientKind, bridge: "switch" | "home"): Promise<HomeClient> {
    if (!existsSync(UNPACKED)) throw new Error(`there is no ${UNPACKED}: scripts/test makes it`);
    const client = new HomeClient(lab, kind);
    const { namespace, mac, port } = client;
    await batch(lab, [], [`netns add ${namespace}`]);
    await batch(
      lab,
      ["-n", lab.namespaces.switch],
      [
        `link add ${port} type veth peer lan0 netns ${namespace} address ${mac}`,
        `link set dev ${port} master ${bridge} up`,
      ],
    );
    // As on a computer: the namespace of a router may have passed on other settings.
    const settings = ["forwarding=0", "accept_ra=1", "accept_ra_rtr_pref=1", "disable_ipv6=0"];
    const all = settings.flatMap((each) => [`net.ipv6.conf.all.${each}`, `net.ipv6.conf.lan0.${each}`]);
    await lab.exec(namespace, ["sysctl", "-qw", "net.ipv4.ip_forward=0", ...all]);
    await batch(lab, ["-n", namespace], ["link set lo up"]);
    writeClientFiles(client.files, client.name);
    return client;
  }

  /** Turns it on. */
  start(): void {
    const log = openSync(join(this.files, "log"), "a", 0o600);
    const { name, files } = this;
    const script = clientScript(this.kind, { name, files, machine: readlinkSync("/proc/self/ns/mnt") });
    this.child = Bun.spawn(["ip", "netns", "exec", this.namespace, ...OWN, "sh", "-c", script], {
      env: { ...process.env, ...CLIENT_ENVIRONMENT },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
  }

  /** Turns it off: of its network nothing is left. */
  async stop(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
    await batch(this.lab, ["-n", this.namespace], ["link set lan0 down", "address flush dev lan0"]);
  }

  /** Connects it again, so that it asks for its lease again. dhclient knows nothing of cables and is restarted. */
  async reconnect(): Promise<void> {
    if (this.kind === "dhclient") {
      await this.stop();
      return this.start();
    }
    await this.cable("down");
    await Bun.sleep(DISCONNECTED_MS);
    await this.cable("up");
  }

  async addresses(): Promise<string[]> {
    const { stdout } = await this.exec("ip", "-j", "address", "show", "dev", "lan0");
    const [{ addr_info = [] } = {}] = JSON.parse(stdout || "[]");
    return addr_info.map(({ local }: { local: string }) => local);
  }

  /** What its programs have been told to use as resolvers. */
  resolvers(): string[] {
    const path =
      this.kind === "systemd-networkd"
        ? `/proc/${this.child?.pid}/root/run/systemd/netif/state`
        : join(this.files, "etc/resolv.conf");
    const text = readFileSync(path, "utf8");
    const lists = text.matchAll(/^(?:nameserver |DNS=)(.*)$/gm);
    return [...lists].flatMap(([, list = ""]) => list.split(" ")).filter((word) => word !== "");
  }

  exec(...argv: string[]) {
    return this.lab.exec(this.namespace, argv);
  }

  private async cable(state: "down" | "up"): Promise<void> {
    await this.lab.exec(this.lab.namespaces.switch, ["ip", "link", "set", "dev", this.port, state]);
  }

  private get port(): string {
    return `c${this.namespace.at(-1)}`;
  }

  private get files(): string {
    return join(this.lab.sandbox.directory, this.kind);
  }
}

async function batch(lab: Lab, where: readonly string[], lines: readonly string[]): Promise<void> {
  const { stderr } = await lab.outside(["ip", ...where, "-batch", "-"], `${lines.join("\n")}\n`);
  if (stderr !== "") throw new Error(stderr);
}
