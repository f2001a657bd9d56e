import { addressBits } from "./address-bits.ts";
import { constant, type Place, type Reading, read } from "./field.ts";
import { hasConnection, type Packet } from "./packet.ts";
import type { Routing } from "./routing.ts";
import {
  type Chain,
  type Element,
  type Field,
  type Hook,
  type Port,
  type Right,
  type Rule,
  type Ruleset,
  type Statement,
  type Verdict,
  verdictIn,
  type ZoneValue,
} from "./ruleset.ts";
import {
  atLeast,
  atMost,
  bits,
  bool,
  both,
  choose,
  combined,
  either,
  FALSE,
  fresh,
  masked,
  no,
  same,
  type Term,
  TRUE,
  Unknown,
} from "./terms.ts";

// A packet through nftables' chains: what they do with it, and under which condition it goes on.

/** Of one gateway. */
export interface Machine {
  ruleset: Ruleset | null;
  /** The one before, by which connections that are still known may have been translated. */
  earlier: Ruleset | null;
  routing: Routing;
  /** By interface; those without MAC addresses are tunnels and the loopback. */
  links: ReadonlyMap<string, Link>;
}

export interface Link {
  isEther: boolean;
  addresses: readonly string[];
}

/** Chains without end are a mistake in the text. */
const MAX_DEPTH = 16;

/** The chains of one type at a hook, within these priorities. */
export function passFilters(
  machine: Machine,
  packet: Packet,
  alive: Term,
  {
    hook,
    oif,
    from = -Infinity,
    below = Infinity,
  }: { hook: Hook["name"]; oif: string | null; from?: number; below?: number },
): Term {
  const chains = hooked(machine, hook, "filter").filter(
    ({ hook: { priority } }) => priority >= from && priority < below,
  );
  return chains.reduce((left, chain) => new Pass(machine, packet, chain, oif).base(left), alive);
}

/** All NAT chains of a hook see a connection's first packet only; the first that translates it is the last. */
export function passNat(
  machine: Machine,
  packet: Packet,
  alive: Term,
  hook: Hook["name"],
  oif: string | null,
): Term {
  packet.isTranslated = FALSE;
  return hooked(machine, hook, "nat").reduce((left, chain) => {
    const runs = both(left, hasConnection(packet), packet.isFirst, no(packet.isTranslated));
    const passed = new Pass(machine, packet, chain, oif).base(runs);
    return either(both(left, no(runs)), passed);
  }, alive);
}

/** Whether a known connection was translated to this address and port by one of the rules for destinations. */
export function isTranslatedTo(machine: Machine, packet: Packet, address: Term, port: Term): Term {
  return either(
    ...[machine.ruleset, machine.earlier].map((ruleset) =>
      isTranslatedBy({ ...machine, ruleset }, packet, address, port),
    ),
  );
}

function isTranslatedBy(machine: Machine, packet: Packet, address: Term, port: Term): Term {
  const chains = [...(machine.ruleset?.chains.values() ?? [])];
  const rules = chains.flatMap((chain) => chain.rules.map((rule) => ({ chain, rule })));
  const made = rules.flatMap(({ chain, rule }) => {
    const verdict = rule.statements.find((each) => each.kind === "verdict");
    if (verdict?.verdict.kind !== "dnat" || chain.hook === null) return [];
    return new Pass(machine, packet, { ...chain, hook: chain.hook }, null).madeBy(
      rule,
      verdict.verdict,
      address,
      port,
    );
  });
  return either(...made);
}

function hooked({ ruleset }: Machine, hook: Hook["name"], type: Hook["type"]) {
  const chains = [...(ruleset?.chains.values() ?? [])].filter(
    (chain): chain is Chain & { hook: Hook } => chain.hook?.name === hook && chain.hook.type === type,
  );
  return chains.sort((a, b) => a.hook.priority - b.hook.priority);
}

/** One packet in one base chain and where it leads. */
class Pass {
  private readonly accepted: Term[] = [];

  constructor(
    private readonly machine: Machine,
    private readonly packet: Packet,
    private readonly start: Chain & { hook: Hook },
    private readonly oif: string | null,
  ) {}

