import type { Lan } from "../network/lan.ts";
import { forwardDirect, intoUplink } from "./direct.ts";
import {
  permitRedirectedDns,
  refuseClearDns,
  refuseDirectDns,
  refuseOthersDns,
  refuseUnansweredDns,
} from "./dns.ts";
import { clampAnswers, permitContacts, permitForwards } from "./forwards.ts";
import { keepFromCircling } from "./homes.ts";
import {
  clientLinks,
  permitAnnouncements,
  permitDhcp,
  permitDhcpClients,
  permitDhcpRenewal,
  permitMdns,
  permitNeighbourDiscovery,
  permitPublicNeighbours,
  permitUplinkNeighbours,
} from "./link.ts";
import { among, byFamily, chain, fromHosts, MID_STREAM, namesOf, outsideOf } from "./match.ts";
import { keepInMeshes } from "./mesh.ts";
import {
  closedChain,
  endFormer,
  forwardBetween,
  intoOthersChain,
  permitFromClosed,
  refuseFromClosed,
  usesPage,
} from "./networks.ts";
import { permitOwnQueries, refuseEncryptedDns } from "./own-resolver.ts";
import { type FirewallTunnel, MAIN, mainTunnels, type Policy, tunnelsOf } from "./policy.ts";
import {
  forwardRemote,
  keepOffOtherLinks,
  permitFromRemote,
  permitToRemote,
  remoteChains,
  remoteIntoTunnel,
} from "./remote.ts";
import { forwardRemoteDirect, remoteIntoUplink } from "./remote-direct.ts";
import { permitRemoteSocket } from "./remote-socket.ts";
import { permitRouter } from "./router.ts";
import { permitService } from "./service.ts";
import { fromPublic, permitRefusals, refuse } from "./strangers.ts";
import { permitExemptions, permitLookups, permitTooLong, permitWireGuard } from "./uplink.ts";

const TO_LAN = "to_lan";

/** To this machine. */
export function input(policy: Policy): string[] {
  const { lans, endpoints, carrying } = policy;
  const rules = [
    'iifname "lo" accept comment "loopback"',
    ...permitWireGuard("in", policy),
    ...permitRemoteSocket("in", policy),
    ...permitRouter("in", policy),
    ...refuseOthersDns(policy),
    ...refuseDirectDns(policy),
    ...lans.flatMap((lan) => [
      ...(usesPage(policy, lan) ? permitFromLan(lan) : permitFromClosed(lan)),
      ...(lan.mesh ? [] : [permitDhcpClients("in", lan)]),
    ]),
    ...permitFromRemote(policy),
    ...permitDhcp("in", policy),
    ...permitNeighbourDiscovery("in", policy),
    ...endpoints.flatMap((tunnel) => permitTooLong(policy.uplink, tunnel)),
    ...permitLookups("in", policy),
    ...permitExemptions("in", policy),
    ...permitService("in", policy),
    ...carrying.map(permitFromTunnel),
    ...resetLate(policy),
    ...fromPublic(lans).flatMap(refuseRest),
    ...refuseFromClosed(policy),
    dropRest(),
  ];
  return [
    chain("input", "type filter hook input priority filter; policy drop;", rules),
    ...closedChain(policy),
  ];
}

/** Through this machine, by pairs of interfaces. Most packets belong to a known connection, so these come first. */
export function forward(policy: Policy): string[] {
  const { lans, carrying: tunnels } = policy;
  const links = tunnels.map((tunnel) => tunnel.interface);
  const into = among("iifname", clientLinks(policy)).flatMap((from) =>
    links.map((link) => `oifname "${link}" ${from} jump into_${link}`),
  );
  const forwarded = toLan(policy);
  const back = betweenTunnelsAndLan(policy).map((pair) => `${pair} jump ${TO_LAN}`);
  const pairs = [...into, ...(forwarded.length === 0 ? [] : back)];
  return [
    chain("forward", "type filter hook forward priority filter; policy drop;", [
      ...keepOffOtherLinks(policy),
      ...keepInMeshes(policy),
      ...keepFromCircling(policy),
      ...tunnels.flatMap((tunnel) => clampAnswers(tunnel, policy)),
      ...permitKnown(policy),
      ...pairs.map((pair) => `${pair} comment "only between the LAN and the tunnels"`),
      ...forwardDirect(policy),
      ...forwardRemoteDirect(policy),
      ...forwardRemote(policy),
      ...forwardBetween(policy),
      ...lans.flatMap((lan) => fromHosts(lan)).flatMap(refuseRest),
      dropForwardedRest(),
    ]),
    ...intoUplink(policy, beginnings()),
    ...remoteIntoUplink(policy, beginnings()),
    ...remoteChains(policy, clampSegments()),
    ...intoOthersChain(policy, clampSegments()),
    ...(into.length === 0 ? [] : tunnels.map((tunnel) => intoTunnel(tunnel, policy))),
    ...forwarded,
  ];
}

