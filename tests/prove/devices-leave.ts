import type { Policy } from "../../src/killswitch/policy.ts";
import { isDhcp } from "./connections.ts";
import { hasExit } from "./exits.ts";
import { type Family, isMulticast, isOneOf } from "./packet.ts";
import { asked, clientsOf, eachWayIn, isInside, lanNames, type Question } from "./question.ts";
import { both, either, FALSE, no } from "./terms.ts";
import type { Walks } from "./walks.ts";

// The questions about what devices send.

/** (a) What a device sends leaves by the uplink only if its exit is `direct`. */
export function leavesDirectly(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return clientsOf(policy).map((from) => {
    const walk = walks.forwarded(family, from, uplink);
    const { packet } = walk;
    // With one card, answers come in and leave by the same interface.
    const toLan = lanNames(policy).includes(uplink) ? isInside(policy, packet.dst, family) : FALSE;
    // A remote device may be allowed into the LAN: (e) asks which.
    // With one card, DHCP of a direct device that has another network's address is answered there.
    const isAnswer = both(packet.isReply, either(toLan, isDhcp(packet)));
    const isPermitted = from === uplink ? isAnswer : toLan;
    return asked(
      "a",
      `${from} > ${uplink}`,
      walk,
      both(no(isPermitted), no(hasExit(policy, packet, "direct"))),
    );
  });
}

/** The same, with one card, for what is not on the cable anyway. */
export function leavesBeyondLink(walks: Walks, policy: Policy, family: Family): Question[] {
  const { uplink } = policy;
  if (uplink === null) return [];
  return lanNames(policy).map((from) => {
    const walk = walks.forwarded(family, from, uplink);
    const isOnLink = from === uplink ? isInside(policy, walk.packet.dst, family) : FALSE;
    return asked("a", `${from} > ${uplink}`, walk, both(no(isOnLink), no(isMulticast(walk.packet))));
  });
}

/** (b) What a device sends leaves by a tunnel only if that is its exit. */
export function leavesByTunnel(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    // What answers a connection that has come in by a forwarded port leaves by that port's tunnel.
    const isAnswer = policy.forwards.length > 0 ? walk.packet.isReply : FALSE;
    return asked(
      "b",
      `${from} > ${tunnel.interface}`,
      walk,
      both(no(isAnswer), no(hasExit(policy, walk.packet, tunnel.tunnel))),
    );
  });
}

/** (b) What comes from another home never leaves by a tunnel to a home. */
export function homesCircle(walks: Walks, policy: Policy, family: Family): Question[] {
  const { remote, carrying } = policy;
  const homes = (remote?.devices ?? []).filter(({ home }) => home).flatMap(({ addresses }) => addresses);
  if (remote === undefined || homes.length === 0) return [];
  return carrying
    .filter(({ peer }) => peer !== undefined && remote.gateways?.includes(peer))
    .map((tunnel) => {
      const walk = walks.forwarded(family, remote.interface, tunnel.interface);
      const fromHome = isOneOf(walk.packet.start.src, homes, family);
      return asked("b", `${remote.interface} > ${tunnel.interface}, from a home`, walk, fromHome);
    });
}

/** (b) It has the tunnel's own address then. */
export function leavesWithOwnAddress(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    return asked(
      "b",
      `${from} > ${tunnel.interface}, its address`,
      walk,
      no(isOneOf(walk.packet.src, tunnel.addresses, family)),
    );
  });
}
