import type { Lan } from "../network/lan.ts";
import type { Host } from "../system/host.ts";
import { showLinkDetails } from "../system/ip.ts";

const SWITCHES = ["net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-ip6tables"];

/** The bridges with such ports, and the command that helps. */
export interface Bridged {
  bridges: string;
  remedy: string;
}

/**
 * Null if the kernel does not pass bridged packets to the firewall. With the module br_netfilter, which Docker loads,
 * it shows them as if they were forwarded, and the firewall refuses them: devices on different ports of the LAN's
 * bridge cannot reach each other. Usually runs no command.
 */
export async function bridgedTrouble(host: Host, lans: readonly Lan[]): Promise<Bridged | null> {
  const values = await Promise.all(
    SWITCHES.map((name) => host.read(`/proc/sys/${name.replaceAll(".", "/")}`)),
  );
  const on = SWITCHES.filter((_, index) => values[index]?.trim() === "1");
  if (on.length === 0) return null;
  const ports = await Promise.all(lans.map((lan) => portsOf(host, lan.interface)));
  const bridges = lans.filter((_, index) => (ports[index] ?? 0) > 1).map((lan) => lan.interface);
  if (bridges.length === 0) return null;
  return {
    bridges: bridges.join(", "),
    remedy: `sysctl -w ${on.map((name) => `${name}=0`).join(" ")}`,
  };
}

async function portsOf(host: Host, link: string): Promise<number> {
  const links = await showLinkDetails(host, "master", link);
  return links.filter(({ linkinfo }) => linkinfo?.info_slave_kind === "bridge").length;
}
