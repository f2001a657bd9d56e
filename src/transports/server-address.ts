import { type Address, isIpv4 } from "../base/address.ts";

/** Refuses "this host" (RFC 1122), loopback, link-local, multicast and reserved addresses: no server has one. */
export function isServerAddress(value: unknown): value is Address {
  return (
    typeof value === "string" && isIpv4(value) && !/^(0|127|22[4-9]|2[3-5][0-9])\.|^169\.254\./.test(value)
  );
}