  base(guard: Term): Term {
    const end = this.chain(this.start.name, guard, 0);
    return either(...this.accepted, ...(this.start.hook.policy === "accept" ? [end] : []));
  }

  /** What the rule says of the tuple of the connection itself. Its mark and its way in may have changed since. */
  madeBy(rule: Rule, verdict: Verdict & { kind: "dnat" }, address: Term, port: Term): Term {
    const { packet } = this;
    if (packet.family !== verdict.family) return FALSE;
    const isOfTuple = (field: Field) =>
      /^(meta (nfproto|l4proto)|(ip|ip6) [sd]addr|(tcp|udp|th) [sd]port|ct (original )?zone)$/.test(field);
    const matches = rule.statements.flatMap((each) =>
      each.kind === "match" && each.left.every(isOfTuple) ? this.match(each) : [],
    );
    const toPort =
      verdict.port === null
        ? same(port, packet.dport)
        : "port" in verdict.port
          ? same(port, Number(verdict.port.port))
          : either(...this.portsIn(verdict.port).map(({ met, port: its }) => both(met, same(port, its))));
    return both(...matches, this.canBegin(), same(address, addressBits(verdict.address)), toPort);
  }

  /** In output begin the gateway's own connections, in the zones that are given to them there. */
  private canBegin(): Term {
    if (this.start.hook.name !== "output") return TRUE;
    const zones = zonesIn(hooked(this.machine, "output", "filter"));
    return either(...[0n, ...zones].map((zone) => same(this.packet.zone, zone)));
  }

  /** The condition under which the chain ends without a verdict. */
  private chain(name: string, begin: Term, depth: number): Term {
    const chain = this.machine.ruleset?.chains.get(name);
    if (chain === undefined || depth > MAX_DEPTH) throw new Unknown(`the chain ${name}`);
    let guard = begin;
    const returned: Term[] = [];
    for (const rule of chain.rules) {
      if (guard === FALSE) break;
      try {
        guard = this.rule(rule, guard, returned, depth);
      } catch (error) {
        if (!(error instanceof Unknown) || error.message.startsWith("line")) throw error;
        throw new Unknown(`line ${rule.line}: ${rule.text}: ${error.message}`);
      }
    }
    return either(guard, ...returned);
  }

  /** The condition under which the next rule is reached. */
  private rule({ statements }: Rule, guard: Term, returned: Term[], depth: number): Term {
    let [here, next] = [guard, FALSE];
    for (const statement of statements) {
      if (here === FALSE) break;
      if (statement.kind === "match") {
        const met = this.match(statement);
        next = either(next, both(here, no(met)));
        here = both(here, met);
      } else if (statement.kind === "vmap") {
        for (const { met, verdict } of this.verdicts(statement)) {
          next = either(next, this.verdict(verdict, both(here, met), returned, depth));
          here = both(here, no(met));
        }
      } else if (statement.kind === "verdict") {
        const met = this.canTranslate(statement.verdict);
        next = either(
          next,
          both(here, no(met)),
          this.verdict(statement.verdict, both(here, met), returned, depth),
        );
        here = FALSE;
      } else {
        const met = this.change(statement, here);
        next = either(next, both(here, no(met)));
        here = both(here, met);
      }
    }
    return either(next, here);
  }

  /** The condition under which the rules after it are reached. */
  private verdict(verdict: Verdict, here: Term, returned: Term[], depth: number): Term {
    switch (verdict.kind) {
      case "accept":
        this.accepted.push(here);
        return FALSE;
      case "drop":
      case "reject":
        // The rejection itself is a packet of the gateway's own.
        return FALSE;
      case "return":
        returned.push(here);
        return FALSE;
      case "jump":
        return this.chain(verdict.chain, here, depth + 1);
      case "goto":
        returned.push(this.chain(verdict.chain, here, depth + 1));
        return FALSE;
      case "dnat":
        this.dnat(verdict, here);
        return FALSE;
      case "masquerade":
        this.masquerade(verdict.ports, here);
        return FALSE;
    }
  }

