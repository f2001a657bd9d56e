import type { Mac } from "../base/mac.ts";
import { jhashOf } from "../network/jhash.ts";
import type { Lan } from "../network/lan.ts";
import { DIRECT_MARK } from "../network/slot.ts";
import { among, chain, fromHosts, isMarked, namesOf, setMark, toEach } from "./match.ts";
import { directDevices, directRemotes, isAnyDirect, leadsToDirect, type Policy } from "./policy.ts";
import { endpoint, relayedIn } from "./relay.ts";
import { remoteZoneOf } from "./remote-part.ts";
import { NOT_WIREGUARDS } from "./remote-socket.ts";
import { withServers } from "./wireguard-servers.ts";

/** The name of the exit in chains and sets; no tunnel has it. */
export const DIRECT = "direct";
/** The set of the zones of direct devices. */
export const ZONES = "direct_zones";
const INTO_UPLINK = "into_uplink";
/** Above the zones of tunnels and of remote devices. */
const FIRST_DIRECT_ZONE = 0x8000;
/**
 * A zone has 16 bits. If two devices have the same zone, one that is no longer direct gets late replies while the other
 * is direct.
 */
const HASH = { modulus: 0x8000, seed: 1 };
/** The zone of all connections to destinations that are direct, whatever the device. */
export const DESTINATION_ZONE = FIRST_DIRECT_ZONE - 1;

/** The zones of the devices that are direct now, and that of the destinations. */
export function directZones(policy: Policy): string[] {
  const all = [
    ...directDevices(policy).map(({ id }) => zoneOf(id)),
    ...directRemotes(policy).map(({ id }) => remoteZoneOf(id)),
    ...(leadsToDirect(policy) ? [DESTINATION_ZONE] : []),
  ];
  const zones = [...new Set(all)].sort((a, b) => a - b);
  if (zones.length === 0) return [];
  return [`  set ${ZONES} {\n    typeof ct original zone\n    elements = { ${zones.join(", ")} }\n  }\n`];
}

/** The zone of a device's connections while it is direct. */
export function zoneOf(id: Mac): number {
  return FIRST_DIRECT_ZONE + jhashOf(id, HASH);
}

/**
 * Rules for packets of direct devices. The zone tells their connections from those of other devices. It is the zone of
 * one direction, so that replies on the uplink, which have no zone yet, find the connection.
 */
export function leaveDirectly(): string[] {
  const { modulus, seed } = HASH;
  return [
    `${setMark(DIRECT_MARK)} comment "the mark selects the machine's own routes"`,
    `ct original zone set jhash ether saddr mod ${modulus} seed 0x${seed.toString(16)} offset ${FIRST_DIRECT_ZONE} accept comment "each device has its own connections"`,
  ];
}

/**
 * Runs after conntrack. Marks replies to direct devices, for reverse-path filtering and for the forward chain. Packets
 * that a server still sends to a device that is no longer direct get no mark.
 */
export function markDirectReplies(policy: Policy): string[] {
  if (!isAnyDirect(policy)) return [];
  return [
    chain("direct_replies", "type filter hook prerouting priority mangle; policy accept;", [
      `iifname "${policy.uplink}" ct direction reply ct original zone @${ZONES} ${setMark(DIRECT_MARK)} comment "replies to direct devices"`,
    ]),
  ];
}

/**
 * Between the LAN and the uplink, for packets with the mark; these may be one interface. There, replies go to addresses
 * of the LAN only: a connection may have begun with any address, at one that another device can claim.
 */
export function forwardDirect(policy: Policy): string[] {
  const { lans, uplink } = policy;
  if (uplink === null || (directDevices(policy).length === 0 && !leadsToDirect(policy))) return [];
  const back = `${isMarked(DIRECT_MARK)} ct direction reply ct state established,related accept`;
  const into = `${isMarked(DIRECT_MARK)} jump ${INTO_UPLINK}`;
  const isShared = (lan: Lan) => lan.interface === uplink;
  const inside = [
    ...among("oifname", namesOf(lans.filter((lan) => !isShared(lan)))),
    ...lans.filter(isShared).flatMap(({ prefixes }) => toEach(uplink, prefixes)),
  ];
  return [
    ...inside.map((to) => `iifname "${uplink}" ${to} ${back} comment "replies to direct devices"`),
    ...among("iifname", namesOf(lans)).map(
      (from) => `${from} oifname "${uplink}" ${into} comment "only direct devices use the uplink"`,
    ),
  ];
}

/** What direct devices send to the uplink. On one interface with it, no reply begins here. */
export function intoUplink(policy: Policy, rules: readonly string[]): string[] {
  const { lans, uplink } = policy;
  if (forwardDirect(policy).length === 0) return [];
  return [
    chain(INTO_UPLINK, null, [
      'ct direction original ct state established,related accept comment "known connections of direct devices"',
      ...rules,
      ...lans
        .flatMap((lan) => fromHosts(lan, lan.interface === uplink ? "ct direction original " : ""))
        .map((from) => `${from} accept comment "from direct devices to the uplink"`),
    ]),
  ];
}

/**
 * Rules after NAT. They drop packets that NAT does not translate: a FIN of a connection that conntrack does not know,
 * or a packet of a connection from a time without our NAT. While the uplink has no address, as between two leases,
 * masquerade takes one of another interface (`inet_select_addr`), and the home router would see that of the LAN.
 */
export function keepDirectTranslated(policy: Policy): string[] {
  if (!isAnyDirect(policy)) return [];
  const match = `oifname "${policy.uplink}" ${isMarked(DIRECT_MARK)}`;
  return [
    `${match} ct state invalid,untracked drop comment "NAT does not translate it"`,
    `${match} ct direction original ct status ! snat drop comment "NAT has not translated it"`,
    `${match} ct direction original fib saddr . oif type != local drop comment "the uplink's own address leaves by it"`,
  ];
}

/**
 * Rejected by the output chain if the gateway itself sets the mark. No device gets WireGuard's own port towards a
 * server: once the kernel had forgotten WireGuard's connection, the server's packets would go to the device
 * (CVE-2021-3773).
 */
export function masqueradeDirect(policy: Policy): string[] {
  if (!isAnyDirect(policy)) return [];
  const relayed = new Set(relayedIn(policy).map((tunnel) => endpoint("d", tunnel)));
  return [
    ...[...withServers("d"), ...relayed].map(
      (to) =>
        `oifname "${policy.uplink}" ${isMarked(DIRECT_MARK)} ${to} masquerade to :${NOT_WIREGUARDS.first}-${NOT_WIREGUARDS.last} comment "another port than WireGuard's own"`,
    ),
    `oifname "${policy.uplink}" ${isMarked(DIRECT_MARK)} masquerade comment "direct devices have the gateway's address on the uplink"`,
  ];
}
