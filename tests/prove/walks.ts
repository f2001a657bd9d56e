import type { Policy } from "../../src/killswitch/policy.ts";
import { passFilters, passNat } from "./chains.ts";
import type { Machine } from "./machine.ts";
import {
  type Family,
  hasConnection,
  isDiscovery,
  isMulticast,
  isReset,
  newPacket,
  type Packet,
} from "./packet.ts";
import type { Ways } from "./routing.ts";
import {
  bits,
  both,
  choose,
  either,
  FALSE,
  fresh,
  no,
  same,
  type Term,
  TRUE,
  Unknown,
  unknownsOfWalk,
  within,
} from "./terms.ts";
import { type Breach, ownAddresses, Tracking } from "./tracking.ts";
import { branchOf, newWalk, type Sent, type Walk, type Way } from "./walk.ts";

// The ways of a packet: through the gateway, to it, and from it.

const CONNTRACK = -200;
const DSTNAT = -100;
const SRCNAT = 100;

type Entered = Walk & { ways: Ways };

export class Walks {
  private readonly tracking: Tracking;
  private readonly entered = new Map<string, Entered>();
  private readonly done = new Map<string, Walk>();
  private readonly allSent = new Map<string, Sent[]>();

  constructor(
    readonly machine: Machine,
    policies: readonly Policy[],
  ) {
    this.tracking = new Tracking(machine, policies);
  }

  get links(): readonly string[] {
    return [...this.machine.links.keys()];
  }

  /**
   * By induction over the packets of a connection, an invariant holds if no first packet breaks it: if none of these
   * conditions can be met.
   */
  breaches(): Breach[] {
    if (this.machine.ruleset === null) return [];
    return [...this.all().values()].flatMap(({ walk }) => this.tracking.breachesBy(walk));
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
    const walks = this.allSent.get(key) ?? unknownsOfWalk(`sent ${key}`, () => this.send(family, oif, bound));
    this.allSent.set(key, walks);
    return walks;
  }

  /** The sockets whose packets differ: with any routing, those that are bound send nothing that others do not. */
  boundTo(link: string): readonly (string | null)[] {
    return this.machine.routing.isAny ? [null] : [null, link];
  }

  private once(key: string, make: () => Walk): Walk {
    const walk = this.done.get(key) ?? unknownsOfWalk(key, make);
    this.done.set(key, walk);
    return walk;
  }

  /** By name. */
  all(): ReadonlyMap<string, Way> {
    const links = this.links.filter((link) => link !== "lo");
    const of = (name: string, iif: string, oif: string | null, walk: Walk) =>
      [name, { iif, oif, walk }] as const;
    const ways = ([4, 6] as const).flatMap((family) =>
      links.flatMap((one) => [
        of(`IPv${family} ${one} > gateway`, one, null, this.delivered(family, one)),
        ...links.map((other) =>
          of(`IPv${family} ${one} > ${other}`, one, other, this.forwarded(family, one, other)),
        ),
        ...this.boundTo(one).flatMap((bound) =>
          this.sent(family, one, bound).map((walk) =>
            of(`IPv${family} gateway > ${one}, bound to ${bound}, first ${walk.first}`, "lo", one, walk),
          ),
        ),
      ]),
    );
    return new Map(ways);
  }

