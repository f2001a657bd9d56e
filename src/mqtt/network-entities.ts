import { answerOf } from "../base/fact.ts";
import { LIMIT_FACTS } from "../devices/limit-facts.ts";
import type { LanNetwork } from "../devices/network-schema.ts";
import type { UsedQuota } from "../devices/values.ts";
import { isOutside } from "../shared/exits.ts";
import { componentsIn, type HaDevice, presentIn, stateOf } from "./discovery.ts";
import { exitComponents } from "./exit.ts";
import { networkKey } from "./topics.ts";

/** Those about which somebody has decided something. */
export function knownNetworks(networks: readonly LanNetwork[]): LanNetwork[] {
  return networks.filter(
    ({ name, assigned, rate, quota }) => name !== "" || assigned || (rate ?? quota) !== undefined,
  );
}

/** A network of the LAN; `quota` is as it is told now, `exits` are those that it can be given, or null without commands. */
export function networkThing(
  { interface: link, name, exit, rate }: LanNetwork,
  quota: UsedQuota | undefined,
  exits: readonly string[] | null,
): HaDevice {
  const limits = answerOf(LIMIT_FACTS, { rate, quota });
  const had = presentIn(LIMIT_FACTS, limits);
  return {
    key: networkKey(link),
    name: name || link,
    model: "network of the LAN",
    components: {
      ...exitComponents("Exit", exits?.filter((each) => !isOutside(each)) ?? null),
      ...componentsIn(LIMIT_FACTS, limits),
    },
    states: {
      state: { exit, ...stateOf(had, limits) },
      ...(quota !== undefined && { quota: stateOf(had, limits, "quota") }),
    },
  };
}
