import { addressOf, familyOf, isLinkLocal } from "../../src/base/address.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { isIn } from "./exits.ts";
import { type Family, ICMP, ICMPV6, isProtocol, isState, type Packet, TCP, UDP } from "./packet.ts";
import { asked, type Question } from "./question.ts";
import { both, either, FALSE, no, same, type Term, TRUE } from "./terms.ts";
import type { Walks } from "./walks.ts";

// The questions about the networks of the LAN.

/** (h) Nothing passes between two networks, unless both sides say so. (a) asks about the uplink's cable. */
export function passesBetween(walks: Walks, policy: Policy, family: Family): Question[] {
  return pairsOf(policy)
    .filter(({ isOpen, to }) => !isOpen && to.interface !== policy.uplink)
    .map(({ from, to }) => {
      const walk = walks.forwarded(family, from.interface, to.interface);
      return asked("h", `${from.interface} > ${to.interface}`, walk, isOf(walk.packet.dst, to, family));
    });
}

/** What says so passes both ways, but no question for a name. */
export function reachesOthers(walks: Walks, policy: Policy, family: Family): Question[] {
  return pairsOf(policy)
    .filter(({ isOpen, from, to }) => isOpen && hasFamily(from, family) && hasFamily(to, family))
    .flatMap(({ from, to }) => {
      const walk = walks.forwarded(family, from.interface, to.interface);
      const way = `${from.interface} > ${to.interface}`;
      const isQuery = both(
        isProtocol(walk.packet, TCP, UDP),
        walk.packet.hasPorts,
        either(same(walk.packet.dport, 53), same(walk.packet.dport, 853)),
      );
      const isBetween = both(isOf(walk.packet.start.src, from, family), isOf(walk.packet.dst, to, family));
      return [
        asked("possible", way, walk, walk.packet.isFirst),
        asked("possible", `${way}, replies`, walk, walk.packet.isReply),
        asked("h", `${way}, nothing else`, walk, either(no(isBetween), isQuery)),
      ];
    });
}

/** (h) From a network without the page, the gateway gets DNS, DHCP, pings, neighbour discovery and answers. */
export function reachesPage(walks: Walks, policy: Policy, family: Family): Question[] {
  return (policy.networks ?? [])
    .filter(({ page }) => !page)
    .map(({ interface: from }) => {
      const walk = walks.delivered(family, from);
      return asked("h", `${from} > gateway`, walk, no(isPermitted(policy, walk.packet, family)));
    });
}

function isPermitted({ resolver }: Policy, packet: Packet, family: Family): Term {
  const isPort = (...ports: readonly number[]) => either(...ports.map((port) => same(packet.dport, port)));
  const asking = (resolver?.askers ?? []).flatMap(({ port }) => port ?? []);
  const own = resolver === undefined ? [] : [resolver.port, ...asking];
  const icmp =
    family === 4
      ? both(isProtocol(packet, ICMP), same(packet.icmpType, 8))
      : both(
          isProtocol(packet, ICMPV6),
          either(...[128, 133, 134, 135, 136].map((type) => same(packet.icmpType, type))),
        );
  return either(
    both(isProtocol(packet, TCP, UDP), isPort(53, 853)),
    both(isProtocol(packet, TCP, UDP), isPort(...own), packet.isDnat),
    both(isProtocol(packet, UDP), isPort(67, 68, 546, 547)),
    icmp,
    both(packet.isReply, isState(packet, "established", "related")),
  );
}

type Lan = Policy["lans"][number];

function pairsOf({ lans, networks = [] }: Policy) {
  const isOpen = (lan: Lan) => networks.some((each) => each.interface === lan.interface && each.others);
  return lans.flatMap((from) =>
    lans.filter((to) => to !== from).map((to) => ({ from, to, isOpen: isOpen(from) && isOpen(to) })),
  );
}

function hasFamily({ prefixes }: Lan, family: Family): boolean {
  return prefixes.some((each) => familyOf(each) === family && !isLinkLocal(addressOf(each)));
}

function isOf(address: Term, { prefixes }: Lan, family: Family): Term {
  const own = prefixes.filter((each) => familyOf(each) === family && !isLinkLocal(addressOf(each)));
  return own.length === 0 ? FALSE : both(TRUE, either(...own.map((each) => isIn(address, each))));
}