  private *verdicts({
    left,
    right,
  }: Statement & { kind: "vmap" }): Generator<{ met: Term; verdict: Verdict }, void> {
    const reading = read(left, this.place());
    for (const element of this.elementsOf(right)) {
      const [word = ""] = element.key;
      if (reading.exists !== FALSE)
        yield { met: both(reading.exists, reading.isOne(word)), verdict: verdictIn(element) };
    }
  }

  private match({ left, mask, operator, right }: Statement & { kind: "match" }): Term {
    const readings = left.map((field) => read(field, this.place()));
    const exists = both(...readings.map((each) => each.exists));
    const [first] = readings;
    const [field = ""] = left;
    if (exists === FALSE || first === undefined) return FALSE;
    const elements = this.elementsOf(right);
    const isOne = ({ key }: Element) =>
      mask.length > 0 || key.some((word) => word.includes(" "))
        ? this.isMasked(first, field, mask, key)
        : both(...readings.map((each, at) => each.isOne(key[at] ?? "")));
    switch (operator) {
      case "==":
        return both(exists, either(...elements.map(isOne)));
      case "!=":
        return both(exists, no(either(...elements.map(isOne))));
      case "any of":
        return both(exists, no(same(masked(numberIn(first), flags(field, elements)), 0)));
      case "none of":
        return both(exists, same(masked(numberIn(first), flags(field, elements)), 0));
    }
  }

  private isMasked(reading: Reading, field: Field, mask: readonly string[], key: readonly string[]): Term {
    const value = numberIn(reading);
    const left = mask.length === 0 ? value : masked(value, union(field, mask));
    return same(
      left,
      union(
        field,
        key.flatMap((word) => word.split(" ")),
      ),
    );
  }

  /** What a rule changes; the condition under which it goes on. */
  private change(statement: Statement, here: Term): Term {
    const { packet } = this;
    switch (statement.kind) {
      case "mark": {
        const marked = combined(
          "bvor",
          masked(packet.mark, BigInt(statement.mask)),
          bits(BigInt(statement.bits), 32),
        );
        packet.mark = choose(here, marked, packet.mark);
        return TRUE;
      }
      case "zone":
        return this.zone(statement.value, statement.isOneWay, here);
      case "hop limit":
        packet.hop = choose(
          both(here, bool(packet.family === 6)),
          bits(Number(statement.value), 8),
          packet.hop,
        );
        return bool(packet.family === 6);
      case "untracked":
        packet.isTracked = choose(here, FALSE, packet.isTracked);
        return TRUE;
      case "segments":
        return TRUE;
      case "match":
      case "vmap":
      case "verdict":
        throw new Unknown(statement.kind);
    }
  }

  private zone(value: ZoneValue, isOneWay: boolean, here: Term): Term {
    const { packet } = this;
    if (packet.isPastConntrack) throw new Unknown("a zone after conntrack");
    const sender = read("ether saddr", this.place());
    const zones =
      "map" in value
        ? this.elements(value.map).map(({ key: [mac = ""], value: [zone = ""] }) => ({
            met: both(sender.exists, sender.isOne(mac)),
            zone: bits(Number(zone), 16),
          }))
        : "zone" in value
          ? [{ met: TRUE, zone: bits(Number(value.zone), 16) }]
          : [{ met: sender.exists, zone: hashedZone(value) }];
    for (const { met, zone } of zones) packet.zone = choose(both(here, met), zone, packet.zone);
    const isSet = either(...zones.map(({ met }) => met));
    packet.isZoneOneWay = choose(both(here, isSet), bool(isOneWay), packet.isZoneOneWay);
    return isSet;
  }

  private canTranslate(verdict: Verdict): Term {
    if (verdict.kind === "dnat" && verdict.family !== this.packet.family) return FALSE;
    if (verdict.kind !== "dnat" || verdict.port === null || "port" in verdict.port) return TRUE;
    return either(...this.portsIn(verdict.port).map(({ met }) => met));
  }

  private portsIn({ map }: Port & { map: string }): { met: Term; port: Term }[] {
    const zone = read("ct original zone", this.place());
    return this.elements(map).map(({ key: [word = ""], value: [port = ""] }) => ({
      met: both(zone.exists, zone.isOne(word)),
      port: bits(Number(port), 16),
    }));
  }

