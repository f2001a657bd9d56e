import { addressOf, familyOf, lengthOf, type Prefix } from "../../src/base/address.ts";
import { meshOf } from "../../src/killswitch/mesh.ts";
import { exitOfLink } from "../../src/killswitch/network-part.ts";
import type { Destination, Exit, Policy } from "../../src/killswitch/policy.ts";
import { addressBits } from "./address-bits.ts";
import { isProtocol, type Packet, TCP, UDP } from "./packet.ts";
import { both, either, FALSE, no, same, type Term, TRUE, within } from "./terms.ts";

// The exit that a policy gives to a packet of a device, by what the packet is as it comes: the other side of the proof.

/** The condition under which the packet's exit is that one. */
export function hasExit(policy: Policy, packet: Packet, name: string): Term {
  const owners = ownersIn(policy, packet);
  return either(...owners.map(({ who, id, exit }) => both(who, exitIs({ id, exit }, policy, packet, name))));
}

/** The condition under which the exit of its device is that one, whatever its destination. */
export function hasOwnExit(policy: Policy, packet: Packet, name: string): Term {
  return either(...ownersIn(policy, packet).map(({ who, exit }) => both(who, named(exit, name))));
}

interface Owner {
  /** The packets that are its own. */
  who: Term;
  /** Null for a device for which nothing is decided. */
  id: string | null;
  exit: Exit;
}

/** Remote devices by their addresses; then networks behind routers, the most specific first; then devices. */
function ownersIn(policy: Policy, { iif, family, mac, start }: Packet): Owner[] {
  const { remote } = policy;
  if (remote?.interface === iif)
    return remote.devices.map(({ id, addresses, exit }) => ({
      ...{ id, exit },
      who: either(
        ...addresses
          .filter((each) => familyOf(each) === family)
          .map((each) => same(start.src, addressBits(each))),
      ),
    }));
  const ofNetwork = exitOfLink(policy, iif);
  const isMesh = policy.lans.some((lan) => lan.mesh && lan.interface === iif);
  const networks = policy.routed
    .filter(({ prefix }) => familyOf(prefix) === family)
    // The devices of a mesh come by no other interface.
    .filter(({ prefix }) => meshOf(prefix, policy)?.interface === (isMesh ? iif : undefined))
    .toSorted((a, b) => lengthOf(b.prefix) - lengthOf(a.prefix))
    .map(({ prefix, exit }) => ({ id: prefix, exit, who: isIn(start.src, prefix) }));
  const devices = policy.devices.map(({ id, exit }) => ({
    id,
    exit,
    who: same(mac, BigInt(`0x${id.replaceAll(":", "")}`)),
  }));
  // A rule for a destination may name a device for which nothing else is decided.
  const others = (policy.destinations ?? [])
    .flatMap((each) => each.devices)
    .filter((id) => !id.includes("/"))
    .map((id) => ({ id, exit: ofNetwork, who: same(mac, BigInt(`0x${id.replaceAll(":", "")}`)) }));
  const byMac = isMesh ? [] : [...devices, ...others];
  return firstOf([...networks, ...byMac, { id: null, exit: ofNetwork, who: TRUE }]);
}

function firstOf<T extends { who: Term }>(owners: readonly T[]): T[] {
  let left: Term = TRUE;
  return owners.map((owner) => {
    const who = both(left, owner.who);
    left = both(left, no(owner.who));
    return { ...owner, who };
  });
}

/** A rule for this device comes before those for all, which do not apply to a blocked one. DNS takes the device's exit. */
function exitIs({ id, exit }: Omit<Owner, "who">, policy: Policy, packet: Packet, name: string): Term {
  const { destinations = [] } = policy;
  const own = destinations.filter(
    ({ devices }) => id !== null && (devices as readonly string[]).includes(id),
  );
  const all = exit.to === "blocked" ? [] : destinations.filter(({ devices }) => devices.length === 0);
  const rules = firstOf(
    [...placesIn(own), ...placesIn(all)].map((place) => ({ ...place, who: place.met(packet) })),
  );
  const isQuery = both(
    isProtocol(packet, TCP, UDP),
    packet.hasPorts,
    either(same(packet.start.dport, 53), same(packet.start.dport, 853)),
  );
  const byRule = either(...rules.map((each) => both(each.who, named(each.exit, name))));
  const isRuled = either(...rules.map(({ who }) => who));
  return either(both(no(isQuery), byRule), both(either(isQuery, no(isRuled)), named(exit, name)));
}

interface Place {
  exit: Exit;
  met(packet: Packet): Term;
}

/** Addresses that names have, those of longer names first and `direct` last; then the most specific prefix. */
function placesIn(destinations: readonly Destination[]): Place[] {
  const names = destinations.flatMap(({ exit, named: given = [] }) =>
    given.map((each) => ({ exit, ...each })),
  );
  const isLater = ({ exit }: { exit: Exit }) => (exit.to === "direct" ? 1 : 0);
  const nameOf = ({ exit }: { exit: Exit }) => (exit.to === "tunnel" ? exit.name : "");
  const byName = names.toSorted(
    (a, b) => isLater(a) - isLater(b) || b.labels - a.labels || (nameOf(a) < nameOf(b) ? -1 : 1),
  );
  const prefixes = destinations.flatMap(({ exit, prefixes: given }) =>
    given.map((prefix) => ({ exit, prefix })),
  );
  const byLength = prefixes.toSorted((a, b) => lengthOf(b.prefix) - lengthOf(a.prefix));
  return [
    ...byName.map(({ exit, addresses }) => ({
      exit,
      met: ({ family, start: { dst } }: Packet) =>
        either(
          ...addresses
            .filter((each) => familyOf(each) === family)
            .map((each) => same(dst, addressBits(each))),
        ),
    })),
    ...byLength.map(({ exit, prefix }) => ({
      exit,
      met: ({ family, start: { dst } }: Packet) => (familyOf(prefix) === family ? isIn(dst, prefix) : FALSE),
    })),
  ];
}

/** Whether the address is in the prefix, which has its family. */
export function isIn(address: Term, prefix: Prefix): Term {
  return within(address, addressBits(addressOf(prefix)), lengthOf(prefix));
}

function named(exit: Exit, name: string): Term {
  return (exit.to === "tunnel" ? exit.name : exit.to) === name ? TRUE : FALSE;
}
