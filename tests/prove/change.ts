import { elementsIn, readingOf, type Seen } from "./match.ts";
import type { Statement, ZoneValue } from "./ruleset.ts";
import {
  bits,
  bool,
  both,
  choose,
  combined,
  either,
  FALSE,
  fresh,
  masked,
  type Term,
  TRUE,
  Unknown,
} from "./terms.ts";

// What a rule changes of a packet that goes on.

export type Change = Exclude<Statement, { kind: "match" | "vmap" | "verdict" }>;

/** The condition under which the rule goes on. */
export function change(statement: Change, here: Term, seen: Seen): Term {
  const { packet } = seen;
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
      return changeZone(statement.value, statement.isOneWay, here, seen);
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
  }
}

function changeZone(value: ZoneValue, isOneWay: boolean, here: Term, seen: Seen): Term {
  const { packet } = seen;
  if (packet.isPastConntrack) throw new Unknown("a zone after conntrack");
  const sender = readingOf("ether saddr", seen);
  const zones =
    "map" in value
      ? elementsIn(value.map, seen).map(({ key: [mac = ""], value: [zone = ""] }) => ({
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

/** Any zone of the range: the hash of an address is not computed. It is the same for each packet of one. */
function hashedZone({ modulus, offset }: { modulus: string; offset: string }): Term {
  if (Number(modulus) !== 0x8000 || Number(offset) !== 0x8000)
    throw new Unknown(`a zone of ${modulus} from ${offset}`);
  return combined("bvor", fresh("hashed zone", 16), bits(0x8000, 16));
}