  private dnat({ address, port }: Verdict & { kind: "dnat" }, here: Term): void {
    const { packet } = this;
    if (this.start.hook.type !== "nat") throw new Unknown("dnat outside a NAT chain");
    const dst = bits(addressBits(address), packet.dst.width);
    const dport =
      port === null
        ? packet.dport
        : "port" in port
          ? bits(Number(port.port), 16)
          : this.portsIn(port).reduce((rest, each) => choose(each.met, each.port, rest), packet.dport);
    // nf_nat_setup_info: a translation to what the packet has already leaves no trace in the status.
    const isChanged = no(both(same(packet.dst, dst), same(packet.dport, dport)));
    packet.isDnat = choose(here, isChanged, packet.isDnat);
    packet.dst = choose(here, dst, packet.dst);
    packet.dport = choose(here, dport, packet.dport);
    packet.isTranslated = either(packet.isTranslated, here);
    this.accepted.push(here);
  }

  private masquerade(ports: readonly [string, string] | null, here: Term): void {
    const { packet, oif } = this;
    const { type, name } = this.start.hook;
    if (type !== "nat" || name !== "postrouting" || oif === null) throw new Unknown("masquerade here");
    const own =
      this.machine.links.get(oif)?.addresses.filter((each) => each.includes(":") === (packet.family === 6)) ??
      [];
    const [only] = own;
    const src =
      own.length === 1 && only !== undefined
        ? bits(addressBits(only), packet.src.width)
        : fresh("masqueraded", packet.src.width);
    const sport = fresh("port", 16);
    const [first, last] = ports ?? ["0", "65535"];
    const isInRange = both(atLeast(sport, Number(first)), atMost(sport, Number(last)));
    packet.isSnat = choose(here, no(same(packet.src, src)), packet.isSnat);
    packet.src = choose(here, src, packet.src);
    packet.sport = choose(here, sport, packet.sport);
    packet.isTranslated = either(packet.isTranslated, here);
    this.accepted.push(both(here, isInRange));
  }

  private elementsOf(right: Right): readonly Element[] {
    return "set" in right ? this.elements(right.set) : right.elements;
  }

  private elements(name: string): readonly Element[] {
    const elements = this.machine.ruleset?.elements.get(name);
    if (elements === undefined) throw new Unknown(`the set ${name}`);
    return elements;
  }

  private place(): Place {
    const { packet, oif, machine } = this;
    return {
      ...{ packet, oif, routing: machine.routing },
      // What the gateway itself sends has come by no interface.
      iif: packet.iif === "lo" ? null : packet.iif,
      isEther: (link) => machine.links.get(link)?.isEther ?? false,
      addressesOf: (link) => machine.links.get(link)?.addresses ?? [],
    };
  }
}

function zonesIn(chains: readonly Chain[]): bigint[] {
  return chains.flatMap(({ rules }) =>
    rules.flatMap(({ statements }) =>
      statements.flatMap((each) => {
        if (each.kind !== "zone") return [];
        if (!("zone" in each.value)) throw new Unknown("a zone in output that is no constant");
        return [BigInt(each.value.zone)];
      }),
    ),
  );
}

/** Any zone of the range: the hash of an address is not computed. It is the same for each packet of one. */
function hashedZone({ modulus, offset }: { modulus: string; offset: string }): Term {
  if (Number(modulus) !== 0x8000 || Number(offset) !== 0x8000)
    throw new Unknown(`a zone of ${modulus} from ${offset}`);
  return combined("bvor", fresh("hashed zone", 16), bits(0x8000, 16));
}

function numberIn({ value }: Reading): Term {
  if (value === null) throw new Unknown("a mask of what is no number");
  return value;
}

function union(field: Field, words: readonly string[]): bigint {
  return words.reduce((sum, word) => sum | constant(field, word), 0n);
}

function flags(field: Field, elements: readonly Element[]): bigint {
  return union(
    field,
    elements.flatMap(({ key }) => key.flatMap((word) => word.split(" "))),
  );
}
