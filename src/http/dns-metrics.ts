import type { DeviceCount } from "../dns/device-counts.ts";
import type { Counts } from "../dns/resolver.ts";
import type { Domain } from "./domain.ts";
import type { MetricOf } from "./exposition.ts";

/** How queries ended, in words. All others were answered by an exit's resolver. */
const OUTCOMES: Record<Exclude<keyof Counts, "asked">, string> = {
  local: "answered with the names of the home",
  cached: "answered from the cache",
  blocked: "answered with: no such name",
  refused: "refused because their exit is down or blocked",
  failed: "that no resolver answered",
};

type Figures = Pick<Domain, "dns" | "blockLists">;

/** What the gateway's own resolver has done since the start: only numbers, and no names. */
export const DNS_METRICS: readonly MetricOf<Figures>[] = [
  {
    name: "portcullis_dns_resolver",
    help: "1 while the gateway answers the LAN's DNS queries itself.",
    of: ({ dns }) => Number(dns.state === "on"),
  },
  {
    name: "portcullis_dns_blocked_names",
    help: "Names of all lists of blocked names.",
    of: ({ blockLists }) => blockLists.size,
  },
  {
    name: "portcullis_dns_queries_total",
    help: "DNS queries of the LAN to the gateway.",
    of: ({ dns }) => dns.counts.asked,
  },
  ...(Object.entries(OUTCOMES) as [keyof typeof OUTCOMES, string][]).map(([name, what]) => ({
    name: `portcullis_dns_${name}_total`,
    help: `Of these, those ${what}.`,
    of: ({ dns }: Figures) => dns.counts[name],
  })),
  {
    name: "portcullis_dns_device_queries_total",
    help: "DNS queries of each device.",
    labels: ["device"],
    of: ({ dns }) => byDevice(dns, "asked"),
  },
  {
    name: "portcullis_dns_device_blocked_total",
    help: "Of these, those answered with: no such name.",
    labels: ["device"],
    of: ({ dns }) => byDevice(dns, "blocked"),
  },
];

function byDevice({ byDevice }: Figures["dns"], which: keyof DeviceCount): Record<string, number> {
  return Object.fromEntries(byDevice.all().map((count) => [count.id, count[which]]));
}
