import type { BlockLists } from "../dns/block-lists.ts";
import type { DeviceCount, DeviceCounts } from "../dns/device-counts.ts";
import type { Dns } from "../dns/dns.ts";
import type { Counts } from "../dns/resolver.ts";
import type { Family } from "./exposition.ts";

/** How questions ended, as people call it. Those of no such kind were asked of an exit's resolver and answered. */
const OUTCOMES: Record<Exclude<keyof Counts, "asked">, string> = {
  local: "answered with the names of the home",
  cached: "answered from the cache",
  blocked: "answered with: no such name",
  refused: "refused because their exit is down or blocked",
  failed: "that no resolver answered",
};

/** What the gateway's own resolver has done since the start: only numbers, and no names. */
export function dnsFamilies(
  { state, counts, byDevice }: Pick<Dns, "state" | "counts" | "byDevice">,
  { size }: Pick<BlockLists, "size">,
): Family[] {
  return [
    gauge(
      "portcullis_dns_resolver",
      "1 while the gateway answers the LAN's DNS queries itself.",
      Number(state === "on"),
    ),
    gauge("portcullis_dns_blocked_names", "Names of all lists of blocked names.", size),
    counter("portcullis_dns_queries_total", "DNS queries of the LAN to the gateway.", counts.asked),
    ...(Object.entries(OUTCOMES) as [keyof typeof OUTCOMES, string][]).map(([name, what]) =>
      counter(`portcullis_dns_${name}_total`, `Of these, those ${what}.`, counts[name]),
    ),
    ofDevices("portcullis_dns_device_queries_total", "DNS queries of each device.", byDevice, "asked"),
    ofDevices(
      "portcullis_dns_device_blocked_total",
      "Of these, those answered with: no such name.",
      byDevice,
      "blocked",
    ),
  ];
}

function ofDevices(name: string, help: string, counts: DeviceCounts, which: keyof DeviceCount): Family {
  const samples = counts.all().map(({ id, ...count }) => ({ labels: { device: id }, value: count[which] }));
  return { name, type: "counter", help, samples };
}

function gauge(name: string, help: string, value: number): Family {
  return { name, type: "gauge", help, samples: [{ labels: {}, value }] };
}

function counter(name: string, help: string, value: number): Family {
  return { name, type: "counter", help, samples: [{ labels: {}, value }] };
}
