import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPILED } from "../base/compiled.ts";
import type { Host, Watch } from "../system/host.ts";
import { LinuxHost } from "../system/linux.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import { addressesOf, greeting, LOOPBACK_UP, vpnTunnel } from "./addresses.ts";
import { cableText, type Home, linksOf } from "./cables.ts";
import { type SandboxFiles, writeFiles } from "./files.ts";
import { commandIn, machineIn } from "./namespace.ts";
import { routerRules, vpnRules } from "./nat.ts";
import { makeServers, serverConfig, type VpnServer } from "./server.ts";
import { claimId, remove, sweep } from "./sweep.ts";
import {
  type Computer,
  computersOf,
  INTERNET,
  LAN,
  type Namespaces,
  type NetworkCards,
  namespacesOf,
  ROUTER,
} from "./topology.ts";

/** Starting the program takes 0.1 to 0.4 s; a Pi under load takes twenty times that. */
const INTERNET_START_MS = 30_000;

/** The kernel checks once a second; under load it takes longer. */
const CARRIER_MS = 15_000;

export interface SandboxOptions {
  cards: NetworkCards;
  /** Computers at home; 1 unless given. With 3 there is a phone on the internet, too. */
  computers?: 1 | 3;
  /** What starts the sandbox's internet, unless it is this program. */
  program?: readonly string[];
}

/** A home with a gateway, two VPN servers and an internet, in network namespaces of their own. */
export class Sandbox {
  readonly namespaces: Namespaces;
  readonly computers: readonly Computer[];
  /** The namespace of the phone on the internet, if there is one. */
  readonly phone: string | null;
  /** Base name of the gateway's tunnel; unique, because all WireGuard sockets of a machine share one folder. */
  readonly interface: string;
  readonly lan = "lan0";
  readonly uplink: "lan0" | "wan0";
  readonly servers: readonly [VpnServer, VpnServer];
  /** The servers' ends of the tunnels, by namespace. */
  readonly serverInterfaces: { readonly vpn1: string; readonly vpn2: string };
  readonly managedAddress: string;
  readonly managedDns: string;
  readonly directory: string;
  readonly files: SandboxFiles;
  private internet: Watch | null = null;

  private constructor(
    readonly id: string,
    readonly cards: NetworkCards,
    computers: 1 | 3,
    private readonly program: readonly string[],
    private readonly host: Host,
  ) {
    this.namespaces = namespacesOf(id);
    this.computers = computersOf(id, computers);
    this.phone = computers === 1 ? null : `${id}-phone`;
    this.interface = `${id}g`;
    this.uplink = cards === 1 ? "lan0" : "wan0";
    this.serverInterfaces = { vpn1: `${id}v1`, vpn2: `${id}v2` };
    const account = generateKeyPair();
    this.servers = makeServers(account);
    this.managedAddress = this.servers[0].managed.address;
    this.managedDns = this.servers[0].managed.dns;
    this.directory = mkdtempSync(join(tmpdir(), `${id}-`));
    this.files = writeFiles(this.directory, this.servers, account.privateKey, this.phone);
  }

  static async create({ cards, computers = 1, program = selfCommand() }: SandboxOptions): Promise<Sandbox> {
    const host = new LinuxHost();
    await sweep(host);
    const sandbox = new Sandbox(claimId(), cards, computers, program, host);
    try {
      await sandbox.build();
      return sandbox;
    } catch (error) {
      await sandbox.close();
      throw error;
    }
  }

  /** A command on the gateway, as that machine starts it. */
  onGateway(argv: readonly string[]): string[] {
    return machineIn(this.namespaces.gateway, argv);
  }

  /** The settings with which `serve` is the sandbox's gateway; its port is for this machine's loopback, by a relay. */
  gatewayFlags(port: number): string[] {
    return [
      ...["--port", `${port}`, "--host", "127.0.0.1"],
      ...["--state-dir", join(this.directory, "state"), "--interface", this.interface],
      ...["--lan", this.lan, "--uplink", this.uplink],
      ...["--managed-list", this.files.managedList, "--managed-key-file", this.files.managedKey],
      ...["--managed-address", this.managedAddress, "--managed-dns", this.managedDns],
    ];
  }

  /** Removes everything; may be called twice. */
  async close(): Promise<void> {
    this.internet?.stop();
    this.internet = null;
    await remove(this.host, this.id);
  }

