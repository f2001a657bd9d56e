import { familyOf, type Prefix } from "../../src/base/address.ts";
import { type FirewallTunnel, type Policy, tunnelsOf } from "../../src/killswitch/policy.ts";
import { ANY_SLOT_MASK, MARK_MASK, RELAY_MARK, REMOTE_MARK, ROUTER_MARK } from "../../src/network/slot.ts";
import { addressBits } from "./address-bits.ts";
import { isDhcp } from "./connections.ts";
import { hasExit, hasOwnExit, isIn } from "./exits.ts";
import {
  type Family,
  ICMP,
  ICMPV6,
  isMulticast,
  isOneOf,
  isProtocol,
  isState,
  type Packet,
  TCP,
  UDP,
} from "./packet.ts";
import {
  atLeast,
  atMost,
  bool,
  both,
  either,
  FALSE,
  implies,
  masked,
  no,
  same,
  type Term,
  TRUE,
  within,
} from "./terms.ts";
import type { Walk, Walks } from "./walks.ts";

// What is asked of each state: what no packet may do, and what some packet must be able to do. docs/proof.md has the
// properties (a) to (f) in words.

export interface Question {
  property: "a" | "b" | "c" | "d" | "e" | "f" | "possible";
  /** Which packets, for people. */
  of: string;
  walk: Walk;
  /** What the packet must be to be an answer. */
  wrong: Term;
}

export type Ask = (walks: Walks, policy: Policy, family: Family) => Question[];

/** Of the firewall, alone or with routing. */
export const OF_BOTH: readonly Ask[] = [
  ...[leavesDirectly, leavesByTunnel, leavesWithOwnAddress, ownLeaves, ownEntersTunnel],
  ...[reachesGateway, reachesTunnelAddress, comesIn, namesLeave, namesReachGateway, possible],
];

/** Of routing alone: what does not depend on what the firewall marks, refuses and translates. */
export const OF_ROUTING: readonly Ask[] = [leavesBeyondLink, ownLeavesUnmarked];

/** (a) What a device sends leaves by the uplink only if its exit is `direct`. */
function leavesDirectly(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return clientsOf(policy).map((from) => {
    const walk = walks.forwarded(family, from, uplink);
    const { packet } = walk;
    // With one card, answers come in and leave by the same interface.
    const toLan = lanNames(policy).includes(uplink) ? isInside(policy, packet.dst, family) : FALSE;
    // A device on the road may be allowed into the LAN: (e) asks which.
    // With one card, DHCP of a direct device that has another network's address is answered there.
    const isAnswer = both(packet.isReply, either(toLan, isDhcp(packet)));
    const isPermitted = from === uplink ? isAnswer : toLan;
    return asked(
      "a",
      `${from} > ${uplink}`,
      walk,
      both(no(isPermitted), no(hasExit(policy, packet, "direct"))),
    );
  });
}

/** The same, with one card, for what is not on the cable anyway. */
function leavesBeyondLink(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return lanNames(policy).map((from) => {
    const walk = walks.forwarded(family, from, uplink);
    const isOnLink = from === uplink ? isInside(policy, walk.packet.dst, family) : FALSE;
    return asked("a", `${from} > ${uplink}`, walk, both(no(isOnLink), no(isMulticast(walk.packet))));
  });
}

/** (b) What a device sends leaves by a tunnel only if that is its exit. */
function leavesByTunnel(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    // What answers a connection that has come in by a forwarded port leaves by that port's tunnel.
    const isAnswer = policy.forwards.length > 0 ? walk.packet.isReply : FALSE;
    return asked(
      "b",
      `${from} > ${tunnel.interface}`,
      walk,
      both(no(isAnswer), no(hasExit(policy, walk.packet, tunnel.tunnel))),
    );
  });
}

/** (b) It has the tunnel's own address then. */
function leavesWithOwnAddress(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    return asked(
      "b",
      `${from} > ${tunnel.interface}, its address`,
      walk,
      no(isOneOf(walk.packet.src, tunnel.addresses, family)),
    );
  });
}

/** (c) What leaves of the gateway's own by the uplink. */
function ownLeaves(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return [null, uplink].flatMap((bound) =>
    walks
      .sent(family, uplink, bound)
      .map((walk, at) =>
        asked(
          "c",
          `gateway > ${uplink}${bound === null ? "" : ", bound"} (${at})`,
          walk,
          no(isPermitted(policy, walk.packet)),
        ),
      ),
  );
}

