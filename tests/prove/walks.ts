import type { Policy } from "../../src/killswitch/policy.ts";
import { addressBits } from "./address-bits.ts";
import { isTranslatedTo, type Machine, passFilters, passNat } from "./chains.ts";
import { Connections, INVARIANTS, type Invariant, nothingYet, type Zone } from "./connections.ts";
import {
  conntrackSays,
  type Family,
  hasConnection,
  isDiscovery,
  isMulticast,
  isState,
  newPacket,
  type Packet,
  type Translations,
} from "./packet.ts";
import type { Ways } from "./routing.ts";
import type { Ruleset, Statement } from "./ruleset.ts";
import {
  bits,
  both,
  choose,
  either,
  FALSE,
  fresh,
  implies,
  no,
  same,
  type Term,
  TRUE,
  Unknown,
  within,
} from "./terms.ts";

// The ways of a packet: through the gateway, to it, and from it.

const CONNTRACK = -200;
const DSTNAT = -100;
const SRCNAT = 100;

/** A packet at the end of its way, and the condition of getting there. */
export interface Walk {
  packet: Packet;
  arrives: Term;
  /** What the kernel can produce. */
  assumed: Term[];
  /** What is assumed besides, once it has been learned. */
  learned: Record<Invariant, Term>;
}

/** Of the gateway's own packet, with the interface that its first route leads to. */
export interface Sent extends Walk {
  first: string;
}

export class Walks {
  private readonly translations: Readonly<Record<Family, Translations>>;
  private readonly own: Readonly<Record<Family, readonly string[]>>;
  private readonly connections: Connections;
  private readonly entered = new Map<string, Walk & { ways: Ways }>();
  private readonly done = new Map<string, Walk>();
  private readonly allSent = new Map<string, Sent[]>();

  constructor(
    readonly machine: Machine,
    policies: readonly Policy[],
  ) {
    const addresses = [...machine.links.values()].flatMap((link) => link.addresses);
    const ofFamily = (family: Family) => addresses.filter((each) => each.includes(":") === (family === 6));
    this.own = { 4: ofFamily(4), 6: ofFamily(6) };
    this.translations = { 4: translationsIn(machine, 4), 6: translationsIn(machine, 6) };
    this.connections = new Connections(policies, oneWayZonesIn(machine));
  }

  get links(): readonly string[] {
    return [...this.machine.links.keys()];
  }

  /**
   * By induction over the packets of a connection, an invariant holds if no first packet breaks it: if none of these
   * conditions can be met.
   */
  breaches(): { invariant: Invariant; conditions: readonly Term[] }[] {
    if (this.machine.ruleset === null) return [];
    const walks = this.all().filter(({ arrives, packet }) => both(arrives, packet.isFirst) !== FALSE);
    return INVARIANTS.flatMap((invariant) =>
      walks
        .filter(({ packet }) => this.connections.meets(invariant, packet, packet) !== TRUE)
        .map(({ assumed, arrives, packet }) => ({
          invariant,
          conditions: [
            ...[...assumed, arrives, packet.isFirst],
            no(this.connections.meets(invariant, packet, packet)),
          ],
        })),
    );
  }

  forwarded(family: Family, iif: string, oif: string): Walk {
    return this.once(`${family} ${iif} ${oif}`, () => this.forward(family, iif, oif));
  }

  delivered(family: Family, iif: string): Walk {
    return this.once(`${family} ${iif}`, () => this.deliver(family, iif));
  }

  /**
   * The gateway's own packet that leaves by `oif`, one walk for each first route, which decides what the output chains
   * see. A destination that NAT has changed is routed again, without ports.
   */
  sent(family: Family, oif: string, bound: string | null = null): Sent[] {
    const key = `${family} ${oif} ${bound}`;
    const walks = this.allSent.get(key) ?? this.send(family, oif, bound);
    this.allSent.set(key, walks);
    return walks;
  }

  private once(key: string, make: () => Walk): Walk {
    const walk = this.done.get(key) ?? make();
    this.done.set(key, walk);
    return walk;
  }

  private all(): Walk[] {
    const links = this.links.filter((link) => link !== "lo");
    return ([4, 6] as const).flatMap((family) =>
      links.flatMap((one) => [
        this.delivered(family, one),
        ...links.map((other) => this.forwarded(family, one, other)),
        ...[null, one].flatMap((bound) => this.sent(family, one, bound)),
      ]),
    );
  }

  private forward(family: Family, iif: string, oif: string): Walk {
    const { ways, ...walk } = this.enter(family, iif);
    const { packet } = walk;
    // ip6_forward: link-local addresses stay on their link.
    const isNear = (address: Term) => (family === 4 ? FALSE : within(address, 0xfe80n << 112n, 10));
    // ip_route_input_slow: nothing is forwarded to "this network".
    const isNowhere = family === 4 ? within(packet.dst, 0n, 8) : FALSE;
    const leaves = both(
      no(isNowhere),
      ...[walk.arrives, ways.get(oif) ?? FALSE, no(isNear(packet.start.src))],
      iif === oif ? TRUE : no(isNear(packet.dst)),
    );
    const passed = passFilters(this.machine, packet, leaves, { hook: "forward", oif });
    return { ...walk, arrives: this.leave(walk, passed, oif) };
  }