  private async build(): Promise<void> {
    const { namespaces: ns, cards, computers, phone } = this;
    const own = [...computers.map(({ namespace }) => namespace), ...(phone === null ? [] : [phone])];
    const all = new Set([...Object.values(ns), ...own]);
    this.writeResolvers();
    await this.batch([...all].map((name) => `netns add ${name}\n`).join(""));
    await Promise.all([
      ...sysctlsOf(this).map(([name, settings]) => this.inside(name, ["sysctl", "-qw", ...settings])),
      this.batch(LOOPBACK_UP, ns.internet),
    ]);
    // Starts first because it takes longest. Its namespace lets it listen on addresses that do not exist yet.
    const internet = this.startInternet([...this.program, "sandbox-internet"]);
    // Awaited below, because until then another step may fail first.
    internet.catch(() => {});
    await this.batch(cableText(this));
    await Promise.all([
      ...addressesOf(this).map(([name, text]) => this.batch(text, name)),
      this.inside(ns.router, ["nft", "-f", "-"], routerRules(cards, phone !== null)),
    ]);
    await Promise.all([
      ...[...linksOf(this)].map(([name, links]) => this.awaitCarriers(name, links)),
      this.startServer(ns.vpn1, this.serverInterfaces.vpn1, ...this.servers),
      this.startServer(ns.vpn2, this.serverInterfaces.vpn2, this.servers[1], this.servers[0]),
      internet,
    ]);
    // The computers have used the LAN, as in a real home.
    if (computers.length > 1)
      await Promise.all(computers.map(({ namespace }) => this.batch(greeting(), namespace)));
  }

  /**
   * The kernel may take a second to notice that a cable now has two ends, and drops packets until then. Reading the
   * carrier makes it check at once (Linux 6.7).
   */
  private async awaitCarriers(namespace: string, links: readonly string[]): Promise<void> {
    const files = ["carrier", "operstate"].flatMap((file) =>
      links.map((link) => `/sys/class/net/${link}/${file}`),
    );
    const ready = `${"1\n".repeat(links.length)}${"up\n".repeat(links.length)}`;
    const deadline = this.host.monotonic() + CARRIER_MS;
    while ((await this.inside(namespace, ["cat", ...files])) !== ready) {
      if (this.host.monotonic() > deadline) throw new Error(`no carrier in ${namespace}`);
      await this.host.sleep(20);
    }
  }

  private async startServer(
    namespace: string,
    link: string,
    server: VpnServer,
    other: VpnServer,
  ): Promise<void> {
    // If the kernel has no WireGuard, use wireguard-go.
    await this.host
      .run(["ip", "-n", namespace, "link", "add", link, "type", "wireguard"])
      .catch(() => this.inside(namespace, ["wireguard-go", link]));
    await Promise.all([
      this.inside(namespace, ["wg", "setconf", link, "/dev/stdin"], serverConfig(server)),
      this.inside(namespace, ["nft", "-f", "-"], vpnRules(link, server, other)),
      this.batch(vpnTunnel(link), namespace),
    ]);
  }

  private async startInternet(command: readonly string[]): Promise<void> {
    const ready = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => ready.reject(new Error("the sandbox's internet did not start in time")),
      INTERNET_START_MS,
    );
    this.internet = this.host.watch(
      commandIn(this.namespaces.internet, command),
      (line) => line === "ready" && ready.resolve(),
      () => ready.reject(new Error("the sandbox's internet ended")),
    );
    await ready.promise.finally(() => clearTimeout(timer));
  }

  /** The files that `machineIn` mounts as /etc/resolv.conf, as DHCP would have written them. */
  private writeResolvers(): void {
    const resolvers: [namespace: string, resolver: string][] = [
      ...this.computers.map(({ namespace }): [string, string] => [namespace, LAN.gateway4]),
      [this.namespaces.gateway, ROUTER.lan[this.cards].v4],
      ...(this.phone === null ? [] : [[this.phone, INTERNET.dns4] satisfies [string, string]]),
    ];
    for (const [namespace, resolver] of resolvers) {
      const folder = join("/etc/netns", namespace);
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      writeFileSync(join(folder, "resolv.conf"), `nameserver ${resolver}\n`, { mode: 0o644 });
    }
  }

  private batch(text: string, namespace?: string): Promise<string> {
    const where = namespace === undefined ? [] : ["-n", namespace];
    return this.host.run(["ip", ...where, "-batch", "-"], { stdin: text });
  }

  private inside(namespace: string, argv: readonly string[], stdin?: string): Promise<string> {
    const command = commandIn(namespace, argv);
    return this.host.run(command, stdin === undefined ? {} : { stdin });
  }
}

/** The command that starts this program, also when it runs from source in a test. */
function selfCommand(): readonly string[] {
  return COMPILED ? [process.execPath] : [process.execPath, join(import.meta.dir, "../main.ts")];
}

/** Sysctls that are set before the links exist, so that links start with them. */
function sysctlsOf({ namespaces: ns, computers, phone }: Home): [namespace: string, settings: string[]][] {
  // Duplicate address detection keeps an IPv6 address unusable for its first second.
  const quick = "net.ipv6.conf.default.accept_dad=0";
  const forward = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"];
  return [
    ...[...computers.map(({ namespace }) => namespace), ...(phone === null ? [] : [phone])].map(
      (namespace): [string, string[]] => [namespace, [quick]],
    ),
    [ns.gateway, [quick, ...forward]],
    [ns.router, [quick, ...forward]],
    [ns.internet, [quick, "net.ipv4.ip_nonlocal_bind=1", "net.ipv6.ip_nonlocal_bind=1"]],
    [ns.vpn1, [quick, ...forward]],
    [ns.vpn2, [quick, ...forward]],
    [ns.switch, ["net.ipv6.conf.default.disable_ipv6=1"]],
  ];
}
