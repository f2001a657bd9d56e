import { familyOf, type Prefix } from "../../src/base/address.ts";
import { type Policy, tunnelsOf } from "../../src/killswitch/policy.ts";
import { hasOwnExit, isIn } from "./exits.ts";
import { type Family, isOneOf, isProtocol, isState, type Packet, TCP, UDP } from "./packet.ts";
import { isPermittedIn } from "./permitted.ts";
import { asked, clientsOf, eachWayIn, isMac, type Question } from "./question.ts";
import { bool, both, either, FALSE, implies, no, same, type Term, TRUE } from "./terms.ts";
import type { Walks } from "./walks.ts";

// The questions about names.

/** (f) A question for a name leaves by the exit of the device that asks, and goes to a resolver of that tunnel. */
export function namesLeave(walks: Walks, policy: Policy, family: Family): Question[] {
  return eachWayIn(policy).map(({ from, tunnel }) => {
    const walk = walks.forwarded(family, from, tunnel.interface);
    const { packet } = walk;
    const resolvers = tunnelsOf(tunnel.tunnel, policy).flatMap((each) => each.resolvers);
    const own = implies(
      bool(resolvers.some((each) => familyOf(each) === family)),
      isOneOf(packet.dst, resolvers, family),
    );
    // In a switch, what its zone has given to one tunnel may find the other's route, and be redirected to neither's.
    const isSwitch = tunnelsOf(tunnel.tunnel, policy).length > 1;
    const isAsked = both(packet.isFirst, isSwitch ? same(packet.zone, tunnel.zone) : TRUE);
    const wrong = either(no(hasOwnExit(policy, packet, tunnel.tunnel)), both(isAsked, no(own)));
    const isAnswer = policy.forwards.length > 0 ? packet.isReply : FALSE;
    return asked(
      "f",
      `${from} > ${tunnel.interface}, port 53`,
      walk,
      both(isQuery(packet, 53), no(isAnswer), wrong),
    );
  });
}

/** (f) A resolver on the gateway asks by main: no device of another exit reaches it. Its own one knows who asks. */
export function namesReachGateway(walks: Walks, policy: Policy, family: Family): Question[] {
  const { resolver } = policy;
  return clientsOf(policy).map((from) => {
    const walk = walks.delivered(family, from);
    const { packet } = walk;
    const isPort = (port: number) =>
      both(
        isProtocol(packet, TCP, UDP),
        packet.hasPorts,
        no(isState(packet, "invalid")),
        same(packet.dport, port),
      );
    // With one card, what may come in by the uplink comes from here.
    const isOther = from === policy.uplink ? isPermittedIn(policy, packet) : FALSE;
    const isQuestion = both(either(isPort(53), isPort(853)), no(packet.isReply), no(isOther));
    const toOther = both(isQuestion, no(hasOwnExit(policy, packet, "main")));
    const asksFor = (resolver?.askers ?? []).map(({ id, port }) => ({ id, port }));
    const toOwn = asksFor.map(({ id, port }) => {
      if (port === null) return FALSE;
      const isAsker = id.includes("/")
        ? familyOf(id as Prefix) === family
          ? isIn(packet.start.src, id as Prefix)
          : FALSE
        : isMac(packet, id);
      return both(isPort(port), no(packet.isReply), no(isAsker));
    });
    // The port of all others is answered by the home's default exit.
    const hasDefault = policy.networks?.some(({ interface: link, exit }) => link === from && exit !== null);
    const toShared =
      resolver !== undefined && hasDefault ? both(isPort(resolver.port), no(packet.isReply)) : FALSE;
    // On a blocked network, the MAC address of a device of another one is answered no more than any.
    const isBlockedHere = policy.networks?.some(
      (each) => each.interface === from && each.exit?.to === "blocked",
    );
    const owners = [
      ...policy.devices.map(({ id }) => id as string),
      ...(policy.destinations ?? []).flatMap((each) => each.devices),
      ...policy.routed.map(({ prefix }) => prefix as string),
    ];
    const toBlocked = asksFor
      .filter(({ id }) => isBlockedHere && !owners.includes(id))
      .map(({ port }) => (port === null ? FALSE : both(isPort(port), no(packet.isReply))));
    return asked("f", `${from} > gateway, names`, walk, either(toOther, toShared, ...toBlocked, ...toOwn));
  });
}

function isQuery(packet: Packet, port: number): Term {
  return both(isProtocol(packet, TCP, UDP), packet.hasPorts, same(packet.start.dport, port));
}
