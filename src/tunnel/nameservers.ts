import type { Address } from "../base/address.ts";
import { nameserversOf } from "../network/nameservers.ts";
import type { Host } from "../system/host.ts";
import { refused } from "./refusals.ts";

/** The same as `nameserversOf`; throws if there is none. */
export async function resolversOf(host: Host): Promise<Address[]> {
  const resolvers = await nameserversOf(host);
  if (resolvers.length > 0) return resolvers;
  throw refused("system_resolver_missing");
}
