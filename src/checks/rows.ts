import type { Check } from "./schema.ts";

interface Row {
  title: string;
  /** The ids of the checks whose faults it may follow from, the first cause first. */
  after?: readonly string[];
}

/** All checks, in the order in which they are shown. */
export const CHECKS = {
  version: { title: "Version" },
  service: { title: "Service" },
  parts: { title: "Parts of the service" },
  firewall: { title: "Kill switch: firewall" },
  routing: { title: "Kill switch: routing" },
  other_rules: { title: "Other programs' routing rules" },
  direct: { title: "Direct devices" },
  last_change: { title: "Kill switch: last change" },
  other_firewalls: { title: "Other firewalls" },
  forwarding: { title: "Forwarding" },
  clock: { title: "Clock" },
  uplink: { title: "Uplink" },
  lan: { title: "LAN" },
  networks: { title: "Networks of the LAN" },
  mesh: { title: "Meshes" },
  dhcp: { title: "DHCP server" },
  other_routers: { title: "Other routers on the LAN" },
  resolver: { title: "Resolver for server names" },
  /** One of each tunnel. A rule of another program may lead WireGuard's own packets elsewhere, or refuse them. */
  tunnel: { title: "Tunnel", after: ["other_rules"] },
  /** The same, or the tunnel that carries the queries. */
  dns: { title: "DNS inside the tunnel", after: ["other_rules", "tunnel:main"] },
  mtu: { title: "Packet size in the tunnel" },
  quality: { title: "Quality" },
  line: { title: "Line" },
  ipv6: { title: "IPv6" },
  forwards: { title: "Forwarded ports" },
  remote: { title: "Remote access" },
  access: { title: "Access" },
  https: { title: "HTTPS" },
  connections: { title: "Connections" },
  disk: { title: "Disk" },
  database: { title: "Database" },
  memory: { title: "Memory" },
} as const satisfies Record<string, Row>;
export type CheckName = keyof typeof CHECKS;

/**
 * The same checks. A fault that follows from another one names it, and has no advice of its own, because that would
 * mislead.
 */
export function withCauses(checks: readonly Check[]): Check[] {
  const faults = new Set(checks.filter(({ result }) => result === "fault").map(({ id }) => id));
  return checks.map((check) => {
    const row: Row = CHECKS[check.id.replace(/:.*/, "") as CheckName];
    const cause = row.after?.find((id) => faults.has(id));
    if (check.result !== "fault" || cause === undefined) return check;
    return { ...check, advice: null, because_of: cause };
  });
}
