import type { HostNetwork } from "../network/host-network.ts";
import type { Lan } from "../network/lan.ts";
import { arpTextOf } from "./arp.ts";
import { betweenRules } from "./networks.ts";
import type { Policy } from "./policy.ts";
import { relayRules } from "./relay.ts";
import { remoteRules, routesToRemote } from "./remote-routing.ts";
import { routesTo, routesToLan, type TableRoute } from "./routed.ts";
import { routerRules } from "./router.ts";
import {
  directRules,
  exceptionRules,
  type Rule,
  routedRules,
  rulesFor,
  rulesOn,
  withoutBarrier,
} from "./routing-rules.ts";
import { isUsed, openRulesetOf, rulesetOf } from "./ruleset.ts";

/** The wanted state of the kernel. */
export interface Wanted {
  /** The input that everything is made from. */
  policy: Policy;
  ruleset: string;
  arp: string;
  rules: readonly Rule[];
  /** Routes to networks behind other routers of the LAN. */
  routes: readonly TableRoute[];
  lanRoutes: readonly TableRoute[];
  /** The LAN, including those networks. */
  lans: readonly Lan[];
}

/** Both layers of the kill switch, or only what a tunnel needs if the operator has turned it off. */
export function wantedFor(policy: Policy, network: HostNetwork, isOn: boolean): Wanted {
  const further = [
    ...betweenRules(policy),
    ...routedRules(policy),
    ...directRules(policy),
    ...exceptionRules(policy),
    ...relayRules(policy),
    ...remoteRules(policy),
    ...routerRules(policy),
  ];
  const rules = [...rulesFor(network), ...rulesOn(network.ipv6, further)];
  const { lans } = policy;
  const routes = routesTo(policy.routed, network);
  const lanRoutes = [...routesToLan(network), ...routesToRemote(policy, network.ipv6 === "on")];
  const arp = arpTextOf(isOn || isUsed(policy) ? policy.uplink : null);
  if (isOn) return { policy, ruleset: rulesetOf(policy), arp, rules, routes, lanRoutes, lans };
  return {
    policy,
    lans,
    routes,
    lanRoutes: isUsed(policy) ? lanRoutes : [],
    arp,
    ruleset: openRulesetOf(policy),
    rules: isUsed(policy) ? withoutBarrier(rules) : [],
  };
}
