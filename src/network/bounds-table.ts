import {
  type Address,
  addressOf,
  familyOf,
  lengthOf,
  networkOf,
  type Prefix,
  parseAddress,
} from "../base/address.ts";
import { type Mac, parseMac } from "../base/mac.ts";
import type { Host } from "../system/host.ts";
import { listNft } from "../system/nft.ts";
import { type OwnPorts, ownPortsPart } from "./own-ports.ts";

/**
 * A separate table that limits what one device can take. The kill switch replaces its own table, and a replaced set
 * would count from zero.
 */
export const BOUNDS_TABLE = "inet portcullis_bounds";

/**
 * The most connections of one device; a torrent client with DHT has some thousands. The kernel looks at all of them
 * when one begins.
 */
const MAX_CONNECTIONS = 8_192;
/** The part of the connection table that one device may fill. */
const SHARE = 1 / 8;
/**
 * What `ct count` does not count: TCP connections that have ended, which the kernel keeps for a while, and packets of a
 * device to addresses that nobody has, each of which needs a place in the neighbour table.
 */
const STARTS = { perSecond: 500, burst: 2_000 };
/** Each solicitation of an invented address takes a place in the neighbour table. A device asks once in half a minute. */
const SOLICITATIONS = { perSecond: 20, burst: 100 };
/**
 * A machine that invents MAC addresses, or a crowd of devices, has any number of shares. So all that comes in by one
 * interface may fill this part of the connection table, and all that comes in from anywhere this part. The rest is for
 * the gateway itself: the loopback, WireGuard, relays, look-ups, and its page, which has a bound of its own. What is
 * for the gateway otherwise, except queries, counts only in the second part.
 */
export const OF_INTERFACE = 3 / 4;
const OF_ALL = 7 / 8;
/**
 * The kernel looks at all connections of a count when one begins, so each count is divided into this many, in turn.
 * Some are full before others: refusals begin at four fifths.
 */
const PARTS = 1_024;
const MAX_INTERFACES = 64;
/** How long a refusal can be read. */
const NOTED_SECONDS = 600;
/** MAC addresses can be invented. Beyond this number they are not noted, and have no limit. */
const MAX_NOTED = 256;
const MAX_DEVICES = 65_535;
/** No fewer than remote devices can have addresses of a family, and other homes networks. */
const MAX_REMOTE = 256;
/** All bits of an address, of which a network takes the first. */
const ALL_BITS = {
  4: "255.255.255.255/32",
  6: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
} as Readonly<Record<4 | 6, Prefix>>;

/** The sets of devices that were refused something, and what it was. */
const REFUSED = {
  connections: "refused",
  solicitations: "silenced",
  remote4: "refused_remote_4",
  remote6: "refused_remote_6",
} as const;

/** Remote devices have no MAC address. */
export interface Refused {
  connections: (Mac | Address)[];
  solicitations: Mac[];
}

/** The limits of one device. */
export interface Limits extends OwnPorts {
  /** How many connections it may have. */
  most: number;
  /** How many there can be of all. */
  places: number;
  /** The networks of other homes, whose packets come by the interface of remote devices. */
  homes?: readonly Prefix[];
}

/** How many connections one device may have in a connection table of this size. */
export function mostConnections(places: number): number {
  return Math.min(MAX_CONNECTIONS, Math.floor(places * SHARE));
}

/**
 * The table in text for `nft -f -`. Loading it again keeps the elements of its sets, and so what was counted. NAT chains
 * see the first packet of each connection only. A network behind another router counts as its router; what is led to a
 * device from outside counts by the device's address. A remote device counts by its own addresses, which WireGuard
 * has proven, and another home by its network: its addresses would take all places of remote devices.
 */
