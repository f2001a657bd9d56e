import { commandIn } from "../../../src/sandbox/namespace.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import type { Lab, Ran } from "../tools/lab.ts";
import { Phone } from "./phone.ts";

/** Of the mesh's own packets, as Tailscale marks them (util/linuxfw: bypass). */
const BYPASS = 0x80000;
/** Of what comes by the mesh and goes on (util/linuxfw: subnet route). */
const SUBNET = 0x40000;
const MASK = 0xff0000;
const TABLE = 52;
const PORT = 41_641;
/** As Tailscale has it: a packet fits into a tunnel in a tunnel. */
const MTU = 1_280;
/** Both ends know each other's place within this. */
const KEEPALIVE_SECONDS = 1;

export const MESH = {
  ...{ prefix4: "100.64.0.0/10", prefix6: "fd7a:115c:a1e0::/48" },
  ...{ gateway4: "100.64.0.1", gateway6: "fd7a:115c:a1e0::1" },
} as const;

/**
 * A mesh as Tailscale's sources make it (wgengine/router and util/linuxfw): an interface without Ethernet, with a single
 * address of each family; its rules, its table and its chains; and packets of its own with a mark. WireGuard is what it
 * is made of, and gives each peer its addresses only. The real one has not been tried here.
 */
export class Mesh {
  readonly link: string;
  readonly peers: readonly Peer[];
  private readonly keys = generateKeyPair();

  private constructor(
    private readonly lab: Lab,
    phones: readonly Phone[],
  ) {
    this.link = `${lab.sandbox.id}m`;
    this.peers = phones.map((phone) => new Peer(phone, this.keys.publicKey));
  }

  /** The gateway's machine is in a mesh with so many phones on the internet. */
  static async of(lab: Lab, count: number): Promise<Mesh> {
    const phones: Phone[] = [];
    for (let number = 1; number <= count; number += 1) phones.push(await Phone.away(lab, number));
    const mesh = new Mesh(lab, phones);
    for (const peer of mesh.peers) await peer.joins();
    await mesh.begin();
    return mesh;
  }

  /** As `tailscaled` starts. */
  async begin(): Promise<void> {
    await this.plug();
    await this.addChains();
    await this.addRules();
  }

  /** The interface, with its addresses and the routes to its peers. */
  async plug(): Promise<void> {
    const { link, peers } = this;
    await this.inside(["wireguard-go", link]);
    const allowed = peers.map(
      ({ publicKey, v4, v6, endpoint }) =>
        `[Peer]\nPublicKey = ${publicKey}\nAllowedIPs = ${v4}/32, ${v6}/128\nEndpoint = ${endpoint}\nPersistentKeepalive = ${KEEPALIVE_SECONDS}\n`,
    );
    const own = `[Interface]\nPrivateKey = ${this.keys.privateKey}\nListenPort = ${PORT}\nFwMark = ${BYPASS}\n`;
    await this.inside(["wg", "setconf", link, "/dev/stdin"], `${own}${allowed.join("")}`);
    await this.inside(
      ["ip", "-batch", "-"],
      [
        `address add ${MESH.gateway4}/32 dev ${link}`,
        `address add ${MESH.gateway6}/128 dev ${link}`,
        `link set ${link} mtu ${MTU} up`,
        ...["100.100.100.100", ...peers.flatMap(({ v4, v6 }) => [v4, v6])].map(
          (address) => `route replace ${address} dev ${link} table ${TABLE}`,
        ),
      ].join("\n"),
    );
  }

  async unplug(): Promise<void> {
    await this.inside(["ip", "link", "del", this.link]);
  }

  /** Another program, or the mesh itself as it ends, empties its table. */
  async flushTable(): Promise<void> {
    for (const family of ["-4", "-6"])
      await this.inside(["ip", family, "route", "flush", "table", `${TABLE}`]);
  }

  addRules(): Promise<void> {
    return this.changeRules("add");
  }

  async addChains(): Promise<void> {
    await this.inside(["nft", "-f", "-"], this.chains());
  }