/** (c) By routing alone: of programs that are bound to nothing and may set no mark, and not what asks no rule. */
function ownLeavesUnmarked(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return walks.sent(family, uplink).map((walk) => {
    const { packet } = walk;
    // What is for a link-local address stays on the cable.
    const asksNoRule =
      family === 4
        ? isMulticast(packet)
        : either(isProtocol(packet, ICMPV6), within(packet.dst, 0xfe80n << 112n, 10));
    return asked(
      "c",
      `gateway > ${uplink}`,
      walk,
      both(isUnmarked(packet), no(asksNoRule), no(isPermitted(policy, packet))),
    );
  });
}

/** (c) What the gateway itself sends into a tunnel has the tunnel's own address. */
function ownEntersTunnel(walks: Walks, policy: Policy, family: Family): Question[] {
  return policy.carrying.flatMap((tunnel) =>
    walks
      .sent(family, tunnel.interface)
      .map((walk, at) =>
        asked(
          "c",
          `gateway > ${tunnel.interface} (${at})`,
          walk,
          no(isOneOf(walk.packet.src, tunnel.addresses, family)),
        ),
      ),
  );
}

/** (d) What comes from outside reaches a socket of the gateway's only as an answer, or at WireGuard's port. */
function reachesGateway(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink, endpoints } = policy;
  const tunnels = [...new Set(endpoints.map((each) => each.interface))];
  const outside = [...(uplink === null || lanNames(policy).includes(uplink) ? [] : [uplink]), ...tunnels];
  return outside.map((from) => {
    const walk = walks.delivered(family, from);
    const { packet } = walk;
    const isAnswer = both(packet.isTracked, isState(packet, "established", "related"));
    const known =
      from === uplink
        ? isPermittedIn(policy, packet)
        : either(isAnswer, isToRemoteSocket(policy, packet, from));
    return asked("d", `${from} > gateway`, walk, no(known));
  });
}

/** (d) CVE-2019-14899: only its server sends to a tunnel's address, and to nothing else. */
function reachesTunnelAddress(walks: Walks, policy: Policy, family: Family): Question[] {
  const { endpoints } = policy;
  return walks.links
    .filter((link) => link !== "lo")
    .map((from) => {
      const walk = walks.delivered(family, from);
      const own = endpoints.filter((each) => each.interface === from);
      const others = endpoints.filter((each) => each.interface !== from);
      const isOf = (tunnels: readonly FirewallTunnel[]) =>
        either(...tunnels.map(({ addresses }) => isOneOf(walk.packet.start.dst, addresses, family)));
      const wrong = own.length > 0 ? no(isOf(own)) : isOf(others);
      return asked("d", `${from} > a tunnel's address`, walk, wrong);
    });
}

/** (e) What comes from outside reaches a device only as an answer, or by a forwarded port; and no other way out. */
function comesIn(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink, remote } = policy;
  const [inside, lans] = [clientsOf(policy), lanNames(policy)];
  const tunnels = [...new Set(policy.endpoints.map((each) => each.interface))];
  const outside = [...(uplink === null || lans.includes(uplink) ? [] : [uplink]), ...tunnels];
  const answers = outside.flatMap((from) =>
    inside.map((to) => {
      const walk = walks.forwarded(family, from, to);
      return asked(
        "e",
        `${from} > ${to}`,
        walk,
        no(either(isKnownAnswer(walk.packet), isForwarded(policy, walk.packet, from))),
      );
    }),
  );
  const across = outside.flatMap((from) =>
    outside
      .filter((to) => to !== from || from === uplink)
      .map((to) => asked("e", `${from} > ${to}`, walks.forwarded(family, from, to), TRUE)),
  );
  return [
    ...answers,
    ...across,
    ...(remote === undefined ? [] : fromRoad(walks, policy, family, remote.interface)),
  ];
}

/** (e) A device on the road reaches the LAN only if it may, and no other device on the road; the LAN only answers. */
function fromRoad(walks: Walks, policy: Policy, family: Family, road: string): Question[] {
  const may = (policy.remote?.devices ?? []).filter(({ lan }) => lan).flatMap(({ addresses }) => addresses);
  return [
    ...lanNames(policy).flatMap((lan) => {
      const [there, back] = [walks.forwarded(family, road, lan), walks.forwarded(family, lan, road)];
      // With one card, what is direct leaves there as well.
      const isDirect = lan === policy.uplink ? hasExit(policy, there.packet, "direct") : FALSE;
      return [
        asked(
          "e",
          `${road} > ${lan}`,
          there,
          both(no(isOneOf(there.packet.start.src, may, family)), no(isDirect)),
        ),
        asked("e", `${lan} > ${road}`, back, no(isKnownAnswer(back.packet))),
      ];
    }),
    asked("e", `${road} > ${road}`, walks.forwarded(family, road, road), TRUE),
  ];
}

