import { AMNEZIA_MAX } from "../shared/bounds.ts";
import type { Amnezia, AmneziaName } from "./amnezia-schema.ts";
import { type Field, numberIn } from "./fields.ts";
import { refused } from "./refusals.ts";

/** What fits Ethernet after the headers of IPv6 and UDP. */
const MAX_PACKET_BYTES = 1500 - 40 - 8;
/** Each is a number of 32 bits. */
const MAX_NUMBER = 0xffff_ffff;

const bytesUpTo = (most: number) => (field: Field) => numberIn(field, "the length in bytes", 0, most);

const PARSERS: Readonly<Record<AmneziaName, (field: Field) => number | string>> = {
  jc: (field: Field) => numberIn(field, "how many there are", 0, AMNEZIA_MAX.junk),
  ...{ jmin: bytesUpTo(AMNEZIA_MAX.junkBytes), jmax: bytesUpTo(AMNEZIA_MAX.junkBytes) },
  ...{
    s1: bytesUpTo(AMNEZIA_MAX.padding),
    s2: bytesUpTo(AMNEZIA_MAX.padding),
    s3: bytesUpTo(AMNEZIA_MAX.padding),
  },
  s4: bytesUpTo(AMNEZIA_MAX.dataPadding),
  ...{ h1: numbersIn, h2: numbersIn, h3: numbersIn, h4: numbersIn },
  ...{ i1: packetIn, i2: packetIn, i3: packetIn, i4: packetIn, i5: packetIn },
};

export const AMNEZIA_NAMES = Object.keys(PARSERS) as AmneziaName[];

/** As files have it: `Jmin`. */
export function amneziaKey(name: AmneziaName): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** The app writes what it does not use as `I2 = `; the tools take that for not given. */
export function isLeftOut(name: string, { text }: Field): boolean {
  return /^[hi][1-5]$/.test(name) && text.trim() === "";
}

/** Undefined if nothing of it is given. As in `wg`, every value must be valid and the last one counts. */
export function amneziaFrom(
  fields: Partial<Record<AmneziaName, readonly Field[]>>,
  names: Record<AmneziaName, string>,
): Amnezia | undefined {
  const given = AMNEZIA_NAMES.flatMap((name) => {
    const value = (fields[name] ?? [])
      .filter((field) => !isLeftOut(name, field))
      .map(PARSERS[name])
      .at(-1);
    return value === undefined ? [] : [[name, value] as const];
  });
  if (given.length === 0) return undefined;
  const settings = Object.fromEntries(given) as Amnezia;
  refuseTogether(settings, (name) => fields[name]?.at(-1)?.where ?? names[name]);
  return settings;
}

/** What each value may be, but not all of them together. */
function refuseTogether(settings: Amnezia, where: (name: AmneziaName) => string): void {
  const { jc = 0, jmin, jmax, s1 = 0, s2 = 0 } = settings;
  if (jc > 0 && jmin === undefined)
    throw refused("amnezia_length_missing", { field: where("jc"), name: "Jmin", end: "least" });
  if (jc > 0 && jmax === undefined)
    throw refused("amnezia_length_missing", { field: where("jc"), name: "Jmax", end: "greatest" });
  if ((jmin ?? 0) > (jmax ?? AMNEZIA_MAX.junkBytes))
    throw refused("amnezia_range_reversed", { field: where("jmax") });
  if (s1 + 56 === s2) throw refused("amnezia_sizes_equal", { field: where("s2") });
  const { headers } = formOf(settings);
  for (const [later, [from, to]] of headers.entries())
    for (const [earlier, [first, last]] of headers.slice(0, later).entries()) {
      if (to < first || from > last) continue;
      const name = `h${later + 1}` as AmneziaName;
      const other = `h${earlier + 1}` as AmneziaName;
      const [at, than] = settings[name] === undefined ? [other, name] : [name, other];
      throw refused("amnezia_headers_equal", { field: where(at), name: than.toUpperCase() });
    }
}

/** A kind of bytes in a packet before a handshake. */
export type PacketPart =
  | { kind: "bytes"; hex: string }
  | { kind: "random" | "letters" | "digits"; count: number }
  /** Seconds since 1970, and a number that is one higher in each next packet: four bytes each, the highest first. */
  | { kind: "time" }
  | { kind: "counter" };

