import { adblockRule } from "./list-adblock.ts";
import { dnsmasqLine } from "./list-dnsmasq.ts";
import { type Entry, type Meaning, NOT_UNDERSTOOD } from "./list-entry.ts";
import { hostsLine } from "./list-hosts.ts";
import { ListZone } from "./list-zone.ts";

/** The longest line that is read; a rule for a whole top-level domain names its exceptions. */
const MAX_LINE = 16_384;
/** The same for one that is not ASCII: to translate a name takes twenty times as long as to read it. */
const MAX_FOREIGN_LINE = 2_048;
/** A comment, a heading, or nothing. */
const COMMENT = /^(#|!|;|\/\/|\[|$)/;

/** What was read of a list so far. */
export interface Reading {
  /** Lines that have a meaning which could not be used. */
  skipped: number;
}

/** The entries of a list in any of the known formats, line by line: null for a line that has none. */
export function* entriesIn(text: string, reading: Reading): Generator<Entry | null> {
  const zone = new ListZone();
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end + 1;
    const entries = isTooLong(line) ? NOT_UNDERSTOOD : meaningOf(line.toLowerCase(), zone);
    if (entries?.length === 0) reading.skipped += 1;
    if (entries === null || entries.length === 0) yield null;
    else yield* entries;
  }
}

function isTooLong(line: string): boolean {
  return line.length > MAX_LINE || (line.length > MAX_FOREIGN_LINE && /[^\0-\x7f]/.test(line));
}

function meaningOf(line: string, zone: ListZone): Meaning {
  const text = withoutComment(line).trim();
  if (zone.continues(text)) return null;
  if (COMMENT.test(text)) return null;
  const isOfWords = /\s/.test(text);
  const known = isOfWords || /^\d/.test(text) ? hostsLine(text) : undefined;
  if (known !== undefined) return known;
  if (text.includes("/")) return dnsmasqLine(text) ?? NOT_UNDERSTOOD;
  return isOfWords ? zone.line(text, /^\s/.test(line)) : adblockRule(text);
}

/** Inside a word, `#` and `;` are parts of rules that hide elements of pages, which are about no name. */
function withoutComment(line: string): string {
  const at = line.search(/\s[#;]/);
  return at < 0 ? line : line.slice(0, at);
}
