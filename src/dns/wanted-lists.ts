import type { HostName } from "../base/address.ts";
import { checkerOf } from "../base/checker.ts";
import { parseDomainName } from "../base/domain-name.ts";
import { GatewayError } from "../base/errors.ts";
import { Saved } from "../base/saved.ts";
import { type DeviceId, deviceIdIn } from "../devices/id.ts";
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
  if (twice >= 0) throw refusal(`lists[${twice}].url: is there twice`);
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
    if (name === null) throw refusal(`${field}[${index}]: is not a name, such as example.com`);
    return name;
  };
}

/** Whether any of this blocks names, so that the gateway has to answer queries itself. */
export function isBlocking({ lists, blockDoh }: WantedLists): boolean {
  return blockDoh || lists.some(({ on }) => on);
}

function urlIn(text: string, field: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== "https:" || /\p{Cc}/u.test(text)) throw refusal(`${field}: must be an https address`);
  if (url.username !== "" || url.password !== "")
    throw refusal(`${field}: must have no name and no password`);
  return url.href;
}

function refusal(message: string): GatewayError {
  return new GatewayError("bad_request", message);
}
