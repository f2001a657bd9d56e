import type { Address } from "../base/address.ts";
import { GatewayError } from "../base/errors.ts";
import { nameserversOf } from "../network/nameservers.ts";
import type { Host } from "../system/host.ts";

/** The same as `nameserversOf`; throws if there is none. */
export async function resolversOf(host: Host): Promise<Address[]> {
  const resolvers = await nameserversOf(host);
  if (resolvers.length > 0) return resolvers;
  throw new GatewayError(
    "unable",
    "the system has no DNS resolver to look up the server's name: give the endpoint as an address",
  );
}
