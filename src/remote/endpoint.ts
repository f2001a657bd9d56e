import { type Address, isIpv6, isPublic } from "../base/address.ts";
import type { GatewayError } from "../base/errors.ts";
import { refused } from "./refusals.ts";
import { isEndpointHost } from "./saved.ts";
import type { ByHand } from "./schema.ts";

/** What remote devices call. */
export interface Endpoint {
  host: string;
  port: number;
}

/** What is missing if the gateway does not know the endpoint. */
export function noEndpoint(why: string | null, byHand: ByHand | null): GatewayError {
  const { port = 0, to = null, to_port = 0 } = byHand ?? {};
  const forward = { known: to === null ? "no" : "yes", port, to: to ?? "", to_port };
  return why === null
    ? refused("endpoint_unknown", forward)
    : refused("endpoint_unopened", { ...forward, reason: why });
}

/** The endpoint in a text; `port` if the text has none. */
export function endpointIn(text: string, port: number): Endpoint {
  const [, bracketed, plain, given] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = (isIpv6(text) ? text : (bracketed ?? plain ?? "")).toLowerCase();
  const number = given === undefined ? port : Number(given);
  if (!isEndpointHost(host) || number < 1 || number > 65_535) throw refused("endpoint_invalid");
  return { host, port: number };
}

/** An uplink's own public address, as it has one without a home router in front of it. IPv4 comes first. */
export function publicAddressIn(uplinkAddresses: readonly Address[]): Address | null {
  const known = uplinkAddresses.filter(isPublic);
  return known.find((address) => !isIpv6(address)) ?? known[0] ?? null;
}
