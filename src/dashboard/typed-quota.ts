import type { GivenQuota } from "../devices/values.ts";
import { endOf } from "./quota.ts";
import { type RateTyped, rateIn, typedOf } from "./typed-rate.ts";

/** What a person has typed and chosen. Empty is any amount; the rate counts only if that is the end. */
export interface QuotaTyped {
  megabytes: string;
  every: GivenQuota["every"];
  end: ReturnType<typeof endOf>;
  rate: RateTyped;
}

export function quotaTypedOf(quota: GivenQuota | undefined): QuotaTyped {
  return {
    megabytes: String(quota?.megabytes ?? ""),
    every: quota?.every ?? "day",
    end: endOf(quota),
    rate: typedOf(typeof quota?.at_end === "object" ? quota.at_end : undefined),
  };
}

/** The same; null for any amount. */
export function quotaIn({ megabytes, every, end, rate }: QuotaTyped): GivenQuota | null {
  if (megabytes === "") return null;
  return { megabytes: Number(megabytes), every, at_end: end === "slow" ? rateIn(rate) : end };
}
