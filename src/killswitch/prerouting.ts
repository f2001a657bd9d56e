import {
  type Address,
  addressOf,
  familyOf,
  isLinkLocal,
  isPrivate,
  isPrivatePrefix,
} from "../base/address.ts";
import type { Lan } from "../network/lan.ts";
import { exitMarkOf, REFUSAL_MARK } from "../network/slot.ts";
import { askResolver, queriesForGateway } from "./askers.ts";
import { byDestination, destinationChains } from "./destinations.ts";
import { TO_RESOLVER } from "./dns.ts";
import { byDeviceOn, byPrefix, exits, someByDevice } from "./exits.ts";
import { fromHomesChains } from "./homes.ts";
import { clientLinks } from "./link.ts";
import { anyOf, byInterface, chain, isMarked, setMark, toOneOf } from "./match.ts";
import { betweenChain, toOtherNetworks } from "./networks.ts";
import type { FirewallTunnel, Policy } from "./policy.ts";
import { fromRemote, repliesToRemote } from "./remote.ts";
import { leaveDirectlyFromRemote } from "./remote-direct.ts";
import { untrackRemote } from "./remote-socket.ts";
import {
  dropForwarded,
  dropOtherAddressees,
  dropOwnSources,
  fromStrangers,
  markPublic,
  PUBLIC,
  refusePublic,
  strangers,
  toPublic,
} from "./strangers.ts";
import { markLeases, markReplies } from "./uplink.ts";
import { inOwnZone } from "./zones.ts";

const TO_OWN = "to_own";
const TO_GATEWAY = "to_gateway";
const FROM_PUBLIC = "from_public";
/** These are never forwarded, and are not among the addresses of the policy. */
const LINK_LOCAL_AND_MULTICAST = ["fe80::/10", "ff00::/8"];

/**
 * Runs before conntrack and routing, with a chain for each interface, so that a packet passes only the rules that
 * concern it. It drops packets that do not belong there, marks replies, marks the LAN's packets for their exit, and
 * puts each connection into the zone of its tunnel. After a switch or with another exit, a connection is a new one with
 * a new source address, so nothing has to be flushed.
 */
export function prerouting(policy: Policy): string[] {
  return chainsOf(policy, true);
}

/** The same without what blocks. */
export function openPrerouting(policy: Policy): string[] {
  return chainsOf(policy, false);
}

function chainsOf(policy: Policy, blocks: boolean): string[] {
  const { lans, uplink, endpoints, remote } = policy;
  const isLan = lans.some((lan) => lan.interface === uplink);
  const chains: (readonly [string, readonly string[]])[] = [
    ...lans.map((lan) => [lan.interface, fromLan(policy, lan, blocks)] as const),
    ...uniqueLinks(endpoints).map(
      (tunnel) => [tunnel.interface, fromTunnel(policy, tunnel, blocks)] as const,
    ),
    ...(remote === undefined
      ? []
      : [[remote.interface, [...dropAllToTunnels(endpoints), ...fromRemote(policy, blocks)]] as const]),
    ...(uplink === null || isLan ? [] : [[uplink, fromUplink(policy, blocks)] as const]),
  ];
  const ways = chains.map(([link]) => [link, `goto from_${link}`] as const);
  return [
    chain("raw_prerouting", "type filter hook prerouting priority raw; policy accept;", [
      // The LAN's packets take the longest way, so they come first.
      ...ways.slice(0, lans.length).flatMap((way) => byInterface([way])),
      ...byInterface([...ways.slice(lans.length), ["lo", "accept"]]),
      ...fromOutside(endpoints, blocks),
    ]),
    ...chains.map(([link, rules]) => chain(`from_${link}`, null, rules)),
    ...lans.flatMap((lan) => fromLanOverIpv6(policy, lan, blocks)),
    ...(clientLinks(policy).length === 0
      ? []
      : [
          ...(blocks ? [strangers(), fromPublic(policy), refusePublic(), ...betweenChain(policy)] : []),
          toOwn(policy),
          toGateway(policy),
          ...askResolver(policy),
          ...destinationChains(policy),
          ...exits(policy, blocks),
        ]),
    ...(blocks ? [...leaveDirectlyFromRemote(policy), ...fromHomesChains(policy)] : []),
  ];
}

