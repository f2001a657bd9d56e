import { familyOf } from "../base/address.ts";
import { DIRECT_MARK } from "../network/slot.ts";
import { isBlockedExit } from "../shared/exits.ts";
import { DESTINATION_ZONE, DIRECT } from "./direct.ts";
import { TO_RESOLVER } from "./dns.ts";
import { ASSIGNED, BLOCKED_DEVICES, chainOf, NO_DEVICE } from "./exits.ts";
import { among, chain, headerOf, namesOf, setMark } from "./match.ts";
import { exitOfLink } from "./network-part.ts";
import { type Destination, leadsToDirect, type Policy } from "./policy.ts";

export const OWN = 'comment "a destination with an exit of its own"';
const LEAVE = "leave_by_";
const UNBLOCKED = "unblocked_by_";

/** The chain that leads traffic to some destinations out of the tunnel; only then the table has it. */
export const LEAVE_DIRECTLY = `${LEAVE}${DIRECT}`;

/** A rule's exit, and the devices that have the rule: none if all have it. */
type Way = Pick<Destination, "exit" | "devices">;

/** The chains by which these destinations leave. */
export function leaves(destinations: readonly Destination[], policy: Policy): string[] {
  const exits = new Map(destinations.map(({ exit }) => [leaveBy(exit, policy), exit]));
  const forAll = new Set(destinations.map((way) => wayOf(way, policy)));
  return [...exits]
    .filter(([name]) => name.startsWith(LEAVE))
    .flatMap(([name, exit]) => [
      chain(name, null, [
        `${TO_RESOLVER} return comment "DNS takes the exit of its device"`,
        `ether saddr & ${NO_DEVICE} != @${BLOCKED_DEVICES} goto ${chainOf({ to: "blocked" }, policy)} comment "the set was emptied: nobody knows which devices are blocked"`,
        ...(exit.to === "direct" ? leaveDirectly() : [`goto ${chainOf(exit, policy)} ${OWN}`]),
      ]),
      ...(forAll.has(unlessBlocked(name)) ? [chain(unlessBlocked(name), null, unblocked(name, policy))] : []),
    ]);
}

/** Where packets go on to that a rule is about. What is blocked, or has no way out now, is refused whatever it is. */
export function wayOf({ exit, devices }: Way, policy: Policy): string {
  const name = leaveBy(exit, policy);
  return name.startsWith(LEAVE) && devices.length === 0 ? unlessBlocked(name) : name;
}

function leaveBy(exit: Destination["exit"], policy: Policy): string {
  const refused = chainOf({ to: "blocked" }, policy);
  switch (exit.to) {
    case "direct":
      return leadsToDirect(policy) ? LEAVE_DIRECTLY : refused;
    case "blocked":
      return refused;
    case "tunnel":
      return chainOf(exit, policy) === refused ? refused : `${LEAVE}${exit.name}`;
  }
}

function unlessBlocked(leave: string): string {
  return `${UNBLOCKED}${leave.slice(LEAVE.length)}`;
}

/**
 * A blocked device reaches only what rules of its own permit. Its MAC address is looked up here, for what a rule is about:
 * other packets pass no look-up of devices. Networks behind routers and remote devices that are blocked do not get here,
 * and the former have the MAC addresses of their routers.
 */
function unblocked(leave: string, policy: Policy): string[] {
  const stays = 'return comment "a blocked device reaches only what rules of its own permit"';
  return [
    ...policy.routed.map(
      ({ prefix }) =>
        `${headerOf(familyOf(prefix))} saddr ${prefix} goto ${leave} comment "a network behind another router"`,
    ),
    ...isBlocked(policy).map((match) => `${match} ${stays}`),
    `goto ${leave} ${OWN}`,
  ];
}

/** Matches for the packets of devices that people have blocked, by themselves or by their default exit. */
function isBlocked(policy: Policy): string[] {
  const blocked = namesOf(policy.lans).filter((link) => isBlockedExit(exitOfLink(policy, link)));
  const byDefault = among("iifname", blocked).flatMap((from) => [
    `${from} ether saddr != @${ASSIGNED}`,
    `${from} meta iiftype != ether`,
  ]);
  return [`ether saddr @${BLOCKED_DEVICES}`, ...byDefault];
}

function leaveDirectly(): string[] {
  return [
    `${setMark(DIRECT_MARK)} comment "the mark selects the machine's own routes"`,
    `ct original zone set ${DESTINATION_ZONE} accept comment "these connections end with the rules"`,
  ];
}
