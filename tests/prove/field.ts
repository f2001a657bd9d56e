import { addressBits } from "./address-bits.ts";
import { hasConnection, ICMP, ICMPV6, type Packet, STATES, TCP, UDP } from "./packet.ts";
import type { Routing } from "./routing.ts";
import type { Field } from "./ruleset.ts";
import {
  bits,
  bool,
  both,
  choose,
  combined,
  either,
  FALSE,
  fresh,
  same,
  slice,
  type Term,
  TRUE,
  Unknown,
  within,
} from "./terms.ts";

// What a match reads of a packet.

export interface Reading {
  /** Without it the match fails, whatever it compares with. */
  exists: Term;
  /** Null for what is no number: names, and what look-ups answer. */
  value: Term | null;
  isOne(word: string): Term;
}

/** Where a packet is in its walk. */
export interface Place {
  packet: Packet;
  /** Null where no rule sees it. */
  iif: string | null;
  oif: string | null;
  routing: Routing;
  /** Interfaces with MAC addresses. */
  isEther(link: string): boolean;
  addressesOf(link: string): readonly string[];
}

type Names = Readonly<Record<string, number>>;

const FAMILIES: Names = { ipv4: 2, ipv6: 10 };
const PROTOCOLS: Names = { tcp: TCP, udp: UDP, icmp: ICMP, "ipv6-icmp": ICMPV6 };
const TCP_FLAGS: Names = { fin: 1, syn: 2, rst: 4, psh: 8, ack: 16, urg: 32 };
const ICMP_TYPES: Names = { "destination-unreachable": 3, redirect: 5, "echo-request": 8 };
const ICMP_CODES: Names = { "frag-needed": 4 };
const ICMPV6_TYPES: Names = {
  ...{ "destination-unreachable": 1, "packet-too-big": 2, "nd-router-solicit": 133, "nd-router-advert": 134 },
  ...{ "echo-request": 128, "nd-neighbor-solicit": 135, "nd-neighbor-advert": 136, "nd-redirect": 137 },
};
const STATUS: Names = { snat: 0x10, dnat: 0x20 };
const ETHER = 1;

export function read(field: Field, place: Place): Reading {
  const { packet, iif, oif } = place;
  switch (field) {
    case "iifname":
      return named(iif);
    case "oifname":
      return named(oif);
    case "meta nfproto":
      return number(bits(packet.family === 4 ? 2 : 10, 8), TRUE, FAMILIES);
    case "meta l4proto":
      return number(packet.protocol, TRUE, PROTOCOLS);
    case "meta mark":
      return number(packet.mark, TRUE);
    case "meta iiftype":
      return number(bits(isEther(place) ? ETHER : 0, 16), TRUE, { ether: ETHER });
    case "ether saddr":
      // nft adds `meta iiftype ether`.
      return number(packet.mac, bool(isEther(place)), macOf);
    case "rt ip6 nexthop":
      return open(bool(packet.family === 6));
    case "socket wildcard":
      return open(TRUE);
  }
  if (field.startsWith("ct ")) return connection(field.slice(3), packet);
  if (field.startsWith("fib ")) return lookUp(field.slice(4), place);
  return header(field, packet);
}

/** A word of nft's as the number that a field has. */
export function constant(field: Field, word: string): bigint {
  const reading = CONSTANTS[field];
  if (reading === undefined) return numberOf(word, {});
  return typeof reading === "function" ? reading(word) : numberOf(word, reading);
}

const CONSTANTS: Record<Field, Names | ((word: string) => bigint)> = {
  "meta nfproto": FAMILIES,
  "meta l4proto": PROTOCOLS,
  "meta iiftype": { ether: ETHER },
  "ether saddr": macOf,
  "tcp flags": TCP_FLAGS,
  "icmp type": ICMP_TYPES,
  "icmp code": ICMP_CODES,
  "icmpv6 type": ICMPV6_TYPES,
  "ct state": STATES,
  "ct status": STATUS,
  "ct direction": { original: 0, reply: 1 },
  ...Object.fromEntries(
    ["ip", "ip6"].flatMap((header) =>
      ["saddr", "daddr"].flatMap((side) =>
        [`${header} ${side}`, `ct original ${header} ${side}`].map((field) => [field, addressBits]),
      ),
    ),
  ),
};

function macOf(word: string): bigint {
  return BigInt(`0x${word.replaceAll(":", "")}`);
}

function numberOf(word: string, names: Names): bigint {
  const named = names[word];
  if (named !== undefined) return BigInt(named);
  if (!/^(0x[0-9a-f]+|\d+)$/.test(word)) throw new Unknown(`the constant ${word}`);
  return BigInt(word);
}

function isEther({ iif, isEther }: Place): boolean {
  return iif !== null && isEther(iif);
}

function named(name: string | null): Reading {
  // nft_meta_store_ifname: older kernels break the rule, newer ones have an empty name.
  if (name === null) return { exists: fresh("empty name"), value: null, isOne: () => FALSE };
  return { exists: TRUE, value: null, isOne: (word) => bool(word === name) };
}

/** Left open: both answers are possible. */
function open(exists: Term): Reading {
  return { exists, value: null, isOne: () => fresh("open") };
}

function number(value: Term, exists: Term, words: Names | ((word: string) => bigint) = {}): Reading {
  const of = typeof words === "function" ? words : (word: string) => numberOf(word, words);
  return { exists, value, isOne: (word) => same(value, of(word)) };
}

