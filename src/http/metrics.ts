import { Type } from "typebox";
import { version } from "../../package.json";
import { METRIC_TEXT } from "../transports/texts.ts";
import type { Histogram } from "../tunnel/histogram.ts";
import { type Quality, StateName, type TunnelRow } from "../tunnel/schema.ts";
import { carriedBy } from "../tunnel/state.ts";
import { answer, Refusal, UNAUTHORIZED } from "./answers.ts";
import { dnsFamilies } from "./dns-metrics.ts";
import type { Domain } from "./domain.ts";
import { expositionOf, type Family, numeral, type Sample } from "./exposition.ts";
import { limitFamilies } from "./limit-metrics.ts";
import { route } from "./route.ts";

export const metricsRoute = route({
  method: "get",
  path: "/metrics",
  summary: "Read the metrics for Prometheus",
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
    const text = expositionOf(familiesOf(await figuresOf(domain)));
    return new Response(text, { headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" } });
  },
});

type Figures = Awaited<ReturnType<typeof figuresOf>>;

async function figuresOf(domain: Domain) {
  const { overview, alerts, connects, devices, destinations, forwards, bounds, dns } = domain;
  const [{ status, tunnels }, places] = await Promise.all([overview.whole(), bounds.places()]);
  return {
    status,
    tunnels: tunnels.map(({ row, state }) => ({ row, session: carriedBy(state) })),
    alerts: alerts.count,
    connects: connects.durations,
    devices: devices.counts(),
    destinations: destinations.counts(),
    directAllowed: devices.direct.allowed,
    forwards: forwards.counts(),
    limits: limitFamilies(devices.limitFigures),
    dns: dnsFamilies(dns, domain.blockLists),
    places,
  };
}

function familiesOf(figures: Figures): Family[] {
  const { limits, dns } = figures;
  return [
    ...[...tunnelFamilies(figures), ...qualityFamilies(figures), ...ownFamilies(figures)],
    ...[...limits, ...dns],
  ];
}

/** Has the names and labels of the common WireGuard exporters, so that their dashboards work, and the tunnel's name. */
function tunnelFamilies({ tunnels }: Figures): Family[] {
  const samples = (read: (row: TunnelRow) => number): Sample[] =>
    tunnels.flatMap(({ row, session }) =>
      session === null
        ? []
        : [
            {
              labels: {
                interface: session.link,
                public_key: session.server.config.peer.publicKey,
                tunnel: row.name,
                ...(session.server.via !== undefined && { via: session.server.via.name }),
              },
              value: read(row),
            },
          ],
    );
  return [
    {
      name: "wireguard_sent_bytes_total",
      type: "counter",
      help: "Bytes sent to the server.",
      samples: samples(({ tx_bytes }) => tx_bytes),
    },
    {
      name: "wireguard_received_bytes_total",
      type: "counter",
      help: "Bytes received from the server.",
      samples: samples(({ rx_bytes }) => rx_bytes),
    },
    {
      name: "wireguard_latest_handshake_seconds",
      type: "gauge",
      help: "Unix time of the latest handshake, 0 before the first.",
      samples: samples(({ latest_handshake: at }) => (at === null ? 0 : Date.parse(at) / 1000)),
    },
    {
      name: "portcullis_tunnel_connected",
      type: "gauge",
      help: "1 while the tunnel has a live session with a server.",
      samples: tunnels.map(({ row: { name, state } }) => ({
        labels: { tunnel: name },
        value: Number(state === "connected"),
      })),
    },
    {
      name: "portcullis_tunnel_relayed",
      type: "gauge",
      help: METRIC_TEXT,
      samples: tunnels.map(({ row: { name, transport } }) => ({
        labels: { tunnel: name },
        value: Number(transport !== undefined),
      })),
    },
    {
      name: "portcullis_tunnel_quantum_safe",
      type: "gauge",
      help: "1 while the tunnel's keys are safe from quantum computers.",
      samples: tunnels.map(({ row: { name, quantum } }) => ({
        labels: { tunnel: name },
        value: Number(quantum === true),
      })),
    },
    {
      name: "portcullis_tunnel_unanswered",
      type: "gauge",
      help: "1 while nothing but handshakes comes back for what is sent into the tunnel.",
      samples: tunnels.map(({ row: { name, unanswered } }) => ({
        labels: { tunnel: name },
        value: Number(unanswered),
      })),
    },
  ];
}

/** Without a series for what was not measured. */
function qualityFamilies({ tunnels, status }: Figures): Family[] {
  const of = (read: (quality: Quality) => number | null): { tunnels: Sample[]; uplink: Sample[] } => {
    const sample = (quality: Quality | undefined, labels: Sample["labels"]): Sample[] => {
      const value = quality === undefined ? null : read(quality);
      return value === null ? [] : [{ ...(labels && { labels }), value }];
    };
    return {
      tunnels: tunnels.flatMap(({ row }) => sample(row.quality, { tunnel: row.name })),
      uplink: sample(status.uplink_quality, undefined),
    };
  };
  const families = (name: string, help: string, samples: ReturnType<typeof of>): Family[] => [
    {
      name: `portcullis_tunnel_${name}`,
      type: "gauge",
      help: `${help} of questions to the tunnel's resolver.`,
      samples: samples.tunnels,
    },
    {
      name: `portcullis_uplink_${name}`,
      type: "gauge",
      help: `${help} of requests to the uplink's router.`,
      samples: samples.uplink,
    },
  ];
  const seconds = (ms: number | null) => ms && ms / 1_000;
  return [
    ...families(
      "round_trip_seconds",
      "Median round trip",
      of(({ round_trip_ms }) => seconds(round_trip_ms)),
    ),
    ...families(
      "round_trip_variation_seconds",
      "Average difference between round trips",
      of(({ variation_ms }) => seconds(variation_ms)),
    ),
    ...families(
      "loss_ratio",
      "Lost part",
      of(({ loss_percent }) => loss_percent / 100),
    ),
  ];
}

function ownFamilies(figures: Figures): Family[] {
  const { status, alerts, connects, devices, destinations, directAllowed, forwards, places } = figures;
  return [
    family(
      "portcullis_connected",
      "gauge",
      "1 while there is a live session with a server.",
      Number(status.connected),
    ),
    family(
      "portcullis_killswitch_active",
      "gauge",
      "1 while the kernel has the kill switch in place.",
      Number(status.killswitch_active),
    ),
    {
      name: "portcullis_state",
      type: "gauge",
      help: "1 for the state that the tunnel is in.",
      samples: STATES.map((state) => ({ labels: { state }, value: Number(state === status.state) })),
    },
    family(
      "portcullis_security_alerts_total",
      "counter",
      "Security alerts since the service started.",
      alerts,
    ),
    {
      name: "portcullis_connect_duration_seconds",
      type: "histogram",
      help: "From a connect to its handshake; failed ones are not counted.",
      samples: samplesOf(connects),
    },
    {
      name: "portcullis_devices",
      type: "gauge",
      help: "Known devices by exit, those on the road included.",
      samples: Object.entries(devices).map(([exit, value]) => ({ labels: { exit }, value })),
    },
    {
      name: "portcullis_destination_rules",
      type: "gauge",
      help: "Rules for destinations by exit.",
      samples: Object.entries(destinations).map(([exit, value]) => ({ labels: { exit }, value })),
    },
    family(
      "portcullis_direct_allowed",
      "gauge",
      "1 while devices may leave outside the tunnel (portcullis direct on).",
      Number(directAllowed),
    ),
    {
      name: "portcullis_forwarded_ports",
      type: "gauge",
      help: "Open ports of the internet that lead to devices, by tunnel.",
      samples: Object.entries(forwards).map(([tunnel, value]) => ({ labels: { tunnel }, value })),
    },
    ...(places === null
      ? []
      : [
          family(
            "portcullis_connections",
            "gauge",
            "Places of the kernel's connection table that are taken.",
            places.taken,
          ),
          family(
            "portcullis_connections_max",
            "gauge",
            "All places of the kernel's connection table.",
            places.all,
          ),
        ]),
    family("portcullis_build_info", "gauge", "The version that runs; always 1.", 1, {
      version,
      bun: Bun.version,
      arch: process.arch,
    }),
  ];
}

const STATES = StateName.anyOf.map((each) => each.const);

function family(
  name: string,
  type: Family["type"],
  help: string,
  value: number,
  labels: Record<string, string> = {},
): Family {
  return { name, type, help, samples: [{ labels, value }] };
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
