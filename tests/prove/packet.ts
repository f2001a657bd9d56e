import { addressBits } from "./address-bits.ts";
import {
  atLeast,
  atMost,
  bits,
  bool,
  both,
  either,
  FALSE,
  fresh,
  implies,
  masked,
  no,
  same,
  type Term,
  TRUE,
  within,
} from "./terms.ts";

// One packet: what is on the wire, what conntrack says of it, and what the rules change on the way.

export type Family = 4 | 6;
export const TCP = 6;
export const UDP = 17;
export const ICMP = 1;
export const ICMPV6 = 58;
/** Bits of `ct state`. */
export const STATES = { invalid: 1, established: 2, related: 4, new: 8, untracked: 64 } as const;

/** The part of a connection's tuple that a translation can change. */
interface Tuple {
  src: Term;
  dst: Term;
  sport: Term;
  dport: Term;
}

export interface Packet extends Tuple {
  readonly family: Family;
  /** The interface by which it has come; `lo` for the gateway's own. */
  readonly iif: string;
  readonly mac: Term;
  readonly protocol: Term;
  readonly icmpType: Term;
  readonly icmpCode: Term;
  readonly tcpFlags: Term;
  /** Bits 64 to 95 after the start of the transport header. */
  readonly payload: Term;
  /** Whether it is long enough to have a transport header, and that payload. */
  readonly hasPorts: Term;
  readonly hasPayload: Term;
  hop: Term;
  mark: Term;
  /** As conntrack has it, without the rules that say `notrack`. */
  readonly state: Term;
  readonly isReply: Term;
  /** The first packet of a connection: the only one that NAT's chains see. */
  readonly isFirst: Term;
  isDnat: Term;
  isSnat: Term;
  /** Whether the source's port was changed alone, because another connection had it already. */
  isMoved: Term;
  /** The tuple of the connection's original direction. */
  readonly original: Tuple;
  zone: Term;
  isZoneOneWay: Term;
  isTracked: Term;
  /** Whether conntrack has seen it yet. */
  isPastConntrack: boolean;
  /** Whether a NAT rule has translated it at this hook. */
  isTranslated: Term;
  /** As it has come. */
  readonly start: Tuple & { mark: Term };
}

export function newPacket(family: Family, iif: string, mark: Term): Packet {
  const width = family === 4 ? 32 : 128;
  const tuple = (name: string): Tuple => ({
    src: fresh(`${name}source`, width),
    dst: fresh(`${name}destination`, width),
    sport: fresh(`${name}source port`, 16),
    dport: fresh(`${name}destination port`, 16),
  });
  const start = tuple("");
  return {
    ...start,
    ...{ family, iif, mark, start: { ...start, mark } },
    ...{ mac: fresh("MAC", 48), protocol: fresh("protocol", 8), hop: fresh("hop limit", 8) },
    ...{ icmpType: fresh("type", 8), icmpCode: fresh("code", 8), tcpFlags: fresh("flags", 8) },
    ...{ payload: fresh("payload", 32), hasPorts: fresh("has ports"), hasPayload: fresh("has payload") },
    ...{ state: fresh("state", 8), isReply: fresh("reply"), isFirst: fresh("first") },
    ...{
      isDnat: fresh("dnat"),
      isSnat: fresh("snat"),
      isMoved: fresh("moved"),
      original: tuple("original "),
    },
    ...{ zone: bits(0, 16), isZoneOneWay: FALSE, isTracked: TRUE },
    ...{ isPastConntrack: false, isTranslated: FALSE },
  };
}

export function isState(packet: Packet, ...states: readonly (keyof typeof STATES)[]): Term {
  return either(...states.map((state) => same(packet.state, STATES[state])));
}

export function isProtocol({ protocol }: Packet, ...numbers: readonly number[]): Term {
  return either(...numbers.map((number) => same(protocol, number)));
}

/** Invalid and untracked packets have none, and no match on `ct` but that on the state can be met. */
export function hasConnection(packet: Packet): Term {
  return packet.isPastConntrack ? both(packet.isTracked, no(isState(packet, "invalid", "untracked"))) : FALSE;
}

/** Neighbour discovery and MLD, which conntrack leaves alone, but for redirects (nf_conntrack_icmpv6_error). */
export function isDiscovery(packet: Packet): Term {
  if (packet.family === 4) return FALSE;
  const types = either(
    both(atLeast(packet.icmpType, 130), atMost(packet.icmpType, 136)),
    same(packet.icmpType, 143),
  );
  return both(isProtocol(packet, ICMPV6), types);
}

export function isOneOf(address: Term, some: readonly string[], family: Family): Term {
  return either(
    ...some
      .filter((each) => each.includes(":") === (family === 6))
      .map((each) => same(address, addressBits(each))),
  );
}

