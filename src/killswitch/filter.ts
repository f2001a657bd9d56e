import type { Lan } from "../network/lan.ts";
import { permitRedirectedDns, refuseClearDns, refuseUnansweredDns } from "./dns.ts";
import {
  permitDhcp,
  permitDhcpClients,
  permitDhcpRenewal,
  permitMdns,
  permitNeighbourDiscovery,
  permitPublicNeighbours,
} from "./link.ts";
import { among, byFamily, chain, fromHosts, namesOf } from "./match.ts";
import { defaultTunnels, type FirewallTunnel, type Policy } from "./policy.ts";
import { fromPublic, permitRefusals } from "./strangers.ts";
import { permitExemptions, permitLookups, permitTooLong, permitWireGuard } from "./uplink.ts";

/** TCP packets that are not the first of a connection. */
const MID_STREAM = "ct state new tcp flags & (fin | syn | rst | ack) != syn";

/** To this machine. */
export function input(policy: Policy): string {
  const { lans, endpoints, carrying } = policy;
  return chain("input", "type filter hook input priority filter; policy drop;", [
    permitLoopback("in"),
    ...lans.flatMap((lan) => [...permitFromLan(lan), permitDhcpClients("in", lan)]),
    ...permitDhcp("in", policy),
    ...permitNeighbourDiscovery("in", policy),
    ...permitWireGuard("in", policy),
    ...endpoints.flatMap((tunnel) => permitTooLong(policy.uplink, tunnel)),
    ...permitLookups("in", policy),
    ...permitExemptions("in", policy),
    ...carrying.map(permitFromTunnel),
    ...fromPublic(lans).flatMap(refuseRest),
    dropRest(),
  ]);
}

/** Through this machine. */
export function forward(policy: Policy): string {
  const { lans, carrying } = policy;
  const pairs = defaultTunnels(policy).flatMap((tunnel) => lans.map((lan) => ({ tunnel, lan })));
  return chain("forward", "type filter hook forward priority filter; policy drop;", [
    ...carrying.map(clampSegments),
    ...carrying.map(dropUntranslated),
    ...among("iifname", namesOf(lans)).flatMap((from) =>
      defaultTunnels(policy).flatMap((tunnel) =>
        [refuseMidStream(tunnel), ...refuseUnansweredDns("forward", tunnel, lans)].map(
          (refusal) => `${from} ${refusal}`,
        ),
      ),
    ),
    ...pairs.flatMap(permitLan),
    ...pairs.map(permitRepliesToLan),
    ...lans.flatMap((lan) => fromHosts(lan)).flatMap(refuseRest),
    dropForwardedRest(),
  ]);
}

/** From this machine. */
export function output(policy: Policy): string {
  const { lans } = policy;
  return chain("output", "type filter hook output priority filter; policy drop;", [
    permitLoopback("out"),
    ...permitRefusals(lans),
    ...dropRedirects(),
    ...permitWireGuard("out", policy),
    ...permitLookups("out", policy),
    ...permitExemptions("out", policy),
    ...defaultTunnels(policy)
      .slice(0, 1)
      .flatMap((tunnel) => permitRedirectedDns(tunnel, lans)),
    ...lans.flatMap((lan) => [
      ...refuseClearDns(lan),
      ...permitToLan(lan),
      permitDhcpClients("out", lan),
      permitPublicNeighbours(lan),
      permitMdns(lan),
    ]),
    ...permitDhcp("out", policy),
    ...permitNeighbourDiscovery("out", policy),
    ...permitDhcpRenewal(policy),
    ...defaultTunnels(policy).flatMap((tunnel) => [
      dropUntranslated(tunnel),
      dropOtherZones(tunnel),
      refuseMidStream(tunnel),
      ...refuseUnansweredDns("output", tunnel, lans),
      permitIntoTunnel(tunnel),
    ]),
    ...refuseRest(),
  ]);
}

function permitLoopback(direction: "in" | "out"): string {
  return `${direction === "in" ? "iifname" : "oifname"} "lo" accept comment "loopback"`;
}

function permitFromLan(lan: Lan): string[] {
  return fromHosts(lan).map((from) => `${from} accept comment "from the LAN to the gateway"`);
}

function permitToLan(lan: Lan): string[] {
  return byFamily("daddr", lan.prefixes).map(
    (to) => `oifname "${lan.interface}" ${to} accept comment "from the gateway to the LAN"`,
  );
}

function permitFromTunnel(tunnel: FirewallTunnel): string {
  return `iifname "${tunnel.interface}" ct state established,related accept comment "replies from the tunnel"`;
}

function permitIntoTunnel(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" accept comment "the gateway's own traffic uses the tunnel"`;
}

interface Pair {
  tunnel: FirewallTunnel;
  lan: Lan;
}

function permitLan({ tunnel, lan }: Pair): string[] {
  return fromHosts(lan, `oifname "${tunnel.interface}" `).map(
    (from) => `${from} accept comment "from the LAN into the tunnel"`,
  );
}

function permitRepliesToLan({ tunnel, lan }: Pair): string {
  return `iifname "${tunnel.interface}" oifname "${lan.interface}" ct state established,related accept comment "replies from the tunnel to the LAN"`;
}

function clampSegments(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu comment "TCP segments are clamped to the tunnel's MTU"`;
}

/** NAT does not translate resets of connections that conntrack does not know, or neighbour discovery. */
function dropUntranslated(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ct state invalid,untracked drop comment "what NAT does not translate would leave with its own source address"`;
}

function dropOtherZones(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ct zone != ${tunnel.zone} drop comment "rejections of packets from outside must not enter the tunnel"`;
}

/** The kernel sends redirects before the forward chain sees the packet; IPv6 has no sysctl that stops it. */
function dropRedirects(): string[] {
  return ["icmp type redirect", "icmpv6 type nd-redirect"].map(
    (redirect) => `${redirect} drop comment "ICMP redirects would lead clients past the gateway"`,
  );
}

function refuseMidStream(tunnel: FirewallTunnel): string {
  return `oifname "${tunnel.interface}" ${MID_STREAM} reject with tcp reset comment "connections of another tunnel are reset"`;
}

/** Rejected at once, so that programs report an error instead of a time-out. */
function refuseRest(from?: string): string[] {
  const match = from === undefined ? "" : `${from} `;
  const comment = 'comment "everything else is rejected at once"';
  return [
    `${match}meta l4proto tcp reject with tcp reset ${comment}`,
    `${match}reject with icmpx admin-prohibited ${comment}`,
  ];
}

/** Hosts outside the LAN get no answer. */
function dropRest(): string {
  return 'drop comment "during a reload the policy takes effect late; a rule does not"';
}

/** Hosts outside the LAN get no answer, not even an error: the error could be routed into the tunnel. */
function dropForwardedRest(): string {
  return 'drop comment "hosts outside the LAN get no answer"';
}
