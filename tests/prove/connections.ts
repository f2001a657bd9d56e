import { addressOf, familyOf, isLinkLocal } from "../../src/base/address.ts";
import type { Policy } from "../../src/killswitch/policy.ts";
import { addressBits } from "./address-bits.ts";
import { isIn } from "./exits.ts";
import { type Family, isOneOf, isProtocol, isState, type Packet, TCP, UDP } from "./packet.ts";
import { atLeast, both, either, FALSE, implies, no, same, type Term, TRUE, within } from "./terms.ts";

/**
 * What may be true of every connection, because each is translated as its first packet was. None is assumed: each is
 * proved of first packets before it is used for the others.
 */
export type Invariant =
  /** No source is translated outside the zones; no destination is. */
  | "source in zone"
  | "destination in zone"
  /** No source is translated that is neither a device's nor the gateway's, so what is translated back goes to no other. */
  | "source inside"
  /** Connections in a zone of one direction begin inside, but for DHCP. */
  | "zone inside"
  /** Destinations are translated of questions for names, and by forwarded ports in their tunnel's zone. */
  | "destination led"
  /** It was a device or the gateway that asked, or someone in a tunnel at a forwarded port. */
  | "led from inside"
  /** Questions in the zones of the gateway's own resolver are all led to it. */
  | "question led"
  /** Nothing in these zones is led elsewhere. */
  | "question led here";

export const INVARIANTS: readonly Invariant[] = [
  ...(["source in zone", "destination in zone", "source inside"] as const),
  ...(["zone inside", "destination led", "led from inside"] as const),
  ...(["question led", "question led here"] as const),
];

/** A zone of one direction, or all from a number on. */
export type Zone = { is: number } | { from: number };

/** Where the packets of a connection go whose destination is translated. */
export type Target = Pick<Packet, "dst" | "dport">;

export class Connections {
  constructor(
    /** Of these rules, and of those before. */
    private readonly policies: readonly Policy[],
    private readonly oneWayZones: readonly Zone[],
  ) {}

  /** Whether a reply may belong to the zone, which is that of its connection's other direction alone. */
  isOneWay(zone: Term): Term {
    return either(
      ...this.oneWayZones.map((each) => ("from" in each ? atLeast(zone, each.from) : same(zone, each.is))),
    );
  }

  /** The condition under which the packet's connection is as the invariant says. */
  meets(invariant: Invariant, packet: Packet, target: Target): Term {
    return either(...this.policies.map((policy) => this.meetsOf(policy, invariant, packet, target)));
  }

  private meetsOf(policy: Policy, invariant: Invariant, packet: Packet, target: Target): Term {
    const { isSnat, isDnat, zone, original, family } = packet;
    switch (invariant) {
      case "source in zone":
        return implies(isSnat, no(same(zone, 0)));
      case "destination in zone":
        return implies(isDnat, no(same(zone, 0)));
      case "source inside":
        return implies(isSnat, either(isInside(policy, original.src, family), isNobody(packet)));
      case "zone inside":
        return implies(this.isOneWay(zone), either(isInside(policy, original.src, family), isDhcp(packet)));
      case "destination led":
        return implies(isDnat, either(same(original.dport, 53), isForward(policy, packet, target)));
      case "led from inside":
        return implies(
          isDnat,
          either(isInside(policy, original.src, family), isNobody(packet), isAtForward(policy, packet)),
        );
      case "question led":
        return implies(isQuestion(policy, packet), isDnat);
      case "question led here":
        return implies(
          both(isDnat, isOf(zone, resolverPorts(policy))),
          isOf(target.dport, resolverPorts(policy)),
        );
    }
  }
}

function isForward(policy: Policy, packet: Packet, { dst, dport }: Target): Term {
  return either(
    ...forwardsOf(policy, packet).map(({ to, port, met }) =>
      both(met, same(dst, addressBits(to)), same(dport, port)),
    ),
  );
}

function isAtForward(policy: Policy, packet: Packet): Term {
  return either(...forwardsOf(policy, packet).map(({ met }) => met));
}

/** The forwarded ports, each with the condition under which a connection was begun there. */
function forwardsOf({ forwards, endpoints }: Policy, { original, zone, family }: Packet) {
  return forwards
    .filter(({ to }) => familyOf(to) === family)
    .map(({ interface: link, inside, to, port }) => {
      const own = endpoints.filter((each) => each.interface === link);
      const addresses = own.flatMap((each) => each.addresses);
      const met = both(
        either(...own.map((each) => same(zone, each.zone))),
        isOneOf(original.dst, addresses, family),
        same(original.dport, inside),
      );
      return { to, port, met };
    });
}

function isQuestion(policy: Policy, packet: Packet): Term {
  return both(
    isOf(packet.zone, resolverPorts(policy)),
    ...[isProtocol(packet, TCP, UDP), isState(packet, "new", "established")],
    same(packet.original.dport, 53),
  );
}

/** Of the gateway's own resolver; each is the zone of those who ask there, too. */
function resolverPorts({ resolver }: Policy): number[] {
  return resolver === undefined ? [] : [resolver.port, ...resolver.askers.flatMap(({ port }) => port ?? [])];
}

function isOf(one: Term, numbers: readonly number[]): Term {
  return either(...numbers.map((each) => same(one, each)));
}

/** The gateway before it has an address. */
function isNobody({ original, family }: Packet): Term {
  return family === 4 ? same(original.src, 0) : FALSE;
}

/** DHCP with the gateway, whatever address the sender has had elsewhere. */
export function isDhcp({ original: { sport, dport }, family }: Packet): Term {
  if (family === 6) return FALSE;
  return either(both(same(sport, 68), same(dport, 67)), both(same(sport, 67), same(dport, 68)));
}

/** Addresses of devices and of the gateway itself. */
function isInside(
  { lans, remote, addresses, uplinkAddresses, endpoints }: Policy,
  address: Term,
  family: Family,
): Term {
  const prefixes = [...lans.flatMap((lan) => lan.prefixes), ...(remote?.networks ?? [])];
  const own = [
    ...addresses,
    ...uplinkAddresses,
    ...endpoints.flatMap((each) => each.addresses),
    ...(remote?.addresses ?? []),
  ];
  const near =
    family === 4
      ? within(address, 0x7f000000n, 8)
      : either(within(address, 0xfe80n << 112n, 10), same(address, 1));
  return either(
    near,
    ...prefixes
      .filter((each) => familyOf(each) === family && !isLinkLocal(addressOf(each)))
      .map((each) => isIn(address, each)),
    isOneOf(address, own, family),
  );
}

/** With nothing learned yet. */
export function nothingYet(): Record<Invariant, Term> {
  return Object.fromEntries(INVARIANTS.map((invariant) => [invariant, TRUE])) as Record<Invariant, Term>;
}
