import { Type } from "typebox";
import { version } from "../../package.json";
import type { LanNetworkList } from "../devices/network-schema.ts";
import type { Histogram } from "../tunnel/histogram.ts";
import { carriedBy } from "../tunnel/state.ts";
import { answer, Refusal, UNAUTHORIZED } from "./answers.ts";
import { DNS_METRICS } from "./dns-metrics.ts";
import type { Domain } from "./domain.ts";
import { expositionOf, type MetricOf, numeral, type Sample } from "./exposition.ts";
import { FACT_METRICS } from "./fact-metrics.ts";
import { LIMIT_METRICS } from "./limit-metrics.ts";
import { route } from "./route.ts";

export const metricsRoute = route({
  method: "get",
  path: "/metrics",
  id: "getMetrics",
  summary: "Read the metrics for Prometheus",
  description: "In Prometheus' text format.",
  tag: "Health",
  answers: {
    200: answer(Type.String(), "text format 0.0.4 of Prometheus"),
    401: answer(Refusal, UNAUTHORIZED),
    403: answer(Refusal, "from outside the local network, or sent by a page of another site"),
    429: answer(Refusal, "too many requests with a wrong token"),
    500: answer(Refusal, "the metrics cannot be read"),
  },
  together: "shared",
  run: async (domain) => {
    const text = expositionOf(METRICS, await figuresOf(domain));
    return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
  },
});

type Figures = Awaited<ReturnType<typeof figuresOf>>;

async function figuresOf(domain: Domain) {
  const { overview, bounds, remoteAccess } = domain;
  const [{ status, tunnels }, places, { links }] = await Promise.all([
    ...([overview.whole(), bounds.places()] as const),
    remoteAccess.links(),
  ]);
  const carried = tunnels.map(({ row, state }) => ({ row, session: carriedBy(state) }));
  return { ...domain, status, tunnels: carried, places, links };
}

/** What no answer has. */
const OWN_METRICS: readonly MetricOf<Figures>[] = [
  {
    name: "portcullis_security_alerts_total",
    help: "Security alerts since the service started.",
    of: ({ alerts }) => alerts.count,
  },
  {
    name: "portcullis_connect_duration_seconds",
    help: "From a connect to its handshake; failed ones are not counted.",
    labels: ["le"],
    of: ({ connects }) => samplesOf(connects.durations),
  },
  {
    name: "portcullis_devices",
    help: "Known devices by exit, those away from home included.",
    labels: ["exit"],
    of: ({ devices }) => devices.counts(),
  },
  {
    name: "portcullis_network_devices",
    help: "Known devices by network of the LAN and its default exit; only with several networks.",
    labels: ["network", "exit"],
    of: ({ devices }) => byNetwork(devices.networks.list()),
  },
  {
    name: "portcullis_link_up",
    help: "1 if the other home was heard in the last three minutes, by link.",
    labels: ["link"],
    of: ({ links }) => Object.fromEntries(links.map(({ name, state }) => [name, Number(state === "up")])),
  },
  {
    name: "portcullis_link_received_bytes_total",
    help: "What the other home has sent, by link.",
    labels: ["link"],
    of: ({ links }) => Object.fromEntries(links.map(({ name, rx_bytes }) => [name, rx_bytes])),
  },
  {
    name: "portcullis_link_sent_bytes_total",
    help: "What was sent to the other home, by link.",
    labels: ["link"],
    of: ({ links }) => Object.fromEntries(links.map(({ name, tx_bytes }) => [name, tx_bytes])),
  },
  {
    name: "portcullis_destination_rules",
    help: "Rules for destinations by exit.",
    labels: ["exit"],
    of: ({ destinations }) => destinations.counts(),
  },
  {
    name: "portcullis_direct_allowed",
    help: "1 while devices may leave outside the tunnel (portcullis direct on).",
    of: ({ devices }) => Number(devices.direct.allowed),
  },
  {
    name: "portcullis_forwarded_ports",
    help: "Open ports of the internet that lead to devices, by tunnel.",
    labels: ["tunnel"],
    of: ({ forwards }) => forwards.counts(),
  },
  {
    name: "portcullis_connections",
    help: "Places of the kernel's connection table that are taken.",
    of: ({ places }) => places?.taken ?? null,
  },
  {
    name: "portcullis_connections_max",
    help: "All places of the kernel's connection table.",
    of: ({ places }) => places?.all ?? null,
  },
  {
    name: "portcullis_build_info",
    help: "The version that runs; always 1.",
    labels: ["version", "bun", "arch"],
    of: () => [{ labels: { version, bun: Bun.version, arch: process.arch }, value: 1 }],
  },
];

/** All metrics, in the order of a scrape. */
export const METRICS: readonly MetricOf<Figures>[] = [
  ...[...FACT_METRICS, ...OWN_METRICS, ...LIMIT_METRICS, ...DNS_METRICS],
];

function byNetwork({ networks }: LanNetworkList): Sample[] {
  if (networks.length < 2) return [];
  return networks.map(({ interface: network, exit, devices }) => ({
    labels: { network, exit },
    value: devices,
  }));
}

function samplesOf({ bounds, counts, sum, count }: Histogram): Sample[] {
  const bucket = (bound: number, value: number) => ({
    suffix: "_bucket",
    labels: { le: numeral(bound) },
    value,
  });
  return [
    ...bounds.map((bound, at) => bucket(bound, counts[at] ?? 0)),
    bucket(Number.POSITIVE_INFINITY, count),
    { suffix: "_sum", value: sum },
    { suffix: "_count", value: count },
  ];
}
