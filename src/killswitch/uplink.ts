import { familyOf } from "../base/address.ts";
import { MAIN_SLOT, markOf } from "../network/slot.ts";
import { LEASE } from "./link.ts";
import { byFamily, chain, clearMark, headerOf, isMarked, on, setMark, toEach, WIREGUARD } from "./match.ts";
import type { FirewallTunnel, Policy } from "./policy.ts";
import { endpoint, permitRelay, relayedIn } from "./relay.ts";
import { toRemoteSocket } from "./remote-socket.ts";
import { fromRouter } from "./router.ts";
import { isWireGuards, withServers } from "./wireguard-servers.ts";

/**
 * Sent by a router before a narrower link. Without it the kernel keeps sending packets that are too long (RFC 1191, RFC
 * 8201).
 */
const TOO_LONG = {
  4: "icmp type destination-unreachable icmp code frag-needed",
  6: "icmpv6 type packet-too-big",
};

/**
 * Anyone on the internet can send with a server's address and port: only what conntrack knows as an answer reaches
 * WireGuard's socket, and nothing reaches another. Keepalives keep the flow known. Conntrack may have seen the server's
 * packet first, so the direction does not matter.
 */
export function permitWireGuard(direction: "in" | "out", policy: Policy): string[] {
  const { uplink } = policy;
  const own =
    direction === "in"
      ? on("iifname", uplink).flatMap((from) =>
          withServers("s").map(
            (server) =>
              `${from} ${server} ${WIREGUARD} ct state established accept comment "WireGuard from a server"`,
          ),
        )
      : on("oifname", uplink).flatMap((to) =>
          withServers("d").map(
            (server) =>
              `${to} ${isWireGuards()} ${server} ${WIREGUARD} accept comment "WireGuard to a server"`,
          ),
        );
  return [...own, ...relayedIn(policy).flatMap((tunnel) => permitRelay(direction, uplink, tunnel))];
}

/** An error about a packet to the server. Conntrack may have seen the server's packet first, hence both directions. */
export function permitTooLong(
  uplink: string | null,
  { endpoint: { address, port } }: FirewallTunnel,
): string[] {
  const family = familyOf(address);
  const flows = [
    `daddr ${address} ct original proto-dst ${port}`,
    `saddr ${address} ct original proto-src ${port}`,
  ];
  return on("iifname", uplink).flatMap((from) =>
    flows.map(
      (flow) =>
        `${from} ${TOO_LONG[family]} ct state related ct original ${headerOf(family)} ${flow} accept comment "path MTU discovery for WireGuard"`,
    ),
  );
}

export function permitLookups(direction: "in" | "out", policy: Policy): string[] {
  if (direction === "in") {
    return on("iifname", policy.uplink).flatMap((from) =>
      lookupReplies(policy).map((reply) => `${from} ${reply} accept comment "reply to the DNS lookup"`),
    );
  }
  return policy.lookups.flatMap(({ resolvers, sourcePort }) =>
    toEach(policy.uplink, resolvers).map(
      (to) => `${to} udp sport ${sourcePort} udp dport 53 accept comment "DNS lookup of the server's name"`,
    ),
  );
}

export function permitExemptions(direction: "in" | "out", policy: Policy): string[] {
  if (direction === "in") {
    return on("iifname", policy.uplink).flatMap((from) =>
      exemptionReplies(policy).map(
        (reply) => `${from} ${reply} accept comment "replies to the operator's exemption"`,
      ),
    );
  }
  return policy.exemptions.flatMap(({ addresses, port, sourcePort }) =>
    toEach(policy.uplink, addresses).map(
      (to) =>
        `${to} tcp sport ${sourcePort} tcp dport ${port} accept comment "the operator's exemption: one connection to one server"`,
    ),
  );
}

/** On the uplink: reverse-path filtering looks up the return path with the mark (`src_valid_mark`), and finds the uplink. */
function markedForUplink(reply: string): string {
  return `${reply} ${setMark(markOf(MAIN_SLOT))} comment "the return path is the uplink"`;
}

/** A lease may come for an address that the gateway does not have yet. */
export function markLeases(): string {
  return markedForUplink(LEASE);
}

/** All other replies are for addresses of the gateway. */
export function markReplies(policy: Policy, family: 4 | 6): string[] {
  const relayed = relayedIn(policy).filter(({ endpoint: { address } }) => familyOf(address) === family);
  // With one interface, errors of LAN clients come in there as well, and those use the tunnel.
  const errors = policy.endpoints.length === 0 ? [] : [`${TOO_LONG[family]} fib daddr type local`];
  return [
    ...withServers("s", [family]),
    ...relayed.map((tunnel) => endpoint("s", tunnel)),
    ...errors,
    ...toRemoteSocket(policy).map((packets) => `meta nfproto ipv${family} ${packets}`),
    ...[...lookupReplies(policy), ...exemptionReplies(policy), ...fromRouter(policy)].filter((reply) =>
      reply.startsWith(`${headerOf(family)} `),
    ),
  ].map(markedForUplink);
}

/**
 * Reverse-path filtering has had the mark by then. The kernel would give it to an error that it sends itself
 * (`fwmark_reflect`): what a server sends to a port that was closed would be answered by the uplink, if another program
 * opened the firewall.
 */
export function unmarkReplies({ endpoints }: Policy): string {
  const relayed = endpoints.some(({ relay }) => relay === "tcp") ? ["tcp"] : [];
  return chain("unmark_replies", "type filter hook input priority mangle; policy accept;", [
    ...["udp", ...relayed].map(
      (protocol) =>
        `meta l4proto ${protocol} ${isMarked(markOf(MAIN_SLOT))} ${clearMark()} comment "no answer of the kernel's takes the uplink"`,
    ),
  ]);
}

function lookupReplies({ lookups }: Policy): string[] {
  return lookups.flatMap(({ resolvers, sourcePort }) =>
    byFamily("saddr", resolvers).map((from) => `${from} udp sport 53 udp dport ${sourcePort}`),
  );
}

function exemptionReplies({ exemptions }: Policy): string[] {
  return exemptions.flatMap(({ addresses, port, sourcePort }) =>
    byFamily("saddr", addresses).map((from) => `${from} tcp sport ${port} tcp dport ${sourcePort}`),
  );
}
