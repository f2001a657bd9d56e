import type { HostName } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { Saved } from "../base/saved.ts";
import { type DeviceId, deviceIdIn } from "../devices/id.ts";
import { refused } from "./refusals.ts";
import { DnsListsBody } from "./schema.ts";

/** A list of names, and for whom it counts. */
export interface WantedList {
  url: string;
  /** Empty for all devices. */
  devices: readonly DeviceId[];
  on: boolean;
}

export interface WantedLists {
  lists: readonly WantedList[];
  exceptions: readonly HostName[];
  /** Names that may have addresses of the home. */
  privateNames: readonly HostName[];
  /** Whether the names of resolvers that answer over HTTPS are blocked. */
  blockDoh: boolean;
}

const NONE: DnsListsBody = { lists: [] };

const known = checkerOf(DnsListsBody);

/** As people have given them. */
export const DNS_LISTS = new Saved<DnsListsBody>("dns_lists", (text) => {
  const body = known.read(text);
  return body !== null && isPossible(body) ? body : NONE;
});

function isPossible(body: DnsListsBody): boolean {
  try {
    wantedLists(body);
    return true;
  } catch {
    return false;
  }
}

/** Throws `bad_request`, and names the field. */
export function wantedLists({
  lists,
  exceptions = [],
  private_names: privateNames = [],
  block_doh: blockDoh = false,
}: DnsListsBody): WantedLists {
  const urls = lists.map(({ url }, index) => urlIn(url, `lists[${index}].url`));
  const twice = urls.findIndex((url, index) => urls.indexOf(url) !== index);
  if (twice >= 0) throw refused("list_url_twice", { field: `lists[${twice}].url` });
  return {
    blockDoh,
    lists: lists.map(({ devices = [], on = true }, index) => ({
      ...{ url: urls[index] ?? "", on },
      devices: devices.map((id) => deviceIdIn(id, `lists[${index}].devices`)),
    })),
    exceptions: exceptions.map(namesIn("exceptions")),
    privateNames: privateNames.map(namesIn("private_names")),
  };
}

function namesIn(field: string): (text: string, index: number) => HostName {
  return (text, index) => {
    const name = parseDomainName(text);
    if (name === null) throw refused("domain_invalid", { field: `${field}[${index}]` });
    return name;
  };
}

/** Whether any of this blocks names, so that the gateway has to answer queries itself. */
export function isBlocking({ lists, blockDoh }: WantedLists): boolean {
  return blockDoh || lists.some(({ on }) => on);
}

function urlIn(text: string, field: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" || /\p{Cc}/u.test(text)) throw refused("list_url_invalid", { field });
  if (url.username !== "" || url.password !== "") throw refused("list_url_with_login", { field });
  return url.href;
}
