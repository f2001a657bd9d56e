import type { Policy } from "../../src/killswitch/policy.ts";
import { addressBits } from "./address-bits.ts";
import { Connections, INVARIANTS, type Invariant, type Zone } from "./connections.ts";
import { type Machine, statementsIn, statementsOf } from "./machine.ts";
import {
  conntrackSays,
  type Family,
  hasConnection,
  isProtocol,
  isState,
  type Packet,
  TCP,
  type Translations,
  UDP,
} from "./packet.ts";
import type { Case } from "./solver.ts";
import { both, choose, either, FALSE, fresh, implies, no, same, type Term, TRUE } from "./terms.ts";
import { isTranslatedTo } from "./translation.ts";
import type { Walk } from "./walk.ts";

// What conntrack does with a packet on its way, and what the kernel can have said of it.

/** What can be so only if an invariant does not hold of the family's connections. */
export type Breach = Case & { invariant: Invariant; family: Family };

export class Tracking {
  private readonly translations: Readonly<Record<Family, Translations>>;
  private readonly own: Readonly<Record<Family, readonly bigint[]>>;
  private readonly connections: Connections;

  constructor(
    private readonly machine: Machine,
    policies: readonly Policy[],
  ) {
    this.own = { 4: ownAddresses(machine, 4), 6: ownAddresses(machine, 6) };
    this.translations = { 4: translationsIn(machine, 4), 6: translationsIn(machine, 6) };
    this.connections = new Connections(policies, oneWayZonesIn(machine));
  }

  /** What the kernel can have said of a packet as it comes. */
  begun(packet: Packet): Term[] {
    return conntrackSays(packet, this.own[packet.family], this.translations[packet.family]);
  }

  /** Under which conditions a first packet that arrives breaks an invariant. */
  breachesBy({ assumed, arrives, packet }: Walk): Breach[] {
    if (both(arrives, packet.isFirst) === FALSE) return [];
    const { family } = packet;
    const base = [...assumed, arrives, packet.isFirst];
    return INVARIANTS.flatMap((invariant) => {
      const holds = this.connections.meets(invariant, packet, packet);
      return holds === TRUE ? [] : { invariant, family, base, wrong: no(holds) };
    });
  }

  /** nf_conntrack_in: a reply may belong to a connection whose zone is that of its original direction alone. */
  track({ packet, assumed, learned }: Walk): void {
    packet.isPastConntrack = true;
    if (this.machine.ruleset === null) {
      assumed.push(no(packet.isDnat), no(packet.isSnat), no(packet.isMoved));
      return;
    }
    const other = fresh("reply's zone", 16);
    assumed.push(either(same(other, 0), this.connections.isOneWay(other)));
    const isOpen = either(packet.isZoneOneWay, same(packet.zone, 0));
    packet.zone = choose(both(packet.isReply, isOpen), other, packet.zone);
    if (packet.iif === "lo") this.attach(packet);
    this.assumeAnswered(packet, assumed);
    for (const invariant of INVARIANTS)
      if (!isOfTarget(invariant)) learned[invariant] = this.connections.meets(invariant, packet, packet);
  }

  /** A reply comes from where one of the rules has led its connection. */
  private assumeAnswered(packet: Packet, assumed: Term[]): void {
    const { start, isDnat, isReply } = packet;
    const isAnswer = both(isDnat, isReply, isState(packet, "established"));
    const begun = { ...packet, ...packet.original, hasPorts: TRUE };
    if (isAnswer !== FALSE)
      assumed.push(implies(isAnswer, isTranslatedTo(this.machine, begun, start.src, start.sport)));
  }

  /** nf_conntrack_attach: the gateway's own errors and resets have the connection of the packet that they are about. */
  private attach(packet: Packet): void {
    const isRelated = isState(packet, "related");
    packet.zone = choose(isRelated, fresh("its zone", 16), packet.zone);
    packet.isTracked = either(isRelated, packet.isTracked);
  }

