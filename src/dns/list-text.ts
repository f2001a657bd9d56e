/** The longest line with a name; others are skipped. */
const MAX_LINE = 1_024;
/** An address that leads nowhere, as the first word of a line of /etc/hosts. */
const NOWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "127.0.0.1", "::", "::1"]);
/** A name of at least two labels. */
const NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** An address is not a name: its last label has no letter. */
const LETTER = /[a-z][a-z0-9-]*$/;

/** What was read of a list so far. */
export interface Reading {
  names: number;
  /** Lines that are no comment, and have no name that could be used. */
  skipped: number;
}

/** The names of a list: lines of /etc/hosts, names, or `||name^`. Each means what is below it too. */
export function* namesIn(text: string, reading: Reading): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end + 1;
    const names = namesOfLine(line.length > MAX_LINE ? "?" : line.toLowerCase());
    if (names === null) continue;
    if (names.length === 0) reading.skipped += 1;
    for (const name of names) {
      reading.names += 1;
      yield name;
    }
  }
}

/** Null for a line without meaning. */
function namesOfLine(line: string): string[] | null {
  const hash = line.indexOf("#");
  const text = (hash < 0 ? line : line.slice(0, hash)).trim();
  if (text === "" || text.startsWith("!") || text.startsWith("[")) return null;
  const words = text.split(/\s+/);
  if (words.length > 1) return NOWHERE.has(words[0] ?? "") ? words.slice(1).filter(isName) : [];
  const bare = text.startsWith("||") && text.endsWith("^") ? text.slice(2, -1) : text.replace(/^\*\./, "");
  return isName(bare) ? [bare] : [];
}

function isName(text: string): boolean {
  return NAME.test(text) && LETTER.test(text);
}
