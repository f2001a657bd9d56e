import { addressOf, isLinkLocal } from "../../../src/base/address.ts";
import { parseMac } from "../../../src/base/mac.ts";
import { applyRules } from "../../../src/killswitch/kernel-rules.ts";
import {
  type AssignedDevice,
  blocked,
  type FirewallTunnel,
  MAIN,
  type Policy,
} from "../../../src/killswitch/policy.ts";
import { rulesFor } from "../../../src/killswitch/routing-rules.ts";
import { rulesetOf } from "../../../src/killswitch/ruleset.ts";
import { countersFor } from "../../../src/network/counters.ts";
import type { Lan } from "../../../src/network/lan.ts";
import {
  addressesFor,
  type Limited,
  limitingOf,
  limitsFor,
  loadLimits,
} from "../../../src/network/limits-table.ts";
import { LAN_TABLE, MAIN_SLOT, markOf, slotOf, tableOf } from "../../../src/network/slot.ts";
import { applySysctls, sysctlsFor, withoutSourceCheck } from "../../../src/network/sysctls.ts";
import { LinuxHost } from "../../../src/system/linux.ts";
import { cidrs, ip, ips } from "../../fake/address.ts";
import { assigned } from "../../killswitch/example.ts";
import { NamespaceHost } from "../../namespace-host.ts";
import { type Datagram, datagramFrame } from "../tools/packet.ts";
import { Sender } from "./packets-sender.ts";

/**
 * How a gateway treats its packets: by the product's rules, by the few rules of a router that does NAT, or by none.
 */
export type Kind = "portcullis" | "minimal" | "forwarding";

/**
 * How many interfaces it has, and how many devices with an exit of their own. The traffic is that of a device on the last
 * LAN: if it is assigned, in the last tunnel, otherwise in the first.
 */
export interface Size {
  lans: number;
  tunnels: number;
  devices: number;
}

/** Which device has a rate and a quota, both so high that nothing is dropped. */
export type WhoIsLimited = "nobody" | "the sender" | "another device";

export type Direction = "up" | "down";
export type Family = 4 | 6;

/** Debian with systemd sets it on each interface (50-default.conf). */
const RP_FILTER = 2;
const SERVER = { 4: "203.0.113.7", 6: "2001:db8:ffff::7" };
const SERVER_PORT = 9;
const FIRST_PORT = 10_000;
const OTHER_MAC = "06:00:00:00:00:ff";
const FREE = { bytesPerSecond: 1.25e9, quotaBytes: 1e13 };
const MAC = { home: "020000000001", lan: "020000000002", tunnel: "020000000003", far: "020000000004" };
/** WireGuard's smallest payload, an empty keepalive, and small packets in general. */
const PAYLOAD = "x".repeat(18);

/** A gateway between two namespaces, with a plain cable in place of each tunnel. All of it runs on one processor. */
export class PacketGateway {
  private constructor(
    private readonly kind: Kind,
    private readonly size: Size,
    private readonly limited: WhoIsLimited,
    private readonly names: { home: string; gateway: string; far: string },
  ) {}

  /** What had arrived when somebody asked last. */
  private readonly counted: Record<Direction, number> = { up: 0, down: 0 };

  private readonly senders: Partial<Record<Direction | "gateway", Sender>> = {};

  static async open(
    kind: Kind,
    size: Size,
    processor: number,
    limited: WhoIsLimited = "nobody",
  ): Promise<PacketGateway> {
    const id = `pcpk${process.pid}-${Math.floor(Math.random() * 1e9).toString(36)}`;
    const gateway = new PacketGateway(kind, size, limited, {
      home: `${id}h`,
      gateway: `${id}g`,
      far: `${id}f`,
    });
    try {
      await gateway.build();
      const { home, gateway: middle, far } = gateway.names;
      gateway.senders.up = await Sender.start(home, `home${size.lans - 1}`, processor);
      gateway.senders.down = await Sender.start(far, `far${gateway.exit}`, processor);
      gateway.senders.gateway = await Sender.start(middle, "lo", processor);
      return gateway;
    } catch (error) {
      await gateway.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const sender of Object.values(this.senders)) await sender.stop();
    for (const name of Object.values(this.names)) {
      await new LinuxHost().run(["ip", "netns", "del", name]).catch(() => "");
    }
  }

