import type { LanNetwork } from "../devices/network-schema.ts";
import { isOutside } from "../shared/exits.ts";
import type { HaDevice } from "./discovery.ts";
import { exitComponents } from "./exit.ts";
import { networkKey } from "./topics.ts";

/** Those about which somebody has decided something. */
export function knownNetworks(networks: readonly LanNetwork[]): LanNetwork[] {
  return networks.filter(({ name, assigned }) => name !== "" || assigned);
}

/** A network of the LAN; `exits` are those that it can be given, or null if commands are not allowed. */
export function networkThing(
  { interface: link, name, exit }: LanNetwork,
  exits: readonly string[] | null,
): HaDevice {
  return {
    key: networkKey(link),
    name: name || link,
    model: "network of the LAN",
    components: exitComponents("Exit", exits?.filter((each) => !isOutside(each)) ?? null),
    states: { state: { exit } },
  };
}
