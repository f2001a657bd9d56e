import { EVERYBODY_ELSE, isDeviceId } from "../devices/id.ts";
import { byteRateOf, type LimitFigures } from "../devices/limits.ts";
import type { UsedQuota } from "../devices/values.ts";
import { linkIn } from "../shared/network-id.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import type { Domain } from "./domain.ts";
import type { MetricOf, Sample } from "./exposition.ts";

/** The device or group, in the names of metrics and in their help. */
const OF_DEVICES = { name: "device", who: "the device", labels: ["device"] };
const OF_NETWORKS = {
  name: "network",
  who: "all devices of the network together",
  labels: ["network"],
};
const OF_OTHERS = { name: "shared", who: "all devices without one of their own together", labels: [] };

/**
 * The rates and quotas of devices and networks, and the shared ones. There is no series for what has no limit, and no more of them
 * than people may give limits.
 */
export const LIMIT_METRICS = [
  ...metricsOf(OF_DEVICES, ({ id }) => (isDeviceId(id) ? { device: id } : null)),
  ...metricsOf(OF_NETWORKS, ({ id }) => {
    const network = linkIn(id);
    return network === null ? null : { network };
  }),
  ...metricsOf(OF_OTHERS, ({ id }) => (id === EVERYBODY_ELSE ? {} : null)),
];

type Figures = Pick<Domain, "devices">;
type Labels = NonNullable<Sample["labels"]>;

/** `labelsOf` is null for the others. */
function metricsOf(
  { name, who, labels }: typeof OF_DEVICES,
  labelsOf: (figures: LimitFigures) => Labels | null,
): MetricOf<Figures>[] {
  const each =
    (read: (figures: LimitFigures, labels: Labels) => Sample[]) =>
    ({ devices }: Figures) =>
      devices.limitFigures.flatMap((figures) => {
        const own = labelsOf(figures);
        return own === null ? [] : read(figures, own);
      });
  const quotas = (read: (quota: UsedQuota) => number) =>
    each(({ quota }, own) =>
      quota === null ? [] : [{ labels: { ...own, period: quota.every }, value: read(quota) }],
    );
  return [
    {
      name: `portcullis_${name}_rate_bytes_per_second`,
      help: `What ${who} may receive (down) and send (up), by hand or by schedule; without what a quota's end does.`,
      labels: [...labels, "direction"],
      of: each(ratesOf),
    },
    {
      name: `portcullis_${name}_quota_bytes`,
      help: `What ${who} may receive and send in a day or month.`,
      labels: [...labels, "period"],
      of: quotas(({ megabytes }) => megabytes * BYTES_PER_MEGABYTE),
    },
    {
      name: `portcullis_${name}_quota_used_bytes`,
      help: "What was used of it in the current day or month, as read last; at most the quota.",
      labels: [...labels, "period"],
      of: quotas(({ used_bytes }) => used_bytes),
    },
  ];
}

function ratesOf({ rate }: LimitFigures, labels: Labels): Sample[] {
  if (rate === null) return [];
  const bytes = byteRateOf(rate);
  return (["down", "up"] as const).flatMap((direction) => {
    const value = bytes[direction];
    return value === null ? [] : [{ labels: { ...labels, direction }, value }];
  });
}