  /** As the mesh ends: its chains go, too. */
  async removeRules(): Promise<void> {
    await this.changeRules("del");
    await this.inside(["nft", "-f", "-"], "delete table ip filter\ndelete table ip nat\n");
  }

  private async changeRules(how: "add" | "del"): Promise<void> {
    const mark = `fwmark 0x${BYPASS.toString(16)}/0x${MASK.toString(16)}`;
    const rules = [
      `priority 5210 ${mark} lookup main`,
      `priority 5230 ${mark} lookup default`,
      `priority 5250 ${mark} unreachable`,
      `priority 5270 lookup ${TABLE}`,
    ];
    for (const family of ["-4", "-6"])
      await this.inside(["ip", family, "-batch", "-"], rules.map((rule) => `rule ${how} ${rule}\n`).join(""));
  }

  inside(argv: readonly string[], stdin?: string): Promise<Ran> {
    return this.lab.exec(this.lab.namespaces.gateway, argv, stdin).then((ran) => {
      if (ran.code !== 0) throw new Error(`${argv.join(" ")}: ${ran.stderr}`);
      return ran;
    });
  }

  private chains(): string {
    const { link } = this;
    const others = ~MASK >>> 0;
    const isSubnet = `meta mark & ${MASK} == ${SUBNET}`;
    return `table ip filter {
  chain ts-input {
    iifname "lo" ip saddr ${MESH.gateway4} accept
    iifname != "${link}" ip saddr 100.115.92.0/23 return
    iifname != "${link}" ip saddr ${MESH.prefix4} drop
    iifname "${link}" accept
    udp dport ${PORT} accept
  }
  chain INPUT {
    type filter hook input priority filter; policy accept;
    jump ts-input
  }
  chain ts-forward {
    iifname "${link}" meta mark set meta mark & ${others} | ${SUBNET}
    ${isSubnet} accept
    oifname "${link}" ip saddr ${MESH.prefix4} drop
    oifname "${link}" accept
  }
  chain FORWARD {
    type filter hook forward priority filter; policy accept;
    jump ts-forward
  }
}
table ip nat {
  chain ts-postrouting {
    ${isSubnet} masquerade
  }
  chain POSTROUTING {
    type nat hook postrouting priority srcnat; policy accept;
    jump ts-postrouting
  }
}
`;
  }
}

/** A phone in the mesh, which uses the gateway as its way to everything. */
class Peer {
  readonly publicKey: string;
  readonly v4: string;
  readonly v6: string;
  private readonly privateKey: string;

  constructor(
    private readonly phone: Phone,
    private readonly gatewayKey: string,
  ) {
    const keys = generateKeyPair();
    [this.publicKey, this.privateKey] = [keys.publicKey, keys.privateKey];
    this.v4 = `100.64.0.${10 + phone.number}`;
    this.v6 = `fd7a:115c:a1e0::${10 + phone.number}`;
  }

  get namespace(): string {
    return this.phone.namespace;
  }

  get endpoint(): string {
    return `${this.phone.v4}:${PORT}`;
  }

  /** It waits for the gateway, which is behind a NAT. */
  joins(): Promise<void> {
    return this.phone.takes(
      `[Interface]\nPrivateKey = ${this.privateKey}\nListenPort = ${PORT}\nAddress = ${this.v4}/32, ${this.v6}/128\nMTU = ${MTU}\n` +
        `[Peer]\nPublicKey = ${this.gatewayKey}\nAllowedIPs = 0.0.0.0/0, ::/0\n`,
    );
  }

  seenAs(): Promise<string | null> {
    return this.phone.seenAs();
  }

  run(argv: readonly string[]): Promise<Ran> {
    return this.phone.run(argv);
  }

  /** Datagrams to the internet, one after the other, until it is stopped. */
  sends(address: string): Bun.Subprocess {
    return Bun.spawn(commandIn(this.namespace, ["ping", "-q", "-i", "0.05", address]), { stdout: "ignore" });
  }
}
