import { inOrder, type Metric, type Rows } from "../base/fact.ts";
import { GATEWAY_FACTS } from "../tunnel/gateway-facts.ts";
import { QUALITY_FACTS, type Quality } from "../tunnel/quality-facts.ts";
import type { Status, TunnelRow } from "../tunnel/schema.ts";
import type { Session } from "../tunnel/session.ts";
import { TUNNEL_FACTS } from "../tunnel/tunnel-facts.ts";
import type { MetricOf, Sample } from "./exposition.ts";

interface Figures {
  status: Status;
  /** Each with the session that carries it. */
  tunnels: readonly { row: TunnelRow; session: Session | null }[];
}

type Measured<Name> = Metric<unknown> & { fact: Name; name: string };

/** The metrics of facts that answers have too, in the order in which scrapes have always had them. */
export const FACT_METRICS: readonly MetricOf<Figures>[] = [
  ...measured(
    inOrder(TUNNEL_FACTS, ["tx_bytes", "rx_bytes", "latest_handshake", "state", "transport", "quantum"]),
    "portcullis_tunnel",
  ).map((metric) => (metric.isOfSession ? sessionMetric(metric) : tunnelMetric(metric))),
  ...measured(QUALITY_FACTS, "").flatMap(qualityMetrics),
  ...measured(GATEWAY_FACTS, "portcullis").map(gatewayMetric),
];

function measured<Facts extends Rows>(rows: Facts, of: string): Measured<keyof Facts>[] {
  return Object.entries(rows).flatMap(([fact, { metric }]) =>
    metric === undefined ? [] : [{ name: `${of}_${fact}`, ...metric, fact }],
  );
}

/** Has the names and labels of the common WireGuard exporters, so that their dashboards work, and the tunnel's name. */
function sessionMetric({ fact, name, help, value = Number }: Measured<keyof TunnelRow>): MetricOf<Figures> {
  const sampleOf = ({ row, session }: Figures["tunnels"][number]): Sample[] => {
    if (session === null) return [];
    const { link, server } = session;
    const key = { interface: link, public_key: server.config.peer.publicKey, tunnel: row.name };
    const labels = { ...key, ...(server.via !== undefined && { via: server.via.name }) };
    return [{ labels, value: value(row[fact]) ?? 0 }];
  };
  return {
    ...{ name, help, labels: ["interface", "public_key", "tunnel", "via"] },
    of: ({ tunnels }) => tunnels.flatMap(sampleOf),
  };
}

function tunnelMetric({ fact, name, help, value = Number }: Measured<keyof TunnelRow>): MetricOf<Figures> {
  return { name, help, labels: ["tunnel"], of: (figures) => byTunnel(figures, (row) => value(row[fact])) };
}

function qualityMetrics({ fact, name, help, value = Number }: Measured<keyof Quality>): MetricOf<Figures>[] {
  const read = (quality: Quality | undefined) => (quality === undefined ? null : value(quality[fact]));
  return [
    {
      name: `portcullis_tunnel_${name}`,
      help: `${help} of questions to the tunnel's resolver.`,
      labels: ["tunnel"],
      of: (figures) => byTunnel(figures, ({ quality }) => read(quality)),
    },
    {
      name: `portcullis_uplink_${name}`,
      help: `${help} of requests to the uplink's router.`,
      of: ({ status }) => read(status.uplink_quality),
    },
  ];
}

function gatewayMetric({
  fact,
  name,
  help,
  value = Number,
  values,
}: Measured<keyof Status>): MetricOf<Figures> {
  if (values === undefined) return { name, help, of: ({ status }) => value(status[fact]) };
  return {
    ...{ name, help, labels: [fact] },
    of: ({ status }) => Object.fromEntries(values.map((each) => [each, Number(each === status[fact])])),
  };
}

/** Unknown values have no series. */
function byTunnel({ tunnels }: Figures, read: (row: TunnelRow) => number | null): Record<string, number> {
  const values = tunnels.map(({ row }) => [row.name, read(row)] as const);
  return Object.fromEntries(values.filter((each): each is [string, number] => each[1] !== null));
}