  /** Nanoseconds a packet, from the sender's system call to the far end of the other cable. */
  async send(direction: Direction, frames: readonly string[], times: number): Promise<number> {
    const ns = await this.senders[direction]?.order({ do: "send", frames, times });
    return (ns ?? Number.NaN) / (frames.length * times);
  }

  async forgetConnections(): Promise<void> {
    await this.senders.gateway?.order({ do: "forget connections" });
  }

  /** How many packets have arrived at the far end, with the addresses that they must have there. */
  async arrived(direction: Direction): Promise<number> {
    const host = new NamespaceHost(direction === "up" ? this.names.far : this.names.home);
    const listing = await host.run(["nft", "list", "counters"]);
    return Number(/counter arrived \{\s+packets (\d+)/.exec(listing)?.[1] ?? Number.NaN);
  }

  /** How many of them since the last call. */
  async newlyArrived(direction: Direction): Promise<number> {
    const before = this.counted[direction];
    this.counted[direction] = await this.arrived(direction);
    return this.counted[direction] - before;
  }

  /** One frame for each connection; the server answers each at the gateway's address in the tunnel. */
  frames(direction: Direction, family: Family, connections: readonly Connection[]): string[] {
    return connections.map(({ client, port }) => {
      const home = this.homeAddress(family, client);
      const outside = this.kind === "forwarding" ? home : tunnelAddress(this.exit, family);
      const up = { fromMac: MAC.home, toMac: MAC.lan, from: home, to: SERVER[family] };
      const down = { fromMac: MAC.far, toMac: MAC.tunnel, from: SERVER[family], to: outside };
      const ports = { sourcePort: port, targetPort: SERVER_PORT };
      const datagram: Datagram =
        direction === "up"
          ? { ...up, ...ports, payload: PAYLOAD }
          : { ...down, sourcePort: SERVER_PORT, targetPort: port, payload: PAYLOAD };
      return datagramFrame(datagram).toHex();
    });
  }

  /** The number of the tunnel that the traffic uses. */
  private get exit(): number {
    return this.size.devices === 0 ? 0 : this.size.tunnels - 1;
  }

  private homeAddress(family: Family, client: number): string {
    return clientAddress(this.size.lans - 1, family, client);
  }

  private async build(): Promise<void> {
    const machine = new LinuxHost();
    for (const name of Object.values(this.names)) await machine.run(["ip", "netns", "add", name]);
    const { home, gateway, far } = this.names;
    const [ofHome, own, ofFar] = [home, gateway, far].map((name) => new NamespaceHost(name)) as [
      NamespaceHost,
      NamespaceHost,
      NamespaceHost,
    ];
    const batch = (host: LinuxHost, lines: readonly string[]) =>
      host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
    await own.run(["sysctl", "-qw", `net.ipv4.conf.default.rp_filter=${RP_FILTER}`]);
    await batch(own, ["link set lo up", ...this.cables()]);
    await batch(
      ofHome,
      this.lans().map((_, number) => `link set home${number} up`),
    );
    await batch(
      ofFar,
      this.tunnels().map((_, number) => `link set far${number} up`),
    );
    await batch(own, this.addresses());
    await applySysctls(own, this.sysctls());
    await ofFar.run(["nft", "-f", "-"], { stdin: this.counting(`far${this.exit}`, "saddr", "up") });
    await ofHome.run(["nft", "-f", "-"], {
      stdin: this.counting(`home${this.size.lans - 1}`, "daddr", "down"),
    });
    if (this.kind === "portcullis") await this.protect(own);
    if (this.kind === "minimal") await own.run(["nft", "-f", "-"], { stdin: this.minimalRules() });
  }

  /** Those of each tunnel are the product's; a minimal gateway checks sources as Debian does. */
  private sysctls() {
    const all = sysctlsFor({ ...NETWORK, lans: this.lans() });
    if (this.kind !== "portcullis") return all.filter(({ path }) => !/rp_filter|accept_local/.test(path));
    return [...all, ...this.tunnels().flatMap((tunnel) => withoutSourceCheck(tunnel.interface))];
  }

  private cables(): string[] {
    const { home, far } = this.names;
    const cable = (here: string, hereMac: string, there: string, thereMac: string, where: string) =>
      `link add ${here} address ${colons(hereMac)} type veth peer name ${there} address ${colons(thereMac)} netns ${where}`;
    return [
      ...this.lans().map((lan, number) => cable(lan.interface, MAC.lan, `home${number}`, MAC.home, home)),
      ...this.tunnels().map((tunnel, number) =>
        cable(tunnel.interface, MAC.tunnel, `far${number}`, MAC.far, far),
      ),
      cable("up0", MAC.tunnel, "up0", MAC.far, far),
    ];
  }

  /** The product's tunnels have tables of their own; a minimal gateway has one default route. */
  private addresses(): string[] {
    const families = [4, 6] as const;
    const length = { 4: 24, 6: 64 };
    const last = this.size.lans - 1;
    return [
      ...this.lans().flatMap((lan, number) => [
        `link set ${lan.interface} up`,
        ...families.map(
          (family) =>
            `address add ${clientAddress(number, family, 0)}/${length[family]} dev ${lan.interface}${family === 6 ? " nodad" : ""}`,
        ),
      ]),
      ...families.map(
        (family) =>
          `neighbour add ${clientAddress(last, family, 1)} lladdr ${colons(MAC.home)} dev lan${last} nud permanent`,
      ),
      "link set up0 arp off up",
      "address add 192.168.99.2/24 dev up0",
      ...this.tunnels().flatMap((tunnel, number) => [
        `link set ${tunnel.interface} arp off up`,
        ...tunnel.addresses.map(
          (address) =>
            `address add ${address} dev ${tunnel.interface}${address.includes(":") ? " nodad" : ""}`,
        ),
        ...(this.kind === "portcullis" || number === this.exit
          ? ["0.0.0.0/0", "::/0"].map(
              (prefix) =>
                `route add ${prefix} dev ${tunnel.interface}${this.kind === "portcullis" ? ` table ${tableOf(number)}` : ""}`,
            )
          : []),
      ]),
      ...(this.kind === "portcullis"
        ? ["route add default via 192.168.99.1", ...this.lans().flatMap(lanRoutes)]
        : []),
    ];
  }

  /** As early as a packet can be seen, so that it costs the same on all sides. */
  private counting(link: string, field: "saddr" | "daddr", direction: Direction): string {
    const addresses = ([4, 6] as const).map((family) => {
      const outside =
        this.kind === "forwarding" ? this.homeAddress(family, 1) : tunnelAddress(this.exit, family);
      const address = direction === "up" ? outside : this.homeAddress(family, 1);
      const header = family === 4 ? "ip" : "ip6";
      // New connections come from many clients; without NAT nobody counts them.
      return `    ${header} ${field} ${address} counter name arrived drop`;
    });
    return `table netdev bench {\n  counter arrived {}\n  chain arrive {\n    type filter hook ingress device "${link}" priority 0;\n${addresses.join("\n")}\n  }\n}\n`;
  }

  private async protect(host: LinuxHost): Promise<void> {
    const policy = this.policy();
    await host.run(["nft", "-f", "-"], { stdin: rulesetOf(policy) });
    await host.run(["nft", "-f", "-"], {
      stdin: countersFor({
        ...{ lans: this.lans().map((lan) => lan.interface), remote: null, meshes: [], uplink: "up0" },
        networks: [],
      }),
    });
    await applyRules(host, rulesFor({ ...policy, ipv6: "on" }));
    if (this.limited !== "nobody") await this.limit(host);
  }

  private async limit(host: LinuxHost): Promise<void> {
    const isSender = this.limited === "the sender";
    const limited: Limited = {
      number: 10_000_000,
      mac: parseMac(isSender ? colons(MAC.home) : OTHER_MAC),
      addresses: isSender ? ips(this.homeAddress(4, 1), this.homeAddress(6, 1)) : [],
      rate: { down: FREE.bytesPerSecond, up: FREE.bytesPerSecond },
      isShared: false,
      quota: { name: "bench", bytes: FREE.quotaBytes, used: 0, atEnd: "blocked" },
    };
    const lans = this.lans().map((lan) => lan.interface);
    await loadLimits(host, limitsFor(limitingOf([limited], lans)) + addressesFor([limited]));
  }

  private policy(): Policy {
    const tunnels = this.tunnels();
    const own = this.lans().map((_, number) => clientAddress(number, 4, 0));
    const addresses = [...NETWORK.addresses, ...ips(...own)];
    return {
      ...blocked({ ...NETWORK, lans: this.lans(), addresses }),
      endpoints: tunnels,
      carrying: tunnels,
      devices: this.devices(tunnels),
    };
  }

  /** The one that sends, and others on all exits. */
  private devices(tunnels: readonly FirewallTunnel[]): AssignedDevice[] {
    return Array.from({ length: this.size.devices }, (_, number) => {
      const other = `06:00:00:00:00:${number.toString(16).padStart(2, "0")}`;
      const exit = tunnels[(this.exit + number) % tunnels.length]?.tunnel ?? MAIN;
      return assigned(number === 0 ? colons(MAC.home) : other, exit);
    });
  }

  /** Interface pairs and masquerade, in the fewest rules. */
  private minimalRules(): string {
    const oneOf = (names: string[]) => (names.length === 1 ? names[0] : `{ ${names.join(", ")} }`);
    const lans = oneOf(this.lans().map((lan) => `"${lan.interface}"`));
    const tunnels = oneOf(this.tunnels().map((tunnel) => `"${tunnel.interface}"`));
    return `table inet minimal {
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname ${lans} oifname ${tunnels} accept
    iifname ${tunnels} oifname ${lans} ct state established,related accept
  }
  chain source_nat {
    type nat hook postrouting priority srcnat; policy accept;
    oifname ${tunnels} masquerade
  }
}
`;
  }

  private lans() {
    return Array.from({ length: this.size.lans }, (_, number) => ({
      interface: `lan${number}`,
      prefixes: cidrs(`192.168.${number}.0/24`, `fd00:${number}::/64`, "fe80::/10"),
    }));
  }

  private tunnels(): FirewallTunnel[] {
    return Array.from({ length: this.size.tunnels }, (_, number) => {
      const { links, zones } = slotOf(number, "wg");
      return {
        tunnel: number === MAIN_SLOT ? MAIN : `t${number}`,
        interface: links[0],
        mark: markOf(number),
        zone: zones[0],
        endpoint: { address: ip(`198.51.100.${number + 1}`), port: 51820 },
        addresses: ips(tunnelAddress(number, 4), tunnelAddress(number, 6)),
        resolvers: ips(`10.64.${number}.1`, `fd64:${number}::1`),
      };
    });
  }
}

export interface Connection {
  client: number;
  port: number;
}

/** So many connections of one client. */
export function connections(count: number, client = 1): Connection[] {
  return Array.from({ length: count }, (_, number) => ({ client, port: FIRST_PORT + number }));
}

const NETWORK = {
  lans: [],
  uplink: "up0",
  uplinkAddresses: ips("192.168.99.2"),
  addresses: ips("192.168.99.2"),
  uplinkPrefixes: cidrs("192.168.99.0/24"),
  uplinkMtu: 1500,
  ipv6: "on",
  resolvers: [],
  online: true,
  routers: [],
  uplinkRouters: [],
  lanRoutes: [],
  linkRoutes: [],
  meshes: [],
  routesAgainstLan: [],
  remarks: [],
} as const;

function lanRoutes({ interface: link, prefixes }: Lan): string[] {
  return prefixes
    .filter((prefix) => !isLinkLocal(addressOf(prefix)))
    .map((prefix) => `route add ${prefix} dev ${link} table ${LAN_TABLE}`);
}

/** Number 0 is the gateway itself. */
function clientAddress(lan: number, family: Family, client: number): string {
  return family === 4 ? `192.168.${lan}.${client + 1}` : `fd00:${lan}::${client + 1}`;
}

function tunnelAddress(tunnel: number, family: Family): string {
  return family === 4 ? `10.64.${tunnel}.2` : `fd64:${tunnel}::2`;
}

function colons(mac: string): string {
  return mac.replace(/(..)(?=.)/g, "$1:");
}
