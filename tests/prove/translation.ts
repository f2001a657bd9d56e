import { addressBits } from "./address-bits.ts";
import { type BaseChain, hooked, type Machine } from "./machine.ts";
import { elementsIn, isMet, readingOf, type Seen } from "./match.ts";
import type { Packet } from "./packet.ts";
import type { Field, Port, Rule, Verdict } from "./ruleset.ts";
import {
  atLeast,
  atMost,
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
} from "./terms.ts";

// NAT: what its rules make of a connection's first packet, and of a known connection's.

export type Translation = Verdict & { kind: "dnat" | "masquerade" };
type Dnat = Verdict & { kind: "dnat" };

/** The condition under which the rule can translate the packet. */
export function canTranslate(verdict: Translation, seen: Seen): Term {
  if (verdict.kind === "masquerade") return TRUE;
  if (verdict.family !== seen.packet.family) return FALSE;
  if (verdict.port === null || "port" in verdict.port) return TRUE;
  return either(...portsIn(verdict.port, seen).map(({ met }) => met));
}

/** Translates what meets the condition; the condition under which it goes on. */
export function translate(verdict: Translation, here: Term, { hook }: BaseChain, seen: Seen): Term {
  if (hook.type !== "nat") throw new Unknown(`${verdict.kind} outside a NAT chain`);
  const { packet } = seen;
  if (verdict.kind === "dnat") {
    leadElsewhere(verdict, here, seen);
    packet.isTranslated = either(packet.isTranslated, here);
    return here;
  }
  if (hook.name !== "postrouting" || seen.oif === null) throw new Unknown("masquerade here");
  const isInRange = masquerade(verdict.ports, here, seen.oif, seen);
  packet.isTranslated = either(packet.isTranslated, here);
  return both(here, isInRange);
}

/** Whether a known connection was translated to this address and port by one of the rules for destinations. */
export function isTranslatedTo(machine: Machine, packet: Packet, address: Term, port: Term): Term {
  const rulesets = [machine.ruleset, machine.earlier];
  return either(
    ...rulesets.flatMap((ruleset) => translationsBy({ ...machine, ruleset }, packet, address, port)),
  );
}

function translationsBy(machine: Machine, packet: Packet, address: Term, port: Term): Term[] {
  return [...(machine.ruleset?.chains.values() ?? [])].flatMap(({ hook, rules }) =>
    rules.flatMap((rule) => {
      const verdict = rule.statements.find((each) => each.kind === "verdict")?.verdict;
      if (verdict?.kind !== "dnat" || hook === null) return [];
      const made = isMadeBy(rule, verdict, { machine, packet, oif: null }, { address, port });
      return both(made, hook.name === "output" ? isOfOutput(machine, packet) : TRUE);
    }),
  );
}

/** What the rule says of the tuple of the connection itself. Its mark and its way in may have changed since. */
function isMadeBy(
  rule: Rule,
  verdict: Dnat,
  seen: Seen,
  { address, port }: { address: Term; port: Term },
): Term {
  const { packet } = seen;
  if (packet.family !== verdict.family) return FALSE;
  const isOfTuple = (field: Field) =>
    /^(meta (nfproto|l4proto)|(ip|ip6) [sd]addr|(tcp|udp|th) [sd]port|ct (original )?zone)$/.test(field);
  const matches = rule.statements.flatMap((each) =>
    each.kind === "match" && each.left.every(isOfTuple) ? isMet(each, seen) : [],
  );
  const toPort =
    verdict.port === null
      ? same(port, packet.dport)
      : "port" in verdict.port
        ? same(port, Number(verdict.port.port))
        : either(...portsIn(verdict.port, seen).map(({ met, port: its }) => both(met, same(port, its))));
  return both(...matches, same(address, addressBits(verdict.address)), toPort);
}

/** In output begin the gateway's own connections, in the zones that are given to them there. */
function isOfOutput(machine: Machine, { zone }: Packet): Term {
  const given = hooked(machine, "output", "filter").flatMap(({ rules }) =>
    rules.flatMap(({ statements }) =>
      statements.flatMap((each) => {
        if (each.kind !== "zone") return [];
        if (!("zone" in each.value)) throw new Unknown("a zone in output that is no constant");
        return [BigInt(each.value.zone)];
      }),
    ),
  );
  return either(...[0n, ...given].map((each) => same(zone, each)));
}

function leadElsewhere({ address, port }: Dnat, here: Term, seen: Seen): void {
  const { packet } = seen;
  const dst = bits(addressBits(address), packet.dst.width);
  const dport =
    port === null
      ? packet.dport
      : "port" in port
        ? bits(Number(port.port), 16)
        : portsIn(port, seen).reduce((rest, each) => choose(each.met, each.port, rest), packet.dport);
  // nf_nat_setup_info: a translation to what the packet has already leaves no trace in the status.
  const isChanged = no(both(same(packet.dst, dst), same(packet.dport, dport)));
  packet.isDnat = choose(here, isChanged, packet.isDnat);
  packet.dst = choose(here, dst, packet.dst);
  packet.dport = choose(here, dport, packet.dport);
}

/** The condition on the source port that it gets. */
function masquerade(
  ports: readonly [string, string] | null,
  here: Term,
  oif: string,
  { machine, packet }: Seen,
): Term {
  const own =
    machine.links.get(oif)?.addresses.filter((each) => each.includes(":") === (packet.family === 6)) ?? [];
  const [only] = own;
  const src =
    own.length === 1 && only !== undefined
      ? bits(addressBits(only), packet.src.width)
      : fresh("masqueraded", packet.src.width);
  const sport = fresh("port", 16);
  const [first, last] = ports ?? ["0", "65535"];
  packet.isSnat = choose(here, no(same(packet.src, src)), packet.isSnat);
  packet.src = choose(here, src, packet.src);
  packet.sport = choose(here, sport, packet.sport);
  return both(atLeast(sport, Number(first)), atMost(sport, Number(last)));
}

function portsIn({ map }: Port & { map: string }, seen: Seen): { met: Term; port: Term }[] {
  const zone = readingOf("ct original zone", seen);
  return elementsIn(map, seen).map(({ key: [word = ""], value: [port = ""] }) => ({
    met: both(zone.exists, zone.isOne(word)),
    port: bits(Number(port), 16),
  }));
}