/**
 * Packets of known connections, between the interfaces that they belong to. What has passed the rules of its interface
 * is in the zone of its tunnel, and goes through this tunnel only. Replies come first, because the direction of a
 * connection takes less time to compare than names of interfaces.
 */
function permitKnown(policy: Policy): string[] {
  const { carrying } = policy;
  const zones = carrying.map(({ zone, interface: link }) => `${zone} . "${link}"`);
  const [only] = carrying;
  const own =
    carrying.length === 1
      ? `ct zone ${only?.zone} oifname "${only?.interface}"`
      : `ct zone . oifname { ${zones.join(", ")} }`;
  const known = "ct state established,related";
  return [
    ...betweenTunnelsAndLan(policy).map(
      (pair) => `ct direction reply ${pair} ${known} accept comment "replies from the tunnels to the LAN"`,
    ),
    ...(only === undefined ? [] : among("iifname", clientLinks(policy))).map(
      (from) =>
        `${from} ${known} ${own} accept comment "known connections of the LAN, each by its own tunnel"`,
    ),
  ];
}

function betweenTunnelsAndLan({ carrying, lans }: Policy): string[] {
  const tunnels = carrying.map((tunnel) => tunnel.interface);
  return among("iifname", tunnels).flatMap((from) =>
    among("oifname", namesOf(lans)).map((to) => `${from} ${to}`),
  );
}

/** For the first packets of connections that leave outside the tunnels. */
function beginnings(): string[] {
  return [dropUntranslated(), clampSegments(), refuseMidStream()];
}

/**
 * Packets of LAN clients into the tunnel, except those of known connections. Only packets that have passed their
 * interface's rules are in the tunnel's zone.
 */
function intoTunnel(tunnel: FirewallTunnel, policy: Policy): string {
  const { lans } = policy;
  return chain(`into_${tunnel.interface}`, null, [
    dropOtherExits(tunnelsOf(tunnel.tunnel, policy)),
    dropUntranslated(),
    clampSegments(),
    refuseMidStream(),
    ...refuseEncryptedDns(policy),
    ...refuseUnansweredDns("forward", tunnel, lans),
    ...lans
      .flatMap((lan) => fromHosts(lan))
      .map((from) => `${from} accept comment "from the LAN into the tunnel"`),
    ...remoteIntoTunnel(policy),
  ]);
}

/**
 * Packets of connections that began outside, which need their forwarded port as long as they last. Without such ports
 * there is no chain.
 */
function toLan(policy: Policy): string[] {
  const rules = betweenTunnelsAndLan(policy).length === 0 ? [] : permitForwards(policy, clampSegments());
  return rules.length === 0 ? [] : [chain(TO_LAN, null, rules)];
}

/** What this machine itself sends. */
export function output(policy: Policy): string {
  const { lans } = policy;
  const tunnels = mainTunnels(policy);
  return chain("output", "type filter hook output priority filter; policy drop;", [
    ...answersByLoopback(),
    ...permitWireGuard("out", policy),
    ...permitRemoteSocket("out", policy),
    ...permitRouter("out", policy),
    ...permitRefusals(lans),
    ...dropRedirects(),
    ...permitLookups("out", policy),
    ...permitExemptions("out", policy),
    ...tunnels.slice(0, 1).flatMap((tunnel) => permitRedirectedDns(tunnel, policy)),
    ...lans.flatMap((lan) => [
      ...endFormer(policy, lan),
      ...refuseClearDns(lan),
      ...permitToLan(lan),
      ...(lan.mesh ? [] : onCable(policy, lan)),
    ]),
    ...permitToRemote(policy),
    ...permitDhcp("out", policy),
    ...permitNeighbourDiscovery("out", policy),
    ...permitUplinkNeighbours(policy),
    ...permitDhcpRenewal(policy),
    ...tunnels.flatMap((tunnel) => [
      ...[
        dropUntranslated(),
        dropOtherZones(tunnel),
        refuseMidStream(),
        ...refuseUnansweredDns("output", tunnel, lans),
        permitIntoTunnel(),
      ].map((rule) => `oifname "${tunnel.interface}" ${rule}`),
    ]),
    ...permitOwnQueries(policy),
    ...permitContacts(policy),
    ...permitService("out", policy),
    ...permitResets(policy),
    ...refuseRest(),
  ]);
}

