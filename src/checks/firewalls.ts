import { obstaclesTo, type Passage } from "../killswitch/obstacles.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Other programs' firewalls that drop what the LAN sends into these tunnels. */
export async function otherFirewallsFinding(
  host: Host,
  { lans, ipv6 }: HostNetwork,
  tunnels: Pick<Passage, "tunnels" | "base">,
): Promise<Finding> {
  const passage = { lans: lans.map((lan) => lan.interface), ...tunnels };
  const found = lans.length === 0 ? [] : await obstaclesTo(host, passage);
  const obstacles = found.filter(({ chain }) => ipv6 === "on" || !chain.startsWith("ip6 "));
  if (obstacles.length > 0) {
    const chains = obstacles.map(({ chain }) => chain).join(", ");
    const remedies = obstacles.map(({ remedy }) => remedy).join("; ");
    return fault(`they drop what the LAN sends into the tunnel: ${chains}`, `Let it through: ${remedies}`);
  }
  const legacy = (await host.read("/proc/net/ip_tables_names"))?.split("\n").includes("filter");
  if (legacy !== true) return ok("none drops what the LAN sends into the tunnel");
  return warning(
    "iptables-legacy has rules that nft does not show",
    "See whether they drop what the LAN sends: sudo iptables-legacy -S FORWARD",
  );
}
