import type { Address } from "../base/address.ts";
import type { Host } from "../system/host.ts";

/** The addresses that devices have connections to; none if the kernel does not tell. */
export async function connectedTo(host: Pick<Host, "endConnections">): Promise<ReadonlySet<Address>> {
  const found = new Set<Address>();
  const note = (address: Address) => {
    found.add(address);
    return false;
  };
  await host.endConnections(({ original }) => note(original.destination)).catch(() => []);
  return found;
}
