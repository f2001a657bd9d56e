import { type Address, isIpv6, isPrivate } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { isEndpointHost } from "./saved.ts";

/** What devices on the road call. */
export interface Endpoint {
  host: string;
  port: number;
}

export const NO_ENDPOINT =
  "the gateway does not know the address that devices call; give it, on the gateway: sudo portcullis remote on --endpoint <name or address>, and let your router forward the UDP port to the gateway";

/** The endpoint in a text; `port` if the text has none. */
export function endpointIn(text: string, port: number): Endpoint {
  const [, bracketed, plain, given] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = (isIpv6(text) ? text : (bracketed ?? plain ?? "")).toLowerCase();
  const number = given === undefined ? port : Number(given);
  if (!isEndpointHost(host) || number < 1 || number > 65_535)
    throw refusal(
      "endpoint",
      "must be a name or an address, with a port if it is another: home.example.org:51820",
    );
  return { host, port: number };
}

/** An uplink's own public address, as it has one without a home router in front of it. IPv4 comes first. */
export function publicAddressIn(uplinkAddresses: readonly Address[]): Address | null {
  const known = uplinkAddresses.filter((address) => !isPrivate(address) && !isShared(address));
  return known.find((address) => !isIpv6(address)) ?? known[0] ?? null;
}

/** RFC 6598: of a provider that has many customers behind one address. */
function isShared(address: Address): boolean {
  return /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./.test(address) || /^(fe80|f[cd])/.test(address);
}

export function refusal(field: string, what: string): GatewayError {
  return new GatewayError("bad_request", `${field}: ${what}`);
}
