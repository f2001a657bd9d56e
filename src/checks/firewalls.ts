import { bridgedTrouble } from "../killswitch/bridged.ts";
import { type BlockedPort, closedTo } from "../killswitch/entrance.ts";
import { type ForwardingPath, obstaclesTo, summaryOf } from "../killswitch/obstacles.ts";
import type { HostNetwork } from "../network/host-network.ts";
import type { Host } from "../system/host.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

/** Firewalls of other programs that drop the LAN's packets. */
export async function otherFirewallsFinding(
  host: Host,
  { lans, ipv6 }: HostNetwork,
  { ports, ...ways }: Omit<ForwardingPath, "lans"> & { ports: readonly number[] },
): Promise<Finding> {
  const path = { lans: lans.map((lan) => lan.interface), ...ways };
  const [found, bridged, closed] =
    lans.length === 0
      ? [[], null, []]
      : await Promise.all([
          obstaclesTo(host, path),
          bridgedTrouble(host, lans),
          closedTo(host, path.lans, ports),
        ]);
  const isUsed = ({ chain }: { chain: string }) => ipv6 === "on" || !chain.startsWith("ip6 ");
  const obstacles = found.filter(isUsed);
  if (obstacles.length > 0) {
    const { drops, ...summary } = summaryOf(obstacles);
    return fault("firewalls_drop", { drops: drops.join("_"), ...summary });
  }
  if (bridged !== null) return fault("bridge_filtered", bridged);
  return closedFinding(closed.filter(isUsed), ports) ?? legacyFinding(host);
}

/** Some people keep devices from the page on purpose. */
function closedFinding(closed: readonly BlockedPort[], ports: readonly number[]): Finding | null {
  if (closed.length === 0) return null;
  const chains = [...new Set(closed.map(({ chain }) => chain))].join(", ");
  const shut = ports.filter((each) => closed.some(({ port }) => port === each));
  const remedies = new Set(closed.flatMap(({ remedies }) => remedies));
  return warning("page_closed", { ports: shut.join(", "), chains, remedy: [...remedies].join("; ") });
}

async function legacyFinding(host: Host): Promise<Finding> {
  const legacy = (await host.read("/proc/net/ip_tables_names"))?.split("\n").includes("filter");
  return legacy === true ? warning("iptables_legacy", {}) : ok("firewalls_none", {});
}