  /** A known connection's packet is translated as its first one was, or back. */
  translateKnown(walk: Walk, side: "src" | "dst"): void {
    const { packet, assumed } = walk;
    const isKnown = both(hasConnection(packet), no(packet.isFirst));
    const isSourceChanged = either(packet.isSnat, packet.isMoved);
    const [forth, back] =
      side === "dst" ? [packet.isDnat, isSourceChanged] : [isSourceChanged, packet.isDnat];
    const [isForth, isBack] = [both(isKnown, forth, no(packet.isReply)), both(isKnown, back, packet.isReply)];
    if (isForth === FALSE && isBack === FALSE) return;
    const [address, port] = [fresh("translated", packet.src.width), fresh("translated port", 16)];
    if (side === "dst") this.assumeLed(walk, isForth, address, port);
    else assumed.push(implies(both(isForth, no(packet.isSnat)), same(address, packet.original.src)));
    const end = side === "dst" ? packet.original.src : packet.original.dst;
    const endPort = side === "dst" ? packet.original.sport : packet.original.dport;
    assumed.push(implies(isBack, same(address, end)));
    assumed.push(implies(both(isBack, isPart(packet)), same(port, endPort)));
    const isChanged = either(isForth, isBack);
    packet[side] = choose(isChanged, address, packet[side]);
    const its = side === "dst" ? "dport" : "sport";
    packet[its] = choose(isChanged, port, packet[its]);
  }

  /**
   * nf_nat_alloc_null_binding: with or without a rule, a first packet gets another source port if a connection that NAT
   * has changed, or one of another zone, has the same answers. Its address stays.
   */
  moveFirst({ packet }: Walk): void {
    const isMoved = both(hasConnection(packet), packet.isFirst, fresh("moved at first"));
    packet.isMoved = either(packet.isMoved, isMoved);
    packet.sport = choose(both(isMoved, no(packet.isSnat)), fresh("moved port", 16), packet.sport);
  }

  /** By one of the rules for destinations. */
  private assumeLed({ packet, assumed, learned }: Walk, isForth: Term, address: Term, port: Term): void {
    // An error goes where the connection's packets go.
    const begun = { ...packet, ...packet.original, protocol: fresh("protocol", 8), hasPorts: TRUE };
    const begunPort = fresh("port", 16);
    const isMade = choose(
      isState(packet, "related"),
      isTranslatedTo(this.machine, begun, address, begunPort),
      isTranslatedTo(this.machine, packet, address, port),
    );
    assumed.push(implies(isForth, isMade));
    const dport = choose(isState(packet, "related"), begunPort, port);
    for (const invariant of INVARIANTS)
      if (isOfTarget(invariant))
        learned[invariant] = implies(
          isForth,
          this.connections.meets(invariant, packet, { dst: address, dport }),
        );
    // The packet that an error is about came from there, before or after its own translation.
    const isSentBack = either(same(packet.dst, packet.original.dst), same(packet.dst, address));
    if (packet.iif === "lo") assumed.push(implies(both(isForth, isState(packet, "related")), isSentBack));
  }
}

/** Whether it says where the connection's packets go. */
function isOfTarget(invariant: Invariant): boolean {
  return invariant === "destination led" || invariant === "question led here";
}

/** Of the connection itself, with its ports; what is about it has others. */
function isPart(packet: Packet): Term {
  return both(isProtocol(packet, TCP, UDP), isState(packet, "new", "established"));
}

/** Of all links, as packets have them. */
export function ownAddresses({ links }: Machine, family: Family): bigint[] {
  return [...links.values()]
    .flatMap(({ addresses }) => addresses)
    .filter((each) => each.includes(":") === (family === 6))
    .map(addressBits);
}

function oneWayZonesIn({ ruleset, earlier }: Machine): Zone[] {
  return [ruleset, earlier].flatMap((each) =>
    statementsIn(each).flatMap((statement): Zone[] => {
      if (statement.kind !== "zone" || !statement.isOneWay) return [];
      const { value } = statement;
      if ("zone" in value) return [{ is: Number(value.zone) }];
      if ("offset" in value) return [{ from: Number(value.offset) }];
      return (each?.elements.get(value.map) ?? []).map(({ value: [zone] }) => ({ is: Number(zone) }));
    }),
  );
}

/** Where rules for destinations lead to, and whether any changes sources. */
function translationsIn(machine: Machine, family: Family): Translations {
  const verdicts = statementsOf(machine).flatMap((each) => (each.kind === "verdict" ? [each.verdict] : []));
  const targets = verdicts.flatMap((each) =>
    each.kind === "dnat" && each.family === family ? [addressBits(each.address)] : [],
  );
  return { targets: [...new Set(targets)], masquerades: verdicts.some(({ kind }) => kind === "masquerade") };
}