  private forward(family: Family, iif: string, oif: string): Walk {
    const { ways, ...walk } = this.enter(family, iif);
    const { packet } = walk;
    // ip6_forward: link-local addresses stay on their link.
    const isNear = (address: Term) => (family === 4 ? FALSE : within(address, 0xfe80n << 112n, 10));
    // ip_route_input_slow: nothing is forwarded to "this network".
    const isNowhere = family === 4 ? within(packet.dst, 0n, 8) : FALSE;
    // ip6_mc_input, ip_route_input_mc: without a daemon for it no multicast is routed.
    const leaves = both(
      no(isNowhere),
      no(isMulticast(packet)),
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
    const begun = newWalk(begin, TRUE, [...this.tracking.begun(begin), this.fromOwn(begin)]);
    const first = this.waysOut(begin, bound, true);
    return this.links.flatMap((link) => {
      const way = first.get(link) ?? FALSE;
      if (way === FALSE) return [];
      const walk = { ...branchOf(begun), arrives: way };
      const arrives = unknownsOfWalk(`sent ${family} ${oif} ${bound} by ${link}`, () =>
        this.throughOutput(walk, { first: link, oif, bound }),
      );
      return arrives === FALSE ? [] : { ...walk, first: link, arrives };
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
    this.tracking.track(walk);
    const [before, mark] = [packet.dst, packet.mark];
    const tracked = passNat(this.machine, packet, pass(raw, CONNTRACK, DSTNAT), "output", first);
    this.tracking.translateKnown(walk, "dst");
    const filtered = pass(tracked, DSTNAT, Infinity);
    if (packet.mark !== mark)
      throw new Unknown("a mark that the output chains set, which needs another route");
    const isSame = same(packet.dst, before);
    // nf_nat_ipv4_local_fn compares the connection's addresses, not what the packet had before.
    const isTranslated = both(hasConnection(packet), choose(packet.isReply, packet.isSnat, packet.isDnat));
    const isRoutedAgain = either(no(isSame), isTranslated);
    const again = isRoutedAgain === FALSE ? FALSE : (this.waysOut(packet, bound, false).get(oif) ?? FALSE);
    const leaves = both(
      filtered,
      either(first === oif ? either(isSame, no(isTranslated)) : FALSE, both(isRoutedAgain, again)),
    );
    return leaves === FALSE ? FALSE : this.leave(walk, leaves, oif);
  }

  /** Prerouting, and the look-up after it. */
  private enter(family: Family, iif: string): Entered {
    const key = `${family} ${iif}`;
    const known = this.entered.get(key) ?? unknownsOfWalk(`in ${key}`, () => this.newEntry(family, iif));
    this.entered.set(key, known);
    return { ...branchOf(known), ways: known.ways };
  }

  private newEntry(family: Family, iif: string): Entered {
    const { machine } = this;
    const packet = newPacket(family, iif, bits(0, 32));
    // They are nobody's: sets have them as the entry that tells that they were not emptied.
    const isSomeones = [packet.mac, packet.dst].map((each) => no(same(each, 0)));
    const walk = newWalk(packet, TRUE, [...this.tracking.begun(packet), ...isSomeones]);
    const pass = (alive: Term, from: number, below: number) =>
      passFilters(machine, packet, alive, { hook: "prerouting", oif: null, from, below });
    const raw = pass(TRUE, -Infinity, CONNTRACK);
    this.tracking.track(walk);
    const tracked = passNat(machine, packet, pass(raw, CONNTRACK, DSTNAT), "prerouting", null);
    this.tracking.translateKnown(walk, "dst");
    const arrives = pass(tracked, DSTNAT, Infinity);
    return { ...walk, arrives, ways: machine.routing.lookUp({ ...packet, oif: null, hasPorts: true }) };
  }

  private leave(walk: Walk, alive: Term, oif: string): Term {
    const { packet } = walk;
    const pass = (left: Term, from: number, below: number) =>
      passFilters(this.machine, packet, left, { hook: "postrouting", oif, from, below });
    const left = passNat(this.machine, packet, pass(alive, -Infinity, SRCNAT), "postrouting", oif);
    this.tracking.translateKnown(walk, "src");
    if (this.machine.ruleset !== null) this.tracking.moveFirst(walk);
    return pass(left, SRCNAT, Infinity);
  }

  /**
   * IPv4 sockets send from addresses of the gateway, or from none yet (ip_route_output_key_hash_rcu). IPv6 ones may be bound
   * to any address (IPV6_FREEBIND), or to one that has gone; none is only the source of discovery (ip6_dst_lookup_tail).
   */
  private fromOwn(packet: Packet): Term {
    const { src, family } = packet;
    if (family === 6) return either(no(same(src, 0)), isDiscovery(packet));
    const own = ownAddresses(this.machine, family).map((each) => same(src, each));
    return either(same(src, 0), within(src, 0x7f000000n, 8), isReset(packet), ...own);
  }

  isBroadcast({ dst, family }: Pick<Packet, "dst" | "family">, link: string): Term {
    const { broadcasts = [] } = this.machine.links.get(link) ?? {};
    return family === 4 ? either(...broadcasts.map((each) => same(dst, each))) : FALSE;
  }

  /** What no routing rule is asked for is left open. */
  private waysOut(packet: Packet, bound: string | null, hasPorts: boolean): Ways {
    const ways = new Map(this.machine.routing.lookUp({ ...packet, oif: bound, hasPorts }));
    // icmp6_dst_alloc: the kernel's own discovery goes by its link. ip_route_output_key_hash_rcu: so does multicast with a
    // source, and whatever a bound IPv4 socket sends without a route. For IPv6 multicast and IPv4 broadcasts, the local table
    // has routes by their links, and is asked before all rules.
    const aside = either(isMulticast(packet), isDiscovery(packet));
    const refused = bound !== null && packet.family === 4 ? (ways.get("refused") ?? FALSE) : FALSE;
    // What the gateway sends to itself leaves by the loopback, and NAT may still lead it elsewhere.
    ways.set("lo", either(ways.get("lo") ?? FALSE, ways.get("local") ?? FALSE));
    for (const link of bound === null ? this.links : [bound])
      ways.set(
        link,
        either(
          ways.get(link) ?? FALSE,
          both(either(aside, this.isBroadcast(packet, link)), fresh("by link")),
          refused,
        ),
      );
    return ways;
  }
}