  private deliver(family: Family, iif: string): Walk {
    const { ways, ...walk } = this.enter(family, iif);
    const reaches = both(walk.arrives, either(ways.get("local") ?? FALSE, isMulticast(walk.packet)));
    return {
      ...walk,
      arrives: passFilters(this.machine, walk.packet, reaches, { hook: "input", oif: null }),
    };
  }

  private send(family: Family, oif: string, bound: string | null): Sent[] {
    const begin = newPacket(family, "lo", fresh("mark", 32));
    const assumed = [...this.kernel(begin), this.fromOwn(begin)];
    const first = this.waysOut(begin, bound, true);
    return this.links.flatMap((link) => {
      const way = first.get(link) ?? FALSE;
      if (way === FALSE) return [];
      const walk = { packet: { ...begin }, arrives: way, assumed: [...assumed], learned: nothingYet() };
      const arrives = this.throughOutput(walk, { first: link, oif, bound });
      return arrives === FALSE ? [] : { ...walk, first: link, arrives: this.leave(walk, arrives, oif) };
    });
  }

  private throughOutput(
    walk: Walk,
    { first, oif, bound }: { first: string; oif: string; bound: string | null },
  ): Term {
    const { packet } = walk;
    const pass = (alive: Term, from: number, below: number) =>
      passFilters(this.machine, packet, alive, { hook: "output", oif: first, from, below });
    const raw = pass(walk.arrives, -Infinity, CONNTRACK);
    this.track(walk);
    const [before, mark] = [packet.dst, packet.mark];
    const tracked = passNat(this.machine, packet, pass(raw, CONNTRACK, DSTNAT), "output", first);
    this.translateKnown(walk, "dst");
    const filtered = pass(tracked, DSTNAT, Infinity);
    if (packet.mark !== mark)
      throw new Unknown("a mark that the output chains set, which needs another route");
    const isSame = same(packet.dst, before);
    // nf_nat_ipv4_local_fn compares the connection's addresses, not what the packet had before.
    const isTranslated = both(hasConnection(packet), choose(packet.isReply, packet.isSnat, packet.isDnat));
    const isRoutedAgain = either(no(isSame), isTranslated);
    if (isRoutedAgain === FALSE) return first === oif ? filtered : FALSE;
    const again = this.waysOut(packet, bound, false).get(oif) ?? FALSE;
    return both(filtered, either(first === oif ? isSame : FALSE, both(isRoutedAgain, again)));
  }

  /** Prerouting, and the look-up after it. */
  private enter(family: Family, iif: string): Walk & { ways: Ways } {
    const key = `${family} ${iif}`;
    const known = this.entered.get(key) ?? this.newEntry(family, iif);
    this.entered.set(key, known);
    return {
      ...known,
      packet: { ...known.packet },
      assumed: [...known.assumed],
      learned: { ...known.learned },
    };
  }

  private newEntry(family: Family, iif: string): Walk & { ways: Ways } {
    const { machine } = this;
    const packet = newPacket(family, iif, bits(0, 32));
    // They are nobody's: sets have them as the entry that tells that they were not emptied.
    const isSomeones = [packet.mac, packet.dst].map((each) => no(same(each, 0)));
    const assumed = [...this.kernel(packet), ...isSomeones];
    const walk = { packet, arrives: TRUE, assumed, learned: nothingYet() };
    const pass = (alive: Term, from: number, below: number) =>
      passFilters(machine, packet, alive, { hook: "prerouting", oif: null, from, below });
    const raw = pass(TRUE, -Infinity, CONNTRACK);
    this.track(walk);
    const tracked = passNat(machine, packet, pass(raw, CONNTRACK, DSTNAT), "prerouting", null);
    this.translateKnown(walk, "dst");
    const arrives = pass(tracked, DSTNAT, Infinity);
    return { ...walk, arrives, ways: machine.routing.lookUp({ ...packet, oif: null, hasPorts: true }) };
  }

  private kernel(packet: Packet): Term[] {
    return conntrackSays(packet, this.own[packet.family].map(addressBits), this.translations[packet.family]);
  }

  private leave(walk: Walk, alive: Term, oif: string): Term {
    const { packet } = walk;
    const pass = (left: Term, from: number, below: number) =>
      passFilters(this.machine, packet, left, { hook: "postrouting", oif, from, below });
    const left = passNat(this.machine, packet, pass(alive, -Infinity, SRCNAT), "postrouting", oif);
    this.translateKnown(walk, "src");
    return pass(left, SRCNAT, Infinity);
  }