export function isMulticast({ family, dst }: Pick<Packet, "family" | "dst">): Term {
  return family === 4
    ? either(within(dst, 0xe0000000n, 4), same(dst, 0xffffffffn))
    : within(dst, 0xffn << 120n, 8);
}

/** What the rules can do with addresses of a family. */
export interface Translations {
  targets: readonly bigint[];
  masquerades: boolean;
}

/** What conntrack can say of a packet, each line with the kernel's function. docs/proof.md has the assumptions to know. */
export function conntrackSays(
  packet: Packet,
  own: readonly bigint[],
  { targets, masquerades }: Translations,
): Term[] {
  const { start, original, isReply, isFirst, isDnat, isSnat, isMoved, family } = packet;
  const isKnown = isState(packet, "established", "related", "new");
  const isOwn = (address: Term, those: readonly bigint[]) =>
    either(...those.map((each) => same(address, each)));
  const hasTuple = both(same(original.src, start.src), same(original.dst, start.dst));
  const hasPorts = both(same(original.sport, start.sport), same(original.dport, start.dport));
  return [
    either(isKnown, isState(packet, "invalid", "untracked")),
    // resolve_normal_ct: an answer is never new.
    implies(isState(packet, "new"), no(isReply)),
    // nf_nat_inet_fn: what is not new has been translated.
    implies(isFirst, both(isState(packet, "new"), no(isDnat), no(isSnat), no(isMoved))),
    // tcp_new: no connection begins with a reset.
    implies(isFirst, no(isReset(packet))),
    implies(no(isKnown), both(no(isDnat), no(isSnat), no(isMoved), no(isReply))),
    // There are no helpers, so what is related is an ICMP error, or a reset of the gateway's own (nf_send_reset).
    implies(
      isState(packet, "related"),
      either(isProtocol(packet, family === 4 ? ICMP : ICMPV6), isOwnReset(packet)),
    ),
    // nf_ct_get_tuple: in the original direction, a packet that is no error has the original tuple.
    implies(
      both(isState(packet, "new", "established"), no(isReply)),
      both(hasTuple, implies(isProtocol(packet, TCP, UDP), hasPorts)),
    ),
    // nf_nat_masquerade_ipv4: the source was an address of the link, whose connections end with it.
    implies(both(isSnat, isReply), isOwn(start.dst, own)),
    // Connections were translated by these rules: conntrack is flushed when rules change.
    implies(both(isDnat, isReply, no(isState(packet, "related"))), isOwn(start.src, targets)),
    implies(isDnat, bool(targets.length > 0)),
    implies(isSnat, bool(masquerades)),
    ...repliesGoBack(packet, isKnown),
    // ip6_rcv_core, ip_route_input_slow: nothing comes from a multicast address.
    ...[start.src, original.src].map((dst) => no(isMulticast({ family, dst }))),
    // With a wrong checksum it is invalid.
    implies(isState(packet, "untracked"), isDiscovery(packet)),
    implies(isDiscovery(packet), isState(packet, "untracked", "invalid")),
  ];
}

function isOwnReset(packet: Packet): Term {
  return packet.iif === "lo" ? isReset(packet) : FALSE;
}

export function isReset(packet: Packet): Term {
  return both(isProtocol(packet, TCP), no(same(masked(packet.tcpFlags, 4), 0)));
}

/** An address that is not translated is the connection's own. */
function repliesGoBack(packet: Packet, isKnown: Term): Term[] {
  const { start, original, isReply, isDnat, isSnat, isMoved, iif, family } = packet;
  const isError = isState(packet, "related");
  const isPart = both(isKnown, no(isError));
  const hasPorts = isProtocol(packet, TCP, UDP);
  return [
    implies(both(isPart, isReply, no(isSnat)), same(start.dst, original.src)),
    implies(both(isPart, isReply, no(isSnat), no(isMoved), hasPorts), same(start.dport, original.sport)),
    implies(both(isPart, isReply, no(isDnat)), same(start.src, original.dst)),
    // A socket answers from an own address, so the connection's packets go to one: they are delivered, and never pass
    // postrouting, where sources are translated.
    ...(iif === "lo" && family === 4 ? [no(both(isPart, isReply, isSnat))] : []),
    // nf_conntrack_inet_error: an error goes to where the packet came from that it is about. The gateway's own are not
    // checked, since icmp_glue_bits gives them their connection.
    ...(iif === "lo"
      ? []
      : [
          implies(both(isError, isReply, no(isSnat)), same(start.dst, original.src)),
          implies(both(isError, no(isReply)), same(start.dst, original.dst)),
        ]),
  ];
}
