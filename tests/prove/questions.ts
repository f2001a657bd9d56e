import { familyOf } from "../../src/base/address.ts";
import { meshOf } from "../../src/killswitch/mesh.ts";
import { exitOfLink } from "../../src/killswitch/network-part.ts";
import type { Exit, Policy } from "../../src/killswitch/policy.ts";
import { passesBetween, reachesOthers, reachesPage } from "./between-networks.ts";
import {
  comesIn,
  comesInUnmarked,
  reachesGateway,
  reachesTunnelAddress,
  sharesOwnAddress,
} from "./coming-in.ts";
import {
  homesCircle,
  leavesBeyondLink,
  leavesByTunnel,
  leavesDirectly,
  leavesWithOwnAddress,
} from "./devices-leave.ts";
import {
  asksLan,
  ownEntersTunnel,
  ownLeaves,
  ownLeavesUnmarked,
  redirectsDevices,
} from "./gateway-leaves.ts";
import { namesLeave, namesReachGateway } from "./names.ts";
import type { Family } from "./packet.ts";
import { type Ask, asked, lanNames, type Question } from "./question.ts";
import { TRUE } from "./terms.ts";
import type { Walks } from "./walks.ts";

// What is asked of each state: what no packet may do, and what some packet must be able to do. docs/proof.md has the
// properties (a) to (f) in words.

/** Of the firewall, alone or with routing. */
export const OF_BOTH: readonly Ask[] = [
  ...[leavesDirectly, leavesByTunnel, leavesWithOwnAddress, homesCircle, ownLeaves, ownEntersTunnel],
  ...[redirectsDevices, asksLan],
  ...[reachesGateway, reachesTunnelAddress, sharesOwnAddress, comesIn],
  ...[namesLeave, namesReachGateway, possible, passesBetween, reachesOthers, reachesPage],
];

/** Of routing alone: what does not depend on what the firewall marks, refuses and translates. */
export const OF_ROUTING: readonly Ask[] = [
  ...[leavesBeyondLink, ownLeavesUnmarked, comesInUnmarked, passesBetween],
];

/** In a transition, besides: what the state before had, and this one does not, is used by nobody. */
export const OF_TRANSITION: readonly Ask[] = [
  ...OF_BOTH.filter((each) => each !== possible && each !== reachesOthers),
  leavesByFormer,
];

function leavesByFormer(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink, remote, endpoints } = policy;
  const own = [
    ...lanNames(policy),
    ...endpoints.map((each) => each.interface),
    uplink,
    remote?.interface,
    "lo",
  ];
  const others = walks.links.filter((link) => link !== "lo");
  return others
    .filter((link) => !own.includes(link))
    .flatMap((former) => [
      ...others.flatMap((other) => [
        asked("b", `${other} > former ${former}`, walks.forwarded(family, other, former), TRUE),
        asked("e", `former ${former} > ${other}`, walks.forwarded(family, former, other), TRUE),
      ]),
      asked("d", `former ${former} > gateway`, walks.delivered(family, former), TRUE),
      ...walks
        .sent(family, former)
        .map((walk) => asked("c", `gateway > former ${former}, first ${walk.first}`, walk, TRUE)),
    ]);
}

/** On a mesh, devices are known by address. */
function decidedOn(policy: Policy, lan: string, family: Family): Exit[] {
  const isMesh = policy.lans.some(({ interface: link, mesh }) => link === lan && mesh);
  const own = policy.routed.filter(
    ({ prefix }) => familyOf(prefix) === family && meshOf(prefix, policy)?.interface === lan,
  );
  return (isMesh ? own : policy.devices).map(({ exit }) => exit);
}

/** What has to be possible: a proof that nothing moves would prove everything. */
export function possible(walks: Walks, policy: Policy, family: Family): Question[] {
  const { carrying } = policy;
  const tunnels = carrying.filter(({ addresses }) => addresses.some((each) => familyOf(each) === family));
  const isOn = (name: string, lan: string) =>
    [exitOfLink(policy, lan), ...decidedOn(policy, lan, family)].some(
      (exit) => exit.to === "tunnel" && exit.name === name,
    );
  const ways = tunnels.flatMap((tunnel) =>
    lanNames(policy)
      .filter((lan) => isOn(tunnel.tunnel, lan))
      .filter((lan) =>
        policy.lans.some(
          (each) =>
            each.interface === lan &&
            each.prefixes.some((prefix) => familyOf(prefix) === family && !prefix.startsWith("fe80")),
        ),
      )
      .flatMap((lan) => [
        asked(
          "possible",
          `${lan} > ${tunnel.interface}`,
          walks.forwarded(family, lan, tunnel.interface),
          walks.forwarded(family, lan, tunnel.interface).packet.isFirst,
        ),
        asked(
          "possible",
          `${tunnel.interface} > ${lan}`,
          walks.forwarded(family, tunnel.interface, lan),
          TRUE,
        ),
      ]),
  );
  return ways;
}
