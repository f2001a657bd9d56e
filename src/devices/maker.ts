import { readFileSync } from "node:fs";
import file from "./makers.txt" with { type: "file" };

/** The first three bytes of a MAC address, which IEEE gives to makers (IEEE 802, section 8.2.2). */
const PREFIX = /^([0-9a-f]{2}):([0-9a-f]{2}):([0-9a-f]{2}):/;
const HEX = 16;
/** Of the numbers in the file, as scripts/makers.ts writes them. */
const BASE = 36;

let makers: ReadonlyMap<number, string> | null = null;

/**
 * Who made a device's network interface, by its id; undefined for makers that homes seldom have, for prefixes, and for
 * the random addresses that phones use, which no list has.
 */
export function makerOf(id: string): string | undefined {
  const [, ...bytes] = PREFIX.exec(id) ?? [];
  if (bytes.length === 0) return undefined;
  makers ??= makersIn(readFileSync(file, "utf8"));
  return makers.get(Number.parseInt(bytes.join(""), HEX));
}

/** Each line has a name, and numbers of which each is what is added to the one before it. */
function makersIn(text: string): ReadonlyMap<number, string> {
  const known = new Map<number, string>();
  for (const line of text.trimEnd().split("\n")) {
    const [name = "", steps = ""] = line.split("\t");
    let prefix = 0;
    for (const step of steps.split(" ")) {
      prefix += Number.parseInt(step, BASE);
      known.set(prefix, name);
    }
  }
  return known;
}
