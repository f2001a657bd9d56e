import { type Rate, rateText } from "./rates.ts";

/** How much a device may send and receive together in a day or a month. */
interface Amount {
  readonly megabytes: number;
  readonly every: "day" | "month";
}

/** The amount, and what happens when it is used. */
interface Quota extends Amount {
  readonly at_end: "blocked" | "told" | Rate;
}

export const BYTES_PER_MEGABYTE = 1_000_000;
const MEGABYTES_PER_GIGABYTE = 1_000;

/** Whether nothing more passes until the quota begins again. */
export function isUsedUp(quota: (Quota & { readonly used_bytes: number }) | undefined): boolean {
  if (quota === undefined || quota.at_end !== "blocked") return false;
  return quota.used_bytes >= quota.megabytes * BYTES_PER_MEGABYTE;
}

/** For people: "500 MB a day". */
export function amountText({ megabytes, every }: Amount): string {
  return `${megabytes} MB a ${every}`;
}

/** For people: "500 MB a day, then 1 Mbit/s each way". */
export function quotaText(quota: Quota): string {
  const { at_end } = quota;
  const end = at_end === "blocked" ? "blocked" : at_end === "told" ? "only told" : rateText(at_end);
  return `${amountText(quota)}, then ${end}`;
}

/** What a person types: 500MB/day, 20GB/month. */
export function parseAmount(text: string): Amount | undefined {
  const [, number, unit, every] = /^(\d{1,9})(MB|GB)\/(day|month)$/i.exec(text) ?? [];
  if (number === undefined) return undefined;
  const megabytes = Number(number) * (unit?.toUpperCase() === "GB" ? MEGABYTES_PER_GIGABYTE : 1);
  return { megabytes, every: every?.toLowerCase() === "day" ? "day" : "month" };
}