function onCable(policy: Policy, lan: Lan): string[] {
  return [
    permitDhcpClients("out", lan),
    permitPublicNeighbours(lan),
    permitMdns(lan),
    ...(policy.announces ? [permitAnnouncements(lan)] : []),
  ];
}

/**
 * A reply that NAT sends on to another host is seen here as one for the loopback, and leaves by another interface, so it
 * is dropped. A reply for the gateway itself passes: Docker masquerades what programs here send to its bridge's address.
 */
function answersByLoopback(): string[] {
  return [
    'oifname "lo" ct direction reply ct state established ct status snat fib daddr type != local drop comment "the gateway answers in nobody else\'s name"',
    'oifname "lo" accept comment "loopback"',
  ];
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

/**
 * Resets for what a server still sends in a connection that has ended here, because its device has another exit now.
 * They apply only to connections that conntrack does not know: a reset for a packet that it calls invalid would end a
 * valid connection. They never go to the LAN's addresses: with one card the home router has one, and would get the
 * reset in clear.
 */
function resetLate({ carrying, lans, remote }: Policy): string[] {
  const late = "ct state new tcp flags & (syn | rst | ack) == ack";
  const ofLan = [...new Set([...lans.flatMap(({ prefixes }) => prefixes), ...(remote?.networks ?? [])])];
  return among(
    "iifname",
    carrying.map((tunnel) => tunnel.interface),
  ).flatMap((from) =>
    ([4, 6] as const).map(
      (family) =>
        `${from} ${late} ${outsideOf("saddr", family, ofLan)} reject with tcp reset comment "the server learns that it has ended"`,
    ),
  );
}

/** Permits the resets above. Main needs no such rule, because it permits everything that the gateway sends. */
function permitResets({ carrying }: Policy): string[] {
  return among(
    "oifname",
    carrying.filter(({ tunnel }) => tunnel !== MAIN).map((tunnel) => tunnel.interface),
  ).map(
    (to) =>
      `${to} ct state related tcp flags & rst == rst accept comment "the server learns that it has ended"`,
  );
}

function permitIntoTunnel(): string {
  return `accept comment "the gateway's own traffic uses the tunnel"`;
}

function clampSegments(): string {
  return 'tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu comment "TCP segments are clamped to the MTU of the way out"';
}

/** NAT does not translate resets of connections that conntrack does not know, or neighbour discovery. */
function dropUntranslated(): string {
  return 'ct state invalid,untracked drop comment "what NAT does not translate would leave with its own source address"';
}

function dropOtherZones(tunnel: FirewallTunnel): string {
  return `ct zone != ${tunnel.zone} drop comment "rejections of packets from outside must not enter the tunnel"`;
}

/** The kernel sends redirects before the forward chain sees the packet; IPv6 has no sysctl that stops it. */
function dropRedirects(): string[] {
  return ["icmp type redirect", "icmpv6 type nd-redirect"].map(
    (redirect) => `${redirect} drop comment "ICMP redirects would lead clients past the gateway"`,
  );
}

/** During a switch, the packets of both zones may take either tunnel. */
function dropOtherExits(tunnels: readonly FirewallTunnel[]): string {
  const zones = tunnels.map(({ zone }) => zone);
  const other = zones.length === 1 ? `${zones[0]}` : `{ ${zones.join(", ")} }`;
  return `ct zone != ${other} drop comment "only devices on this exit may use the tunnel"`;
}

function refuseMidStream(): string {
  return `${MID_STREAM} reject with tcp reset comment "connections of another exit are reset"`;
}

function refuseRest(from?: string): string[] {
  return refuse('comment "everything else is rejected at once"', from === undefined ? "" : `${from} `);
}

/** Hosts outside the LAN get no answer. */
function dropRest(): string {
  return 'drop comment "during a reload the policy takes effect late; a rule does not"';
}

/** Hosts outside the LAN get no answer, not even an error: the error could be routed into the tunnel. */
function dropForwardedRest(): string {
  return 'drop comment "hosts outside the LAN get no answer"';
}
