import { type Address, familyOf, prefixOf } from "../base/address.ts";
import { MARK_MASK, RELAY_MARK } from "../network/slot.ts";
import { headerOf, isMarked, on } from "./match.ts";
import type { FirewallTunnel, Policy } from "./policy.ts";
import type { Rule } from "./routing-rules.ts";

/** After those of WireGuard's own packets, and before the exceptions. */
const PRIORITY = { relay: 21, noRelay: 22 };
const MARK = `fwmark 0x${RELAY_MARK.toString(16)}/0x${MARK_MASK.toString(16)}`;
const PROTOCOLS = { tcp: 6, udp: 17 };

/** A tunnel whose server a relay reaches. */
export type RelayedTunnel = FirewallTunnel & Required<Pick<FirewallTunnel, "relay">>;

export function relayedIn({ endpoints }: Pick<Policy, "endpoints">): RelayedTunnel[] {
  return endpoints.filter((tunnel): tunnel is RelayedTunnel => tunnel.relay !== undefined);
}

/**
 * The relay's connection to the server, in place of WireGuard's packets: of the service's own marked socket, to the
 * server's address and port only. Another program without privileges cannot set the mark, and the service gives it to no
 * other socket. What is in a stream or in disguise cannot be matched as WireGuard's packets are, so the relay takes
 * nothing else.
 */
export function permitRelay(direction: "in" | "out", uplink: string | null, tunnel: RelayedTunnel): string[] {
  return direction === "in"
    ? on("iifname", uplink).map(
        (from) =>
          `${from} ${endpoint("s", tunnel)} ct direction reply ct state established accept comment "the server's answers to the relay"`,
      )
    : on("oifname", uplink).map(
        (to) =>
          `${to} ${isMarked(RELAY_MARK)} ${endpoint("d", tunnel)} accept comment "the relay's connection to the server"`,
      );
}

/** A match for packets to or from the server of a relay. */
export function endpoint(
  direction: "s" | "d",
  { endpoint: { address, port }, relay }: RelayedTunnel,
): string {
  return `${headerOf(familyOf(address))} ${direction}addr ${address} ${relay} ${direction}port ${port}`;
}

/** The same in the other layer: what has the mark leaves for a server's address and port, or not at all. */
export function relayRules({ uplink, endpoints }: Pick<Policy, "uplink" | "endpoints">): Rule[] {
  const texts = new Map<string, Address>(
    relayedIn({ endpoints }).map(({ endpoint: { address, port }, relay }) => [
      `to ${prefixOf(address)} ipproto ${PROTOCOLS[relay]} ${MARK} iif lo dport ${port} lookup main`,
      address,
    ]),
  );
  if (uplink === null || texts.size === 0) return [];
  return [
    ...[...texts].map(([text, address]) => ({ family: familyOf(address), priority: PRIORITY.relay, text })),
    ...([4, 6] as const).map((family) => ({
      family,
      priority: PRIORITY.noRelay,
      text: `${MARK} unreachable`,
    })),
  ];
}

/** Whether a rule is one of these, which a stopped service may have left. */
export function isRelayRule({ priority, text }: Rule): boolean {
  if (priority === PRIORITY.noRelay) return text === `${MARK} unreachable`;
  return (
    priority === PRIORITY.relay &&
    new RegExp(`^to \\S+/(32|128) ipproto (6|17) ${MARK} iif lo dport \\d+ lookup main$`).test(text)
  );
}
