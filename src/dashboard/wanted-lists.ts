import type { DnsLists, DnsListsBody } from "../dns/schema.ts";

/** What replaces the lists and exceptions as they are. */
export function bodyWith(
  { lists, exceptions, private_names, block_doh }: DnsLists,
  change: Partial<DnsListsBody>,
): DnsListsBody {
  const wanted = (change.lists ?? lists).map(({ url, devices = [], on = true }) => ({ url, devices, on }));
  return { exceptions, private_names, block_doh, ...change, lists: wanted };
}
