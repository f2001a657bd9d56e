import { familyOf } from "../../src/base/address.ts";
import { type Policy, tunnelsOf } from "../../src/killswitch/policy.ts";
import { ANY_SLOT_MASK, MARK_MASK, RELAY_MARK, REMOTE_MARK, ROUTER_MARK } from "../../src/network/slot.ts";
import { addressBits } from "./address-bits.ts";
import { isIn } from "./exits.ts";
import { ICMP, ICMPV6, isOneOf, isProtocol, isState, type Packet, TCP, UDP } from "./packet.ts";
import { isInside, lanNames } from "./question.ts";
import { atLeast, atMost, both, either, FALSE, masked, no, same, type Term, within } from "./terms.ts";

// What a policy permits on the uplink, besides what devices send: of the gateway's own, and to its sockets.

/** The gateway's own on the uplink, as it leaves. Its port is the socket's: masquerading may choose another one. */
export function isPermitted(policy: Policy, p: Packet): Term {
  const { endpoints, lookups, exemptions, routers = [] } = policy;
  const isMarked = (mark: number, mask?: number) => hasMark(p, mark, mask);
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
  const lookUps = lookups.map(({ resolvers, sourcePort }) =>
    both(
      isProtocol(p, UDP),
      same(p.start.sport, sourcePort),
      same(p.dport, 53),
      isOneOf(p.dst, resolvers, p.family),
    ),
  );
  const exempt = exemptions.map(({ addresses, port, sourcePort }) =>
    both(
      isProtocol(p, TCP),
      same(p.start.sport, sourcePort),
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
        same(p.start.sport, policy.searchPort ?? 0),
      ),
    ),
  );
  return either(
    wireguard,
    ...relayed,
    isFromRemoteSocket(policy, p),
    ...lookUps,
    ...exempt,
    router,
    isLinkTraffic(policy, p),
    isForLan(policy, p),
  );
}

/** What the gateway's WireGuard sends to remote devices, wherever these are. */
export function isFromRemoteSocket({ remote }: Policy, p: Packet): Term {
  if (remote === undefined || remote.through !== null) return FALSE;
  return both(hasMark(p, REMOTE_MARK), isProtocol(p, UDP), same(p.start.sport, remote.port), isMessage(p));
}

function hasMark({ mark }: Packet, is: number, mask = MARK_MASK): Term {
  return same(masked(mark, mask), is);
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
export function isPermittedIn(policy: Policy, p: Packet): Term {
  const { lookups, exemptions, routers = [], endpoints, uplink } = policy;
  const isAnswer = both(p.isReply, isState(p, "established"));
  const dhcp = p.family === 4 ? [67, 68] : [547, 546];
  const lease = both(isProtocol(p, UDP), same(p.sport, dhcp[0] ?? 0), same(p.dport, dhcp[1] ?? 0));
  const discovery =
    p.family === 4
      ? FALSE
      : both(isProtocol(p, ICMPV6), atLeast(p.icmpType, 133), atMost(p.icmpType, 136), same(p.hop, 255));
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
    isTooLong(policy, p),
    ...relayed,
    ...lookUps,
    ...exempt,
    router,
    isToRemoteSocket(policy, p, uplink ?? ""),
  );
}

/** An ICMP error that says how long the packets to a server may be. */
function isTooLong({ endpoints }: Policy, p: Packet): Term {
  const { original, family } = p;
  const isError =
    family === 4
      ? both(isProtocol(p, ICMP), same(p.icmpType, 3), same(p.icmpCode, 4))
      : both(isProtocol(p, ICMPV6), same(p.icmpType, 2));
  const isAboutOne = endpoints.map(({ endpoint: { address, port } }) =>
    either(
      both(isOneOf(original.dst, [address], family), same(original.dport, port)),
      both(isOneOf(original.src, [address], family), same(original.sport, port)),
    ),
  );
  return both(isError, isState(p, "related"), either(...isAboutOne));
}

export function isToRemoteSocket(policy: Policy, p: Packet, from: string): Term {
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

/** Of a program that may set no mark. */
export function isUnmarked({ start }: Packet): Term {
  return same(masked(start.mark, MARK_MASK), 0);
}