/** A packet passes only the rules of its own family. */
function fromLan(policy: Policy, lan: Lan, blocks: boolean): string[] {
  return [
    `meta nfproto ipv6 goto ${overIpv6(lan)} comment "IPv6 has rules of its own"`,
    ...fromLanOver(4, policy, lan, blocks),
  ];
}

function overIpv6(lan: Lan): string {
  return `ipv6_from_${lan.interface}`;
}

function fromLanOver(family: 4 | 6, policy: Policy, lan: Lan, blocks: boolean): string[] {
  return [...checks(family, policy, lan, blocks), ...toExit(family, policy, lan, blocks)];
}

/**
 * Nearly all packets go from the LAN's own prefix to somebody's public address. One rule tells them from those that all
 * the checks are about. For IPv4 this gains nothing.
 */
function fromLanOverIpv6(policy: Policy, lan: Lan, blocks: boolean): string[] {
  const usual = usualOverIpv6(policy, lan);
  if (usual.length === 0) return [chain(overIpv6(lan), null, fromLanOver(6, policy, lan, blocks))];
  const onwards = `ipv6_out_of_${lan.interface}`;
  return [
    chain(overIpv6(lan), null, [
      ...usual.map((packets) => `${packets} goto ${onwards} comment "the next rules are about others"`),
      ...checks(6, policy, lan, blocks),
      `goto ${onwards} comment "to the exit"`,
    ]),
    chain(onwards, null, toExit(6, policy, lan, blocks)),
  ];
}

function usualOverIpv6(policy: Policy, { prefixes }: Lan): string[] {
  const own = ownAddresses(policy).filter((address) => familyOf(address) === 6 && !isPrivate(address));
  const others = own.length === 0 ? "" : ` ip6 daddr != ${anyOf([...new Set(own)])}`;
  return prefixes
    .filter((prefix) => familyOf(prefix) === 6 && isPrivatePrefix(prefix) && !isLinkLocal(addressOf(prefix)))
    .map((prefix) => `ip6 saddr ${prefix} ip6 daddr ${PUBLIC}${others}`);
}

/** Packets that are dropped, or that are for the gateway itself. */
function checks(family: 4 | 6, policy: Policy, lan: Lan, blocks: boolean): string[] {
  const isUplink = lan.interface === policy.uplink;
  return [
    ...(blocks && family === 6 ? [toPublic(FROM_PUBLIC)] : []),
    ...(family === 4 ? dropOwnSources(lan, policy.addresses) : []),
    ...(blocks ? [fromStrangers(lan, family)] : []),
    ...(isUplink && family === 4 ? [markLeases()] : []),
    ...forOwn(policy, family),
  ];
}

function toExit(family: 4 | 6, policy: Policy, lan: Lan, blocks: boolean): string[] {
  return [
    ...queriesForGateway(policy),
    ...(blocks ? repliesToRemote(policy, family, TO_GATEWAY) : []),
    ...(blocks ? toOtherNetworks(policy, lan, family) : []),
    ...byDestination(policy, family),
    ...byPrefix(policy, [family], "", lan),
    ...byDeviceOn(lan, policy, blocks),
  ];
}

/** A device's public address: what is for this machine is rejected later, and the mark routes the rejection back. */
function fromPublic(policy: Policy): string {
  return chain(FROM_PUBLIC, null, [
    ...markPublic(),
    ...forOwn(policy, 6),
    ...queriesForGateway(policy),
    `goto ${TO_GATEWAY} comment "rejected later, with the mark that it has"`,
  ]);
}