  /** nf_conntrack_in: a reply may belong to a connection whose zone is that of its original direction alone. */
  private track({ packet, assumed, learned }: Walk): void {
    packet.isPastConntrack = true;
    if (this.machine.ruleset === null) {
      assumed.push(no(packet.isDnat), no(packet.isSnat));
      return;
    }
    const other = fresh("reply's zone", 16);
    assumed.push(either(same(other, 0), this.connections.isOneWay(other)));
    const isOpen = either(packet.isZoneOneWay, same(packet.zone, 0));
    packet.zone = choose(both(packet.isReply, isOpen), other, packet.zone);
    if (packet.iif === "lo") this.attach(packet);
    for (const invariant of INVARIANTS)
      if (invariant !== "destination led")
        learned[invariant] = this.connections.meets(invariant, packet, packet);
  }

  /** nf_conntrack_attach: the gateway's own errors and resets have the connection of the packet that they are about. */
  private attach(packet: Packet): void {
    const isRelated = isState(packet, "related");
    packet.zone = choose(isRelated, fresh("its zone", 16), packet.zone);
    packet.isTracked = either(isRelated, packet.isTracked);
  }

  /** A known connection's packet is translated as its first one was, or back. */
  private translateKnown({ packet, assumed, learned }: Walk, side: "src" | "dst"): void {
    const isKnown = both(hasConnection(packet), no(packet.isFirst));
    const [forth, back] = side === "dst" ? [packet.isDnat, packet.isSnat] : [packet.isSnat, packet.isDnat];
    const [isForth, isBack] = [both(isKnown, forth, no(packet.isReply)), both(isKnown, back, packet.isReply)];
    if (isForth === FALSE && isBack === FALSE) return;
    const [address, port] = [fresh("translated", packet.src.width), fresh("translated port", 16)];
    if (side === "dst") {
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
      learned["destination led"] = implies(
        isForth,
        this.connections.meets("destination led", packet, { dst: address, dport }),
      );
      // The packet that an error is about came from there, before or after its own translation.
      const isSentBack = either(same(packet.dst, packet.original.dst), same(packet.dst, address));
      if (packet.iif === "lo") assumed.push(implies(both(isForth, isState(packet, "related")), isSentBack));
    }
    const end = side === "dst" ? packet.original.src : packet.original.dst;
    assumed.push(implies(isBack, same(address, end)));
    const isChanged = either(isForth, isBack);
    packet[side] = choose(isChanged, address, packet[side]);
    const its = side === "dst" ? "dport" : "sport";
    packet[its] = choose(isChanged, port, packet[its]);
  }

  /** Sockets send from addresses of the gateway, or from none yet. */
  private fromOwn({ src, family }: Packet): Term {
    const own = this.own[family].map((each) => same(src, addressBits(each)));
    const near =
      family === 4 ? within(src, 0x7f000000n, 8) : either(within(src, 0xfe80n << 112n, 10), same(src, 1));
    return either(same(src, 0), near, ...own);
  }

  /** What no routing rule is asked for is left open. */
  private waysOut(packet: Packet, bound: string | null, hasPorts: boolean): Ways {
    const ways = new Map(this.machine.routing.lookUp({ ...packet, oif: bound, hasPorts }));
    // icmp6_dst_alloc: the kernel's own discovery goes by its link. ip_route_output_key_hash_rcu: so does multicast with a
    // source, and whatever a bound IPv4 socket sends without a route.
    const aside = packet.family === 4 ? isMulticast(packet) : isDiscovery(packet);
    const refused = bound !== null && packet.family === 4 ? (ways.get("refused") ?? FALSE) : FALSE;
    // What the gateway sends to itself leaves by the loopback, and NAT may still lead it elsewhere.
    ways.set("lo", either(ways.get("lo") ?? FALSE, ways.get("local") ?? FALSE));
    for (const link of bound === null ? this.links : [bound])
      ways.set(link, either(ways.get(link) ?? FALSE, both(aside, fresh("by link")), refused));
    return ways;
  }
}

function oneWayZonesIn({ ruleset, earlier }: Machine): Zone[] {
  return [...zonesOf(ruleset), ...zonesOf(earlier)];
}

function zonesOf(ruleset: Ruleset | null): Zone[] {
  return statementsOf(ruleset).flatMap((each): Zone[] => {
    if (each.kind !== "zone" || !each.isOneWay) return [];
    if ("zone" in each.value) return [{ is: Number(each.value.zone) }];
    if ("offset" in each.value) return [{ from: Number(each.value.offset) }];
    return (ruleset?.elements.get(each.value.map) ?? []).map(({ value }) => ({ is: Number(value[0]) }));
  });
}

/** Where rules for destinations lead to, and whether any changes sources. */
function translationsIn({ ruleset, earlier }: Machine, family: Family): Translations {
  const verdicts = [ruleset, earlier]
    .flatMap(statementsOf)
    .flatMap((each) => (each.kind === "verdict" ? [each.verdict] : []));
  const targets = verdicts.flatMap((each) =>
    each.kind === "dnat" && each.family === family ? [addressBits(each.address)] : [],
  );
  return { targets: [...new Set(targets)], masquerades: verdicts.some(({ kind }) => kind === "masquerade") };
}

function statementsOf(ruleset: Ruleset | null): Statement[] {
  return [...(ruleset?.chains.values() ?? [])].flatMap(({ rules }) =>
    rules.flatMap((rule) => rule.statements),
  );
}
