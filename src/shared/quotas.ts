/** How much a device may send and receive together in a day or a month. */
interface Quota {
  readonly megabytes: number;
  readonly every: "day" | "month";
}

export const BYTES_PER_MEGABYTE = 1_000_000;
const MEGABYTES_PER_GIGABYTE = 1_000;

/** For people: "500 MB a day". */
export function quotaText({ megabytes, every }: Quota): string {
  return `${megabytes} MB a ${every}`;
}

/** What a person types: 500MB/day, 20GB/month. */
export function parseQuota(text: string): Quota | undefined {
  const [, number, unit, every] = /^(\d{1,9})(MB|GB)\/(day|month)$/i.exec(text) ?? [];
  if (number === undefined) return undefined;
  const megabytes = Number(number) * (unit?.toUpperCase() === "GB" ? MEGABYTES_PER_GIGABYTE : 1);
  return { megabytes, every: every?.toLowerCase() === "day" ? "day" : "month" };
}
