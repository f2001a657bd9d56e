import { isLinkLocal, type Prefix, parseAddress } from "../base/address.ts";
import type { Host, LinkSocket } from "../system/host.ts";
import { showAddressesOf } from "../system/ip.ts";
import { routeAdvertisement } from "./route-advertisement.ts";

const ALL_NODES_MAC = "33:33:00:00:00:01";

/**
 * Sends a router advertisement from the address that dnsmasq advertises from, so that devices see one router. Returns
 * whether the link has such an address.
 */
export async function advertise(
  host: Pick<Host, "run">,
  { link, socket }: { link: string; socket: LinkSocket },
  lifetimeS: number,
  ended: Prefix | null = null,
): Promise<boolean> {
  const [shown] = await showAddressesOf(host, 6, "dev", link, "scope", "link");
  const own = (shown?.addr_info ?? []).filter(({ tentative }) => tentative !== true);
  const address = own
    .map(({ local = "" }) => parseAddress(local))
    .find((each) => each !== null && isLinkLocal(each));
  if (address == null) return false;
  socket.send(ALL_NODES_MAC, routeAdvertisement({ mac: socket.mac, address }, lifetimeS, ended));
  return true;
}