function address(value: Term, exists: Term): Reading {
  return {
    exists,
    value,
    isOne: (word) => {
      const [from = "", length] = word.split("/");
      return length === undefined
        ? same(value, addressBits(from))
        : within(value, addressBits(from), Number(length));
    },
  };
}

function header(field: Field, packet: Packet): Reading {
  const [protocol = "", part = ""] = field.split(" ");
  const isOf = (number: number) => both(same(packet.protocol, number), packet.hasPorts);
  const isFamily = bool(packet.family === (protocol === "ip" || protocol === "icmp" ? 4 : 6));
  switch (protocol) {
    case "ip":
    case "ip6":
      if (part === "hoplimit") return number(packet.hop, isFamily);
      // Of the other family there is no such field, and its width would be another.
      return isFamily === FALSE ? absent() : address(part === "saddr" ? packet.src : packet.dst, TRUE);
    case "tcp":
      return part === "flags"
        ? number(packet.tcpFlags, isOf(TCP), TCP_FLAGS)
        : number(part === "sport" ? packet.sport : packet.dport, isOf(TCP));
    case "udp":
      return number(part === "sport" ? packet.sport : packet.dport, isOf(UDP));
    case "th": {
      // Of another protocol these 16 bits are something else.
      const port = part === "sport" ? packet.sport : packet.dport;
      const hasPort = either(same(packet.protocol, TCP), same(packet.protocol, UDP));
      return number(choose(hasPort, port, fresh("th", 16)), packet.hasPorts);
    }
    case "icmp":
      return number(
        part === "type" ? packet.icmpType : packet.icmpCode,
        both(isFamily, isOf(ICMP)),
        part === "type" ? ICMP_TYPES : ICMP_CODES,
      );
    case "icmpv6":
      return number(packet.icmpType, both(isFamily, isOf(ICMPV6)), ICMPV6_TYPES);
    case "@th,64,32":
      return number(packet.payload, both(packet.hasPorts, packet.hasPayload));
    case "@th,87,1":
      return number(slice(packet.payload, 8, 8), both(packet.hasPorts, packet.hasPayload));
  }
  throw new Unknown(`the field ${field}`);
}

function absent(): Reading {
  return { exists: FALSE, value: null, isOne: () => FALSE };
}

function connection(key: string, packet: Packet): Reading {
  const exists = hasConnection(packet);
  const { original } = packet;
  const ofFamily = (value: Term, family: 4 | 6) =>
    packet.family === family ? address(value, exists) : absent();
  switch (key) {
    case "state":
      // The only key that a packet without a connection has.
      if (!packet.isPastConntrack) throw new Unknown("ct state before conntrack");
      return number(choose(packet.isTracked, packet.state, bits(STATES.untracked, 8)), TRUE, STATES);
    case "zone":
    case "original zone":
      return number(packet.zone, exists);
    case "direction":
      return number(choose(packet.isReply, bits(1, 8), bits(0, 8)), exists, { original: 0, reply: 1 });
    case "status": {
      const bit = (isSet: Term, name: string) => choose(isSet, bits(STATUS[name] ?? 0, 8), bits(0, 8));
      const snat = bit(either(packet.isSnat, packet.isMoved), "snat");
      return number(combined("bvor", snat, bit(packet.isDnat, "dnat")), exists, STATUS);
    }
    case "original ip saddr":
      return ofFamily(original.src, 4);
    case "original ip daddr":
      return ofFamily(original.dst, 4);
    case "original ip6 saddr":
      return ofFamily(original.src, 6);
    case "original ip6 daddr":
      return ofFamily(original.dst, 6);
    case "original proto-src":
      return number(original.sport, exists);
    case "original proto-dst":
      return number(original.dport, exists);
  }
  throw new Unknown(`ct ${key}`);
}

function lookUp(key: string, { packet, routing, oif, addressesOf }: Place): Reading {
  switch (key) {
    case "saddr . oif type": {
      // inet_dev_addr_type: an address of that interface.
      const own = (oif === null ? [] : addressesOf(oif)).filter(
        (each) => each.includes(":") === (packet.family === 6),
      );
      const isLocal = either(...own.map((each) => same(packet.src, addressBits(each))));
      return {
        exists: bool(oif !== null),
        value: null,
        isOne: (word) => (word === "local" ? isLocal : unknownType(word)),
      };
    }
    case "daddr type": {
      const types = routing.typesOf(packet);
      return {
        exists: TRUE,
        value: null,
        isOne: (word) => types[word as keyof typeof types] ?? unknownType(word),
      };
    }
    case "daddr . mark oif":
    case "daddr . mark oifname": {
      // nft_fib4_eval, nft_fib6_eval: the interface in is lo, and there are no ports.
      const ways = routing.lookUp({ ...packet, iif: "lo", oif: null, hasPorts: false });
      const refused = either(ways.get("refused") ?? FALSE, ways.get("local") ?? FALSE);
      return {
        exists: TRUE,
        value: null,
        isOne: (word) => (word === "missing" ? refused : (ways.get(word) ?? FALSE)),
      };
    }
    case "saddr . mark . iif oif":
      return open(TRUE);
  }
  throw new Unknown(`fib ${key}`);
}

function unknownType(word: string): never {
  throw new Unknown(`fib type ${word}`);
}
