import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTER, UPLINK, VPN, VPN_PORT } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";

/** What the provider's configuration carries. */
export type Families = "IPv4 and IPv6" | "IPv4 alone";

/** Numbers of the lab's VPN servers. */
export type ServerNumber = 0 | 1;

const SERVERS = [0, 1] as const;
const FAMILIES: readonly Families[] = ["IPv4 and IPv6", "IPv4 alone"];

/** The machine that a gateway is made of: its names and addresses, files for `wg-quick`, and a shell of root's. */
export class Place {
  constructor(readonly lab: Lab) {}

  /** Each gateway's tunnel has this name; sockets of WireGuard need one that is unique on this machine. */
  private get tunnel(): string {
    return `${this.lab.sandbox.interface}0`;
  }

  /** Files here stand above the machine's own /etc, one name deep, in commands that begin later. */
  private get etc(): string {
    return join("/etc/netns", this.lab.namespaces.gateway);
  }

  /** Of the managed account, at each server. */
  writeConfigs(hooks: readonly string[]): void {
    for (const server of SERVERS)
      for (const families of FAMILIES) {
        const path = this.configFile(server, families);
        mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
        writeFileSync(path, this.configText(server, families, hooks), { mode: 0o600 });
      }
  }

  /** Throws with what it says if it fails. */
  async run(script: string, server: ServerNumber = 0, families: Families = "IPv4 and IPv6"): Promise<void> {
    const argv = this.lab.sandbox.onGateway(this.commandFor(script, server, families));
    await this.succeeds(argv);
  }

  /** On the machine that judges. */
  async runHere(
    script: string,
    server: ServerNumber = 0,
    families: Families = "IPv4 and IPv6",
  ): Promise<void> {
    await this.succeeds(this.commandFor(script, server, families));
  }

  private commandFor(script: string, server: ServerNumber, families: Families): string[] {
    const variables = Object.entries(this.environment(server, families)).map(
      ([name, value]) => `${name}=${value}`,
    );
    return ["env", ...variables, "sh", "-ec", script];
  }

  private async succeeds(argv: readonly string[]): Promise<void> {
    const { code, stderr } = await this.lab.outside(argv);
    if (code !== 0) throw new Error(`${argv.at(-1)}: ${stderr}`);
  }

  private environment(server: ServerNumber, families: Families) {
    const { lan, uplink, servers } = this.lab.sandbox;
    const router = ROUTER.lan[2];
    return {
      LAN: lan,
      UPLINK: uplink,
      OWN4: UPLINK.gateway4,
      OWN6: UPLINK.gateway6,
      ROUTER4: router.v4,
      ROUTER6: router.v6,
      TUNNEL: this.tunnel,
      CONFIG: this.configFile(server, families),
      SERVER: servers[server].ipv4,
      SERVERS: `${VPN.vpn1.v4},${VPN.vpn2.v4}`,
      PORT: VPN_PORT,
      ETC: this.etc,
      WG_QUICK_USERSPACE_IMPLEMENTATION: "wireguard-go",
    };
  }

  /** `wg-quick` names the link after the file. */
  configFile(server: ServerNumber, families: Families): string {
    const folder = `server-${server}-${families.replaceAll(" ", "-")}`;
    return join(this.lab.sandbox.directory, folder, `${this.tunnel}.conf`);
  }

  private configText(server: ServerNumber, families: Families, hooks: readonly string[]): string {
    const { publicKey, managed, ipv4, port } = this.lab.sandbox.servers[server];
    const [v4, v6] = managed.address.split(",");
    const isBoth = families === "IPv4 and IPv6";
    return [
      "[Interface]",
      `PrivateKey = ${managed.privateKey}`,
      `Address = ${isBoth ? `${v4}, ${v6}` : v4}`,
      ...hooks,
      "[Peer]",
      `PublicKey = ${publicKey}`,
      `AllowedIPs = ${isBoth ? "0.0.0.0/0, ::/0" : "0.0.0.0/0"}`,
      `Endpoint = ${ipv4}:${port}`,
      "",
    ].join("\n");
  }
}