/** (f) A question for a name leaves by the exit of the device that asks, and goes to a resolver of that tunnel. */
function namesLeave(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    const { packet } = walk;
    const resolvers = tunnelsOf(tunnel.tunnel, policy).flatMap((each) => each.resolvers);
    const own = implies(
      bool(resolvers.some((each) => familyOf(each) === family)),
      isOneOf(packet.dst, resolvers, family),
    );
    // In a switch, what its zone has given to one tunnel may find the other's route, and be redirected to neither's.
    const isSwitch = tunnelsOf(tunnel.tunnel, policy).length > 1;
    const isAsked = both(packet.isFirst, isSwitch ? same(packet.zone, tunnel.zone) : TRUE);
    const wrong = either(no(hasOwnExit(policy, packet, tunnel.tunnel)), both(isAsked, no(own)));
    const isAnswer = policy.forwards.length > 0 ? packet.isReply : FALSE;
    return asked(
      "f",
      `${from} > ${tunnel.interface}, port 53`,
      walk,
      both(isQuery(packet, 53), no(isAnswer), wrong),
    );
  });
}

/** (f) A resolver on the gateway asks by main: no device of another exit reaches it. Its own one knows who asks. */
function namesReachGateway(walks: Walks, policy: Policy, family: Family): Question[] {
  const { resolver } = policy;
  return clientsOf(policy).map((from) => {
    const walk = walks.delivered(family, from);
    const { packet } = walk;
    const isPort = (port: number) =>
      both(
        isProtocol(packet, TCP, UDP),
        packet.hasPorts,
        no(isState(packet, "invalid")),
        same(packet.dport, port),
      );
    const isQuestion = both(either(isPort(53), isPort(853)), no(packet.isReply));
    const toOther = both(isQuestion, no(hasOwnExit(policy, packet, "main")));
    const asksFor = (resolver?.askers ?? []).map(({ id, port }) => ({ id, port }));
    const toOwn = asksFor.map(({ id, port }) => {
      if (port === null) return FALSE;
      const isAsker = id.includes("/")
        ? familyOf(id as Prefix) === family
          ? isIn(packet.start.src, id as Prefix)
          : FALSE
        : isMac(packet, id);
      return both(isPort(port), no(packet.isReply), no(isAsker));
    });
    return asked("f", `${from} > gateway, names`, walk, either(toOther, ...toOwn));
  });
}

