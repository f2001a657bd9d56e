import { trimmed } from "./fields.ts";
import { refused } from "./refusals.ts";

/** A line of a wg-quick file that is not empty. */
export type Line =
  | { number: number; kind: "section"; name: string }
  | { number: number; kind: "entry"; name: string; value: string };

/** As long as a request body. No file written by hand is longer. */
const MAX_TEXT = 64 * 1024;

/** Enough for as many IPv6 prefixes as one AllowedIPs may have. */
const MAX_LINE = 48 * 1024;

/** The sections and entries of the text, without comments and empty lines; names are as written. */
export function linesOf(text: string): Line[] {
  if (text.length > MAX_TEXT) throw refused("config_too_long", { field: "config", max: MAX_TEXT });
  return text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .flatMap((line, index, all) => lineOf(line, index + 1, index + 1 < all.length) ?? []);
}

/** ASCII only: by Unicode's rules a Kelvin sign would become a k. */
export function lowerCased(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * The name as a message may show it. A key that is alone on its line, or split over two lines, is parsed as a name
 * too, so only what looks like a word is quoted.
 */
export function shown(name: string): string {
  return /^\p{L}{1,24}[0-9]{0,2}$/u.test(name) ? name : "this name";
}

function lineOf(line: string, number: number, ended: boolean): Line | null {
  const where = `line ${number}`;
  if (line.length > MAX_LINE) throw refused("config_too_long", { field: where, max: MAX_LINE });
  const whole = ended && line.endsWith("\r") ? line.slice(0, -1) : line;
  if (whole.includes("\0")) throw refused("config_character", { field: where, which: "nul" });
  if (whole.includes("\r")) throw refused("config_character", { field: where, which: "return" });
  const text = trimmed(whole.split("#", 1)[0] ?? "");
  if (text === "") return null;
  if (text.startsWith("[") && text.endsWith("]")) return { number, kind: "section", name: text.slice(1, -1) };
  const equals = text.indexOf("=");
  if (equals < 0) throw refused("config_line_invalid", { field: where });
  return {
    number,
    kind: "entry",
    name: trimmed(text.slice(0, equals)),
    value: trimmed(text.slice(equals + 1)),
  };
}