export function boundsFor({ most, places, remote, ports, homes = [] }: Limits): string {
  const counted = (key: string) => `{ ${key} ct count over ${most} }`;
  const limited = (key: string, { perSecond, burst }: typeof STARTS) =>
    `{ ${key} limit rate over ${perSecond}/second burst ${burst} packets }`;
  const divided = (key: string, part: number) =>
    `{ ${key}numgen inc mod ${PARTS} ct count over ${Math.ceil((places * part) / PARTS)} }`;
  const byInterface = `add @interfaces ${divided("iif . ", OF_INTERFACE)}`;
  const remoteRules = ([4, 6] as const)
    .flatMap((family) => {
      const source = family === 4 ? "ip saddr" : "ip6 saddr";
      const from = `iifname "${remote}"`;
      const [own, which] = [homes.filter((home) => familyOf(home) === family), family === 4 ? "" : ", IPv6"];
      const limits = (
        match: string,
        key: string,
        sets: readonly [string, string],
        to: string,
        who: string,
      ) => [
        `${match} update @${sets[0]} ${limited(key, STARTS)} goto ${to} comment "connections that ${who} begins${which}"`,
        `${match} add @${sets[1]} ${counted(key)} goto ${to} comment "connections that ${who} has${which}"`,
      ];
      const devices = own.length === 0 ? from : `${from} ${source} != { ${own.join(", ")} }`;
      return [
        ...own.flatMap((home) =>
          limits(
            `${from} ${source} ${home}`,
            `${source} & ${maskOf(home)}`,
            [`home_starts_${family}`, `homes_${family}`],
            "refuse_all",
            "another home",
          ),
        ),
        ...limits(
          devices,
          source,
          [`remote_starts_${family}`, `remote_${family}`],
          "refuse_remote",
          "a remote device",
        ),
      ];
    })
    .map((rule) => (remote === null ? "" : `    ${rule}\n`))
    .join("");
  return `add table ${BOUNDS_TABLE}
flush table ${BOUNDS_TABLE}
table ${BOUNDS_TABLE} {
${counters("connections", "ether_addr")}
${counters("inward_4", "ipv4_addr")}
${counters("inward_6", "ipv6_addr")}
${counters("interfaces", "iface_index . mark", PARTS * MAX_INTERFACES)}
${counters("everything", "mark", PARTS)}
${counters("remote_4", "ipv4_addr", MAX_REMOTE)}
${counters("remote_6", "ipv6_addr", MAX_REMOTE)}
${counters("homes_4", "ipv4_addr", MAX_REMOTE)}
${counters("homes_6", "ipv6_addr", MAX_REMOTE)}
${passing("starts", "ether_addr", 60, MAX_DEVICES)}
${passing("remote_starts_4", "ipv4_addr", 60, MAX_REMOTE)}
${passing("remote_starts_6", "ipv6_addr", 60, MAX_REMOTE)}
${passing("home_starts_4", "ipv4_addr", 60, MAX_REMOTE)}
${passing("home_starts_6", "ipv6_addr", 60, MAX_REMOTE)}
${passing("solicitors", "ether_addr", 60, MAX_DEVICES)}
${passing(REFUSED.connections, "ether_addr", NOTED_SECONDS, MAX_NOTED)}
${passing(REFUSED.solicitations, "ether_addr", NOTED_SECONDS, MAX_NOTED)}
${passing(REFUSED.remote4, "ipv4_addr", NOTED_SECONDS, MAX_REMOTE)}
${passing(REFUSED.remote6, "ipv6_addr", NOTED_SECONDS, MAX_REMOTE)}
  chain begun {
    type nat hook prerouting priority dstnat - 20; policy accept;
    update @starts ${limited("ether saddr", STARTS)} goto refuse comment "connections that a device begins"
    add @connections ${counted("ether saddr")} goto refuse comment "connections that a device has"
${remoteRules}    tcp dport { ${ports.join(", ")} } fib daddr type local accept
    add @everything ${divided("", OF_ALL)} goto refuse_all comment "connections of all"
    fib daddr type { local, broadcast, multicast } th dport != 53 accept
    ${byInterface} goto refuse_all comment "connections of an interface"
  }

  chain refuse {
    update @${REFUSED.connections} { ether saddr } comment "for portcullis check"
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }

  chain refuse_all {
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }

  chain refuse_remote {
    update @${REFUSED.remote4} { ip saddr } comment "for portcullis check"
    update @${REFUSED.remote6} { ip6 saddr } comment "for portcullis check"
    meta l4proto tcp reject with tcp reset
    reject with icmpx admin-prohibited
  }

  chain led_inward {
    type nat hook postrouting priority srcnat - 20; policy accept;
    th dport != 53 ct status dnat add @inward_4 ${counted("ip daddr")} drop comment "connections by forwarded ports"
    th dport != 53 ct status dnat add @inward_6 ${counted("ip6 daddr")} drop comment "connections by forwarded ports, IPv6"
    th dport != 53 ct status dnat ${byInterface} drop comment "connections by forwarded ports of an interface"
  }

  chain solicited {
    type filter hook input priority filter - 1; policy accept;
    icmpv6 type { nd-neighbor-solicit, nd-router-solicit, nd-router-advert } update @solicitors ${limited("ether saddr", SOLICITATIONS)} goto silence comment "neighbours that a device invents"
  }

  chain silence {
    update @${REFUSED.solicitations} { ether saddr } comment "for portcullis check"
    drop
  }

${ownPortsPart({ ports, remote })}}
`;
}

function maskOf(prefix: Prefix): Address {
  return addressOf(networkOf(ALL_BITS[familyOf(prefix)], lengthOf(prefix)));
}

function counters(name: string, type: string, size = MAX_DEVICES): string {
  return `  set ${name} {
    type ${type}
    size ${size}
    flags dynamic
  }
`;
}

function passing(name: string, type: string, seconds: number, size: number): string {
  return `  set ${name} {
    type ${type}
    size ${size}
    flags dynamic,timeout
    timeout ${seconds}s
  }
`;
}

/** The devices that were refused something in the last minutes. */
export async function readRefused(host: Pick<Host, "run">): Promise<Refused> {
  const read = async <T>(set: string, parse: (text: string) => T | null): Promise<T[]> => {
    const listing = await listNft(host, ["set", ...BOUNDS_TABLE.split(" "), set]);
    const values = listing.flatMap((each) => each.set?.elem ?? []).map((element) => element.elem?.val);
    return values.flatMap((value) => (typeof value === "string" ? (parse(value) ?? []) : [])).sort();
  };
  const [connections, solicitations, ...remote] = await Promise.all([
    read(REFUSED.connections, parseMac),
    read(REFUSED.solicitations, parseMac),
    read(REFUSED.remote4, parseAddress),
    read(REFUSED.remote6, parseAddress),
  ]);
  return { connections: [...connections, ...remote.flat()], solicitations };
}
