import type { Lan } from "../network/lan.ts";
import { exitMarkOf, REFUSAL_MARK } from "../network/slot.ts";
import { byDestination, destinationChains } from "./destinations.ts";
import { DIRECT } from "./direct.ts";
import { dropStrangersDns, TO_RESOLVER } from "./dns.ts";
import { byDevice, byPrefix, exits, setFor } from "./exits.ts";
import { clientLinks } from "./link.ts";
import { byInterface, chain, DNS, isMarked, setMark, toOneOf } from "./match.ts";
import { directDevices, type FirewallTunnel, type Policy } from "./policy.ts";
import { fromRemote, repliesToRemote } from "./remote.ts";
import { leaveDirectlyFromRemote } from "./remote-direct.ts";
import { untrackRemote } from "./remote-socket.ts";
import {
  dropForwarded,
  dropOtherAddressees,
  dropStrangers,
  fromPublicNeighbours,
  keepMark,
  markPublic,
  refusePublic,
} from "./strangers.ts";
import { markReplies } from "./uplink.ts";
import { inOwnZone } from "./zones.ts";

const TO_GATEWAY = "to_gateway";
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
  const ways = [...chains.map(([link]) => [link, `goto from_${link}`] as const), ["lo", "accept"] as const];
  return [
    chain("raw_prerouting", "type filter hook prerouting priority raw; policy accept;", [
      ...byInterface("iifname", ways).map((way) => `${way} comment "each interface has its own rules"`),
      ...fromOutside(endpoints, blocks),
    ]),
    ...chains.map(([link, rules]) => chain(`from_${link}`, null, rules)),
    ...(clientLinks(policy).length === 0
      ? []
      : [
          ...(blocks ? [refusePublic()] : []),
          toGateway(policy),
          ...destinationChains(policy),
          ...exits(policy, blocks),
        ]),
    ...(blocks ? leaveDirectlyFromRemote(policy) : []),
  ];
}

function fromLan(policy: Policy, lan: Lan, blocks: boolean): string[] {
  const { uplink, endpoints } = policy;
  return ([4, 6] as const).flatMap((family) => [
    ...(blocks && family === 6 ? [fromPublicNeighbours()] : []),
    ...(blocks ? [...dropStrangers(lan, family), dropStrangersDns(lan, family)] : []),
    ...(blocks && family === 6 ? markPublic() : []),
    ...(lan.interface === uplink ? markReplies(policy, family) : []),
    ...dropToTunnels(endpoints, family),
    ...(lan.interface === uplink ? untrackRemote(policy, uplink, `meta nfproto ipv${family} `) : []),
    ...queriesForGateway(policy, family),
    ...forGateway(policy, family),
    ...(blocks && family === 6 ? [keepMark(TO_GATEWAY)] : []),
    ...(blocks ? repliesToRemote(policy, family) : []),
    ...byDestination(policy, family),
    ...byPrefix(policy, [family]),
    byDevice(`meta nfproto ipv${family}`),
  ]);
}

function fromTunnel(policy: Policy, tunnel: FirewallTunnel, blocks: boolean): string[] {
  const { carrying } = policy;
  const carries = carrying.some((other) => other.interface === tunnel.interface);
  return [
    ...(blocks ? dropOtherAddressees(tunnel) : []),
    // Reverse-path filtering looks up forwarded packets as if they came from the LAN, which needs the mark.
    ...(carries
      ? [
          `${setMark(exitMarkOf(tunnel.mark))} comment "the return path is the tunnel"`,
          ...untrackRemote(policy, tunnel.interface),
          inOwnZone(tunnel),
        ]
      : tunnel.service === undefined
        ? []
        : [`${setMark(exitMarkOf(tunnel.mark))} comment "the return path is the tunnel"`]),
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
    ...([4, 6] as const).flatMap((family) => markReplies(policy, family)),
    ...untrackRemote(policy, policy.uplink ?? ""),
  ];
}

function fromOutside(endpoints: readonly FirewallTunnel[], blocks: boolean): string[] {
  return [...dropAllToTunnels(endpoints), ...(blocks ? [dropForwarded()] : [])];
}

/**
 * Queries of the LAN, to whomever they are sent, go to the gateway itself. They are in no tunnel, and get no mark, so
 * that a query that is not redirected later is refused by both layers. Direct devices ask outside, as without it.
 */
function queriesForGateway(policy: Policy, family: 4 | 6): string[] {
  if (policy.resolver === undefined) return [];
  const others = directDevices(policy).length === 0 ? "" : `ether saddr != @${setFor(DIRECT)} `;
  return [
    `meta nfproto ipv${family} ${others}${isMarked(REFUSAL_MARK, "!=")} ${DNS} accept comment "queries are for the gateway's own resolver"`,
  ];
}

/** Packets for the gateway itself keep the zone of everything outside the tunnels. */
function forGateway({ addresses }: Policy, family: 4 | 6): string[] {
  const link = family === 4 ? [] : LINK_LOCAL_AND_MULTICAST.map((prefix) => `ip6 daddr ${prefix}`);
  return [...toOneOf(family, addresses), ...link].map(
    (to) => `${to} goto ${TO_GATEWAY} comment "the gateway's own connections are in no tunnel"`,
  );
}

/** DNS queries leave by the exit of their device. */
function toGateway(policy: Policy): string {
  const match = `${isMarked(REFUSAL_MARK, "!=")} ${TO_RESOLVER}`;
  return chain(TO_GATEWAY, null, [...byPrefix(policy, [4, 6], `${match} `), byDevice(match)]);
}

function dropAllToTunnels(endpoints: readonly FirewallTunnel[]): string[] {
  return ([4, 6] as const).flatMap((family) => dropToTunnels(endpoints, family));
}

function dropToTunnels(endpoints: readonly FirewallTunnel[], family: 4 | 6): string[] {
  const addresses = new Set(endpoints.flatMap((tunnel) => tunnel.addresses));
  return toOneOf(family, [...addresses]).map(
    (to) => `${to} drop comment "CVE-2019-14899: only the tunnel may send to the tunnel's address"`,
  );
}
