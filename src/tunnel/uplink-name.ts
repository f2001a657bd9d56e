import { type Address, isIpv4 } from "../base/address.ts";
import type { Mac } from "../base/mac.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { readNeighbours } from "../network/neighbours.ts";
import type { Host } from "../system/host.ts";
import { pathOf } from "./mtu.ts";

/** A router on the same cable answers within milliseconds, and by Wi-Fi within a few tens. */
const ANSWERS_WITHIN_MS = 150;

type Machine = Pick<Host, "run" | "sleep">;

/**
 * The names under which is kept how servers are reached from this uplink. The router's MAC address distinguishes
 * networks with the same private prefix; the other name is for when it is not known.
 */
export async function uplinkNames(host: Machine, network: HostNetwork): Promise<[string, ...string[]]> {
  const { uplink, uplinkRouters } = network;
  const [router] = uplinkRouters.toSorted((a, b) => Number(isIpv4(b)) - Number(isIpv4(a)));
  const mac = router === undefined || uplink === null ? null : await macOf(host, router, uplink);
  return mac === null ? [pathOf(network)] : [`${uplink} ${mac}`, pathOf(network)];
}

/** On a new cable, nothing may have been sent to the router yet: then the kernel is told to ask for its address. */
async function macOf(host: Machine, router: Address, uplink: string): Promise<Mac | null> {
  const known = await knownMac(host, router, uplink);
  if (known !== null) return known;
  try {
    await host.run(["ip", "neigh", "replace", router, "dev", uplink, "use"]);
    await host.sleep(ANSWERS_WITHIN_MS);
  } catch {
    return null;
  }
  return knownMac(host, router, uplink);
}

async function knownMac(host: Machine, router: Address, uplink: string): Promise<Mac | null> {
  const neighbours = await readNeighbours(host).catch(() => []);
  const found = neighbours.find(
    (each) => each.address === router && each.interface === uplink && each.mac !== null,
  );
  return found?.mac ?? null;
}
