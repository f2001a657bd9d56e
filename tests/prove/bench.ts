import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { inject } from "../rig/tools/injector.ts";
import { Sniffer } from "../rig/tools/sniffer.ts";
import { machineOf, type State } from "./state.ts";

// A machine with a state's links, into whose kernel any ruleset is loaded. The firewall has to hold alone: everything is
// led out by one link, to a neighbour that is always there.

/** All of the gateway's links have it, so that a frame for one is for it. */
export const GATEWAY_MAC = "020000000099";
const NEIGHBOUR_MAC = "02:00:00:00:00:98";
const ROUTERS = ["10.99.99.1", "fd99::1"];
let opened = 0;

export class Bench {
  private constructor(
    readonly host: NamespaceHost,
    private readonly outside: string,
  ) {}

  static async open<T>(state: State, oif: string, work: (bench: Bench) => Promise<T>): Promise<T> {
    const names = ["pcprove", "pcproveout"].map((name) => `${name}${process.pid}-${++opened}`);
    const [name = "", outside = ""] = names;
    const machine = new LinuxHost();
    for (const each of names) await machine.run(["ip", "netns", "add", each]);
    try {
      const bench = new Bench(new NamespaceHost(name), outside);
      await bench.build(state, oif);
      return await work(bench);
    } finally {
      for (const each of names) await machine.run(["ip", "netns", "del", each]);
    }
  }

  async load(ruleset: string): Promise<void> {
    await this.host.run(["nft", "-f", "-"], { stdin: ruleset });
    await this.host.endConnections(() => true);
  }

  /** Sees what leaves by that link. */
  sniff(oif: string): Promise<Sniffer> {
    return Sniffer.start(this.outside, peerOf(oif), { endpoints: [], direction: "in" });
  }

  comeIn(iif: string, frames: readonly Uint8Array[]): Promise<void> {
    return inject(this.outside, peerOf(iif), frames);
  }

  /** Each of these is on that link, so that what is for it leaves. */
  async know(link: string, addresses: readonly string[]): Promise<void> {
    await this.batch(addresses.map((each) => `neigh replace ${each} lladdr ${NEIGHBOUR_MAC} dev ${link}`));
  }

  private async build(state: State, oif: string): Promise<void> {
    // New links have the default, and the gateway sends no redirects, without which sources are checked less.
    await this.host.run([
      ...["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
      ...["all.rp_filter", "all.send_redirects", "default.send_redirects"].map(
        (name) => `net.ipv4.conf.${name}=0`,
      ),
    ]);
    for (const [name, { isEther, addresses }] of machineOf(state, "the firewall alone").links) {
      if (name === "lo") continue;
      const ether = `link add ${name} address ${colons(GATEWAY_MAC)} type veth peer name ${peerOf(name)} netns ${this.outside}`;
      await this.batch([
        isEther ? ether : `tuntap add ${name} mode tun`,
        ...addresses.map(
          (address) => `address add ${address}/${address.includes(":") ? "64 nodad" : "24"} dev ${name}`,
        ),
        `link set ${name} up`,
      ]);
      if (isEther) await new NamespaceHost(this.outside).run(["ip", "link", "set", peerOf(name), "up"]);
    }
    await this.batch(ROUTERS.map((via) => `route add default via ${via} dev ${oif} onlink`));
    await this.know(oif, ROUTERS);
  }

  private batch(lines: readonly string[]): Promise<string> {
    return this.host.run(["ip", "-batch", "-"], { stdin: `${lines.join("\n")}\n` });
  }
}

function peerOf(link: string): string {
  return `p-${link}`;
}

function colons(mac: string): string {
  return mac.match(/../g)?.join(":") ?? mac;
}