/** What has to be possible: a proof that nothing moves would prove everything. */
function possible(walks: Walks, policy: Policy, family: Family): Question[] {
  const { carrying } = policy;
  const tunnels = carrying.filter(({ addresses }) => addresses.some((each) => familyOf(each) === family));
  const isOn = (name: string) =>
    [policy.defaultExit, ...policy.devices.map(({ exit }) => exit)].some(
      (exit) => exit.to === "tunnel" && exit.name === name,
    );
  const ways = tunnels
    .filter(({ tunnel }) => isOn(tunnel))
    .flatMap((tunnel) =>
      lanNames(policy)
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

function asked(property: Question["property"], of: string, walk: Walk, wrong: Term): Question {
  return { property, of: `IPv${walk.packet.family} ${of}`, walk, wrong };
}

/** Of a program that may set no mark. */
function isUnmarked({ start }: Packet): Term {
  return same(masked(start.mark, MARK_MASK), 0);
}

/** The gateway's own on the uplink, as it leaves. */
function isPermitted(policy: Policy, p: Packet): Term {
  const { endpoints, lookups, exemptions, routers = [], remote } = policy;
  const isMarked = (mark: number, mask = MARK_MASK) => same(masked(p.mark, mask), mark);
  const isTo = (address: string) => isOneOf(p.dst, [address], p.family);
  const relayed = endpoints.flatMap(({ relay, endpoint: { address, port } }) =>
    relay === undefined
      ? []
      : both(
          isMarked(RELAY_MARK),
          isProtocol(p, relay === "tcp" ? TCP : UDP),
          isTo(address),
          same(p.dport, port),
        ),
  );
  const wireguard = both(isMarked(0x104c, ANY_SLOT_MASK), isServer(policy, p, p.dst, p.dport), isMessage(p));
  const socket =
    remote === undefined || remote.through !== null
      ? FALSE
      : both(isMarked(REMOTE_MARK), isProtocol(p, UDP), same(p.sport, remote.port), isMessage(p));
  const lookUps = lookups.map(({ resolvers, sourcePort }) =>
    both(
      isProtocol(p, UDP),
      same(p.sport, sourcePort),
      same(p.dport, 53),
      isOneOf(p.dst, resolvers, p.family),
    ),
  );
  const exempt = exemptions.map(({ addresses, port, sourcePort }) =>
    both(
      isProtocol(p, TCP),
      same(p.sport, sourcePort),
      same(p.dport, port),
      isOneOf(p.dst, addresses, p.family),
    ),
  );
  const router = both(
    isMarked(ROUTER_MARK),
    isProtocol(p, UDP),
    either(
      both(isOneOf(p.dst, routers, p.family), either(same(p.dport, 5351), same(p.dport, 1900))),
      both(
        isOneOf(p.dst, ["239.255.255.250"], p.family),
        same(p.dport, 1900),
        same(p.sport, policy.searchPort ?? 0),
      ),
    ),
  );
  return either(
    wireguard,
    ...relayed,
    socket,
    ...lookUps,
    ...exempt,
    router,
    isLinkTraffic(policy, p),
    isForLan(policy, p),
  );
}

/** DHCP and neighbour discovery. */
function isLinkTraffic({ uplinkPrefixes, uplinkAddresses }: Policy, p: Packet): Term {
  const isOnLink = either(
    ...uplinkPrefixes.filter((each) => familyOf(each) === p.family).map((each) => isIn(p.dst, each)),
  );
  if (p.family === 4)
    return both(
      isProtocol(p, UDP),
      same(p.start.sport, 68),
      same(p.dport, 67),
      either(same(p.dst, 0xffffffffn), isOnLink),
    );
  const isNear = either(within(p.dst, 0xfe80n << 112n, 10), within(p.dst, 0xff02n << 112n, 16));
  const isNeighbour = either(
    ...uplinkAddresses
      .filter((each) => familyOf(each) === 6)
      .map((each) => within(p.dst, addressBits(each), 64)),
  );
  const discovery = both(
    isProtocol(p, ICMPV6),
    atLeast(p.icmpType, 133),
    atMost(p.icmpType, 136),
    same(p.hop, 255),
  );
  return either(
    both(isProtocol(p, UDP), same(p.start.sport, 546), same(p.dport, 547), isNear),
    both(discovery, either(isNear, isOnLink, isNeighbour)),
  );
}

/** With one card: the LAN's own traffic, which is on the uplink's cable. */
function isForLan(policy: Policy, p: Packet): Term {
  const { uplink } = policy;
  if (uplink === null || !lanNames(policy).includes(uplink)) return FALSE;
  const lan = isInside(policy, p.dst, p.family);
  if (p.family === 4)
    return either(
      lan,
      isOneOf(p.dst, ["224.0.0.251"], 4),
      both(isProtocol(p, UDP), same(p.start.sport, 67), same(p.dport, 68)),
    );
  // To neighbours with public addresses. A rejection with this hop limit ends at the first router.
  const neighbours = both(
    isProtocol(p, ICMPV6),
    either(same(p.icmpType, 135), same(p.icmpType, 136)),
    same(p.hop, 255),
  );
  const rejection = both(
    same(p.hop, 1),
    either(
      both(isProtocol(p, TCP), no(same(masked(p.tcpFlags, 4), 0))),
      both(isProtocol(p, ICMPV6), same(p.icmpType, 1)),
    ),
  );
  return either(lan, neighbours, rejection);
}

/** What may come in by the uplink. */
function isPermittedIn(policy: Policy, p: Packet): Term {
  const { lookups, exemptions, routers = [], endpoints, uplink } = policy;
  const isAnswer = both(p.isReply, isState(p, "established"));
  const dhcp = p.family === 4 ? [67, 68] : [547, 546];
  const lease = both(isProtocol(p, UDP), same(p.sport, dhcp[0] ?? 0), same(p.dport, dhcp[1] ?? 0));
  const discovery =
    p.family === 4
      ? FALSE
      : both(isProtocol(p, ICMPV6), atLeast(p.icmpType, 133), atMost(p.icmpType, 136), same(p.hop, 255));
  const tooLong = both(
    isProtocol(p, p.family === 4 ? ICMP : ICMPV6),
    same(p.icmpType, p.family === 4 ? 3 : 2),
    isState(p, "related"),
  );
  const relayed = endpoints.flatMap(({ relay, endpoint: { address, port } }) =>
    relay === undefined
      ? []
      : both(
          isAnswer,
          isProtocol(p, relay === "tcp" ? TCP : UDP),
          isOneOf(p.src, [address], p.family),
          same(p.sport, port),
        ),
  );
  const lookUps = lookups.map(({ resolvers, sourcePort }) =>
    both(
      isProtocol(p, UDP),
      isOneOf(p.src, resolvers, p.family),
      same(p.sport, 53),
      same(p.dport, sourcePort),
    ),
  );
  const exempt = exemptions.map(({ addresses, port, sourcePort }) =>
    both(
      isProtocol(p, TCP),
      isOneOf(p.src, addresses, p.family),
      same(p.sport, port),
      same(p.dport, sourcePort),
    ),
  );
  const router = both(
    isProtocol(p, UDP),
    isOneOf(p.src, routers, p.family),
    either(isAnswer, same(p.dport, policy.searchPort ?? 5350), same(p.dport, 5350)),
  );
  const wireguard = both(isServer(policy, p, p.src, p.sport), isMessage(p), isState(p, "established"));
  return either(
    wireguard,
    lease,
    discovery,
    tooLong,
    ...relayed,
    ...lookUps,
    ...exempt,
    router,
    isToRemoteSocket(policy, p, uplink ?? ""),
  );
}

function isToRemoteSocket(policy: Policy, p: Packet, from: string): Term {
  const { remote, uplink } = policy;
  if (remote === undefined) return FALSE;
  const links =
    remote.through === null ? [uplink] : tunnelsOf(remote.through, policy).map((each) => each.interface);
  return links.includes(from) ? both(isProtocol(p, UDP), same(p.dport, remote.port), isMessage(p)) : FALSE;
}

/** A server that is reached without a relay. */
function isServer({ endpoints }: Policy, packet: Packet, address: Term, port: Term): Term {
  const own = endpoints.filter(
    ({ relay, endpoint }) => relay === undefined && familyOf(endpoint.address) === packet.family,
  );
  return both(
    isProtocol(packet, UDP),
    either(
      ...own.map(({ endpoint }) =>
        both(same(address, addressBits(endpoint.address)), same(port, endpoint.port)),
      ),
    ),
  );
}

/** One of WireGuard's four. */
function isMessage({ payload }: Packet): Term {
  return either(...[1, 2, 3, 4].map((type) => same(payload, type * 0x1000000)));
}

function isQuery(packet: Packet, port: number): Term {
  return both(isProtocol(packet, TCP, UDP), packet.hasPorts, same(packet.start.dport, port));
}

function isKnownAnswer(packet: Packet): Term {
  return both(packet.isReply, isState(packet, "established", "related"));
}

/** What a forwarded port leads to a device, and errors about that. */
function isForwarded({ forwards }: Policy, packet: Packet, from: string): Term {
  const own = forwards.filter((each) => each.interface === from && familyOf(each.to) === packet.family);
  if (own.length === 0) return FALSE;
  const led = own.map(({ protocol, inside, to, port }) =>
    both(
      isProtocol(packet, protocol === "tcp" ? TCP : UDP),
      same(packet.original.dport, inside),
      isOneOf(packet.dst, [to], packet.family),
      same(packet.dport, port),
    ),
  );
  return either(...led, isState(packet, "related"));
}

function isInside({ lans, uplink }: Policy, address: Term, family: Family): Term {
  const prefixes = lans.filter((lan) => lan.interface === uplink).flatMap((lan) => lan.prefixes);
  const near =
    family === 6 ? [within(address, 0xfe80n << 112n, 10), within(address, 0xff02n << 112n, 16)] : [];
  return either(
    ...near,
    ...prefixes.filter((each) => familyOf(each) === family).map((each) => isIn(address, each)),
  );
}

function isMac({ mac }: Packet, id: string): Term {
  return same(mac, BigInt(`0x${id.replaceAll(":", "")}`));
}

function lanNames({ lans }: Policy): string[] {
  return lans.map((lan) => lan.interface);
}

/** The interfaces of devices. */
function clientsOf(policy: Policy): string[] {
  return [...lanNames(policy), ...(policy.remote === undefined ? [] : [policy.remote.interface])];
}

function eachWayIn(policy: Policy) {
  return clientsOf(policy).flatMap((from) => policy.carrying.map((tunnel) => ({ from, tunnel })));
}