type Range = readonly [from: number, to: number];

/** What both ends have agreed on, for the four types of messages in their order, and what only comes before a handshake. */
export interface AmneziaForm {
  junk: { count: number; least: number; most: number };
  /** Random bytes before each message. */
  padding: readonly [number, number, number, number];
  /** What stands in place of a message's type. */
  headers: readonly [Range, Range, Range, Range];
  packets: readonly (readonly PacketPart[])[];
}

/** As the relay uses it. What is not given is as in WireGuard. */
export function formOf(settings: Amnezia): AmneziaForm {
  const { jc = 0, jmin = 0, jmax = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0 } = settings;
  const { h1 = "1", h2 = "2", h3 = "3", h4 = "4", i1, i2, i3, i4, i5 } = settings;
  return {
    junk: { count: jc, least: jmin, most: jmax },
    padding: [s1, s2, s3, s4],
    headers: [rangeOf(h1), rangeOf(h2), rangeOf(h3), rangeOf(h4)],
    packets: [i1, i2, i3, i4, i5].filter((text) => text !== undefined).map(partsOf),
  };
}

function rangeOf(text: string): [from: number, to: number] {
  const [from = "", to = from] = text.split("-");
  return [Number(from), Number(to)];
}

/** A number, or two with a hyphen between, of 32 bits each. */
function numbersIn({ text, where }: Field): string {
  const [first = "", second, ...more] = text.split("-");
  const numberOf = (part: string) =>
    numberIn({ text: part, where }, "it, and each end of a range such as 5-10,", 1, MAX_NUMBER);
  const [from, to] = [numberOf(first), numberOf(second ?? first)];
  if (more.length > 0 || to < from) throw refused("amnezia_number_invalid", { field: where });
  return from === to ? `${from}` : `${from}-${to}`;
}

const TAG =
  /<[ \t]*(?:(b)[ \t]+(?:0x)?([0-9A-Fa-f]+)|(rc|rd|r)[ \t]+(0|[1-9][0-9]{0,3})|([tc]))[ \t]*>[ \t]*/y;

/** A packet in AmneziaWG's tags: bytes, random bytes, letters or digits, the time, and a counter. */
function packetIn({ text, where }: Field): string {
  if (text.length > AMNEZIA_MAX.text)
    throw refused("config_too_long", { field: where, max: AMNEZIA_MAX.text });
  const tags: string[] = [];
  for (TAG.lastIndex = 0; TAG.lastIndex < text.length; ) {
    const [tag, bytes, hex = "", random, count, other] = TAG.exec(text) ?? [];
    if (tag === undefined || hex.length % 2 !== 0)
      throw refused("amnezia_tags_invalid", {
        field: where,
        tags: "<b 0x0102>, <r 10>, <rc 10>, <rd 10>, <t> and <c>",
      });
    // Of no byte, as AmneziaWG's tools accept it.
    if (count === "0") continue;
    tags.push(bytes ? `<b 0x${hex.toLowerCase()}>` : random ? `<${random} ${count}>` : `<${other}>`);
  }
  if (tags.length === 0) throw refused("config_empty", { field: where, of: "all" });
  const packet = tags.join("");
  if (partsOf(packet).reduce((sum, part) => sum + bytesOf(part), 0) > MAX_PACKET_BYTES)
    throw refused("amnezia_packet_too_long", { field: where, max: MAX_PACKET_BYTES });
  return packet;
}

function partsOf(packet: string): PacketPart[] {
  return [...packet.matchAll(/<(\w+) ?(?:0x)?(\w*)>/g)].map(([, tag, value = ""]): PacketPart => {
    if (tag === "b") return { kind: "bytes", hex: value };
    if (tag === "t") return { kind: "time" };
    if (tag === "c") return { kind: "counter" };
    return { kind: tag === "rc" ? "letters" : tag === "rd" ? "digits" : "random", count: Number(value) };
  });
}

function bytesOf(part: PacketPart): number {
  if (part.kind === "bytes") return part.hex.length / 2;
  return "count" in part ? part.count : 4;
}
