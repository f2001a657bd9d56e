import { type Address, mustParseAddress, mustParsePrefix, type Prefix } from "../../src/base/address.ts";

export const ip = mustParseAddress;
export const cidr = mustParsePrefix;

export function ips(...texts: string[]): Address[] {
  return texts.map(ip);
}

export function cidrs(...texts: string[]): Prefix[] {
  return texts.map(cidr);
}
