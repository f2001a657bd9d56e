import { EVERYBODY_ELSE } from "../devices/id.ts";
import { byteRateOf, type LimitFigures } from "../devices/limits.ts";
import type { UsedQuota } from "../devices/schema.ts";
import { BYTES_PER_MEGABYTE } from "../shared/quotas.ts";
import type { Family, Sample } from "./exposition.ts";

/** Who is meant, in the names of metrics and in their help. */
const OF_DEVICES = { name: "device", who: "the device" };
const OF_OTHERS = { name: "shared", who: "all devices without one of their own together" };

/**
 * The rates and quotas of devices, and the shared ones. There is no series for what has no limit, and no more of them
 * than people may give limits.
 */
export function limitFamilies(figures: readonly LimitFigures[]): Family[] {
  const devices = figures.filter(({ id }) => id !== EVERYBODY_ELSE);
  const others = figures.filter(({ id }) => id === EVERYBODY_ELSE);
  return [
    ...familiesOf(OF_DEVICES, devices, ({ id }) => ({ device: id })),
    ...familiesOf(OF_OTHERS, others, () => ({})),
  ];
}

type Labels = NonNullable<Sample["labels"]>;

function familiesOf(
  { name, who }: typeof OF_DEVICES,
  figures: readonly LimitFigures[],
  labelsOf: (figures: LimitFigures) => Labels,
): Family[] {
  const quotas = (read: (quota: UsedQuota) => number): Sample[] =>
    figures.flatMap((each) => {
      const { quota } = each;
      if (quota === null) return [];
      return [{ labels: { ...labelsOf(each), period: quota.every }, value: read(quota) }];
    });
  return [
    {
      name: `portcullis_${name}_rate_bytes_per_second`,
      type: "gauge",
      help: `What ${who} may receive (down) and send (up), by hand or by schedule; without what a quota's end does.`,
      samples: figures.flatMap((each) => ratesOf(each, labelsOf(each))),
    },
    {
      name: `portcullis_${name}_quota_bytes`,
      type: "gauge",
      help: `What ${who} may receive and send in a day or month.`,
      samples: quotas(({ megabytes }) => megabytes * BYTES_PER_MEGABYTE),
    },
    {
      name: `portcullis_${name}_quota_used_bytes`,
      type: "gauge",
      help: "What was used of it in the present day or month, as read last; at most the quota.",
      samples: quotas(({ used_bytes }) => used_bytes),
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
