import type { DnsLists, DnsListsBody } from "../../../dns/schema.ts";

/** What replaces the lists and exceptions as they are. */
export function bodyWith(
  { lists, exceptions, private_names: privateNames, block_doh: blockDoh }: DnsLists,
  change: {
    lists?: DnsLists["lists"] | DnsListsBody["lists"];
    exceptions?: string[];
    privateNames?: string[];
    blockDoh?: boolean;
  },
): DnsListsBody {
  const wanted = (change.lists ?? lists).map(({ url, devices = [], on = true }) => ({ url, devices, on }));
  return {
    lists: wanted,
    exceptions: change.exceptions ?? exceptions,
    private_names: change.privateNames ?? privateNames,
    block_doh: change.blockDoh ?? blockDoh,
  };
}
