import { bridgedTrouble } from "../killswitch/bridged.ts";
import { obstaclesTo, type Passage, summaryOf } from "../killswitch/obstacles.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Other programs' firewalls that drop what the LAN sends. */
export async function otherFirewallsFinding(
  host: Host,
  { lans, ipv6 }: HostNetwork,
  ways: Omit<Passage, "lans">,
): Promise<Finding> {
  const passage = { lans: lans.map((lan) => lan.interface), ...ways };
  const found = lans.length === 0 ? [] : await obstaclesTo(host, passage);
  const obstacles = found.filter(({ chain }) => ipv6 === "on" || !chain.startsWith("ip6 "));
  if (obstacles.length > 0) {
    const { drops, chains, remedy } = summaryOf(obstacles);
    return fault(`another firewall drops ${drops}: ${chains}`, `Let it through: ${remedy}`);
  }
  const bridged = await bridgedTrouble(host, lans);
  if (bridged !== null) return fault(bridged.message, `Leave bridged frames alone: ${bridged.remedy}`);
  const legacy = (await host.read("/proc/net/ip_tables_names"))?.split("\n").includes("filter");
  if (legacy !== true) return ok("none drops what the LAN sends");
  return warning(
    "iptables-legacy has rules that nft does not show",
    "See whether they drop what the LAN sends: sudo iptables-legacy -S FORWARD",
  );
}