function fromTunnel(policy: Policy, tunnel: FirewallTunnel, blocks: boolean): string[] {
  const { carrying } = policy;
  const carries = carrying.some((other) => other.interface === tunnel.interface);
  // Reverse-path filtering looks up forwarded packets as if they came from the LAN, which needs the mark.
  const back = setMark(exitMarkOf(tunnel.mark));
  return [
    ...(blocks ? dropOtherAddressees(tunnel) : []),
    ...(carries
      ? [...untrackRemote(policy, tunnel.interface, `${back} `), `${back} ${inOwnZone(tunnel)}`]
      : []),
    ...(!carries && tunnel.service !== undefined ? [`${back} comment "the return path is the tunnel"`] : []),
  ];
}

/**
 * Servers that are contacted at the same time share an interface, which has no addresses. nft would merge chains of one
 * name.
 */
function uniqueLinks(endpoints: readonly FirewallTunnel[]): FirewallTunnel[] {
  return [...new Map(endpoints.map((tunnel) => [tunnel.interface, tunnel])).values()];
}

function fromUplink(policy: Policy, blocks: boolean): string[] {
  return [
    ...fromOutside(policy.endpoints, blocks),
    markLeases(),
    ...([4, 6] as const).flatMap((family) => markReplies(policy, family)),
    ...untrackRemote(policy, policy.uplink ?? ""),
  ];
}

function fromOutside(endpoints: readonly FirewallTunnel[], blocks: boolean): string[] {
  return [...dropAllToTunnels(endpoints), ...(blocks ? [dropForwarded()] : [])];
}

/** Packets for the gateway itself, and for its addresses in the tunnels: one look-up tells them from all others. */
function forOwn(policy: Policy, family: 4 | 6): string[] {
  const own = ownAddresses(policy);
  const link = family === 4 ? [] : LINK_LOCAL_AND_MULTICAST.map((prefix) => `ip6 daddr ${prefix}`);
  return [...toOneOf(family, own), ...link].map(
    (to) => `${to} goto ${TO_OWN} comment "packets for the gateway itself"`,
  );
}

function ownAddresses({ addresses, endpoints }: Policy): Address[] {
  return [...addresses, ...endpoints.flatMap((tunnel) => tunnel.addresses)];
}

/** They keep the zone of everything outside the tunnels. With one interface, replies to the gateway are among them. */
function toOwn(policy: Policy): string {
  const { endpoints, lans, uplink } = policy;
  const one = lans.find((lan) => lan.interface === uplink)?.interface;
  const replies = ([4, 6] as const).flatMap((family) => markReplies(policy, family));
  return chain(TO_OWN, null, [
    ...dropAllToTunnels(endpoints),
    ...(one === undefined ? [] : replies.map((reply) => `iifname "${one}" ${reply}`)),
    ...(one === undefined ? [] : untrackRemote(policy, one, `iifname "${one}" `)),
    ...queriesForGateway(policy),
    `goto ${TO_GATEWAY} comment "the gateway's own connections are in no tunnel"`,
  ]);
}

/** DNS queries go through the exit of their device. */
function toGateway(policy: Policy): string {
  const match = `${isMarked(REFUSAL_MARK, "!=")} ${TO_RESOLVER} `;
  return chain(TO_GATEWAY, null, [...byPrefix(policy, [4, 6], match), someByDevice(match)]);
}

function dropAllToTunnels(endpoints: readonly FirewallTunnel[]): string[] {
  return ([4, 6] as const).flatMap((family) => dropToTunnels(endpoints, family));
}

function dropToTunnels(endpoints: readonly FirewallTunnel[], family: 4 | 6): string[] {
  const addresses = endpoints.flatMap((tunnel) => tunnel.addresses);
  return toOneOf(family, addresses).map(
    (to) => `${to} drop comment "CVE-2019-14899: only the tunnel may send to the tunnel's address"`,
  );
}
