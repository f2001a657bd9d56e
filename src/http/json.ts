import { nextTurn } from "../base/queue.ts";
import { refused } from "./refusals.ts";

/**
 * Parses JSON (RFC 8259) and refuses what `JSON.parse` silently accepts: a name that is repeated in an object
 * (RFC 8259, section 4: "behavior is unpredictable"), NUL, lone surrogates and deep nesting. It also refuses what would take
 * `JSON.parse` long, before that gets it: it cannot be cut into turns of the event loop.
 */
export async function parseJson(text: string): Promise<unknown> {
  await refuseSurprises(text);
  return parsed(text);
}

/** No valid request nests deeper than 1; the rest is margin. */
const MAX_DEPTH = 16;
/** The largest backup has a third of it. */
const MAX_VALUES = 65_536;
/** Of one object. A backup has one of devices, of which there can be some 1,500. */
const MAX_NAMES = 4_096;
/** They take some two milliseconds. */
const STEPS_A_TURN = 8_192;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own message quotes the text, keys included.
    throw refused("body_not_json");
  }
}

/** Walks text that need not be valid JSON. The stack has null for an array, the names seen for an object. */
async function refuseSurprises(text: string): Promise<void> {
  const stack: (Set<string> | null)[] = [];
  let values = 0;
  for (let at = 0, step = 1; at < text.length; at++, step++) {
    if (step % STEPS_A_TURN === 0) await nextTurn();
    switch (text[at]) {
      case ",":
        values += 1;
        if (values > MAX_VALUES) throw refused("body_too_complex", { how: "values" });
        break;
      case "{":
      case "[":
        values += 1;
        stack.push(text[at] === "{" ? new Set() : null);
        if (stack.length > MAX_DEPTH) throw refused("body_too_complex", { how: "depth" });
        break;
      case "}":
      case "]":
        stack.pop();
        break;
      case '"': {
        const end = endOfString(text, at);
        const string = parsed(text.slice(at, end));
        if (typeof string === "string") refuseCharacters(string);
        if (isName(text, end)) refuseRepeated(`${string}`, stack.at(-1) ?? new Set());
        at = end - 1;
      }
    }
  }
}

/** A backup is one long string: what is native takes a tenth of the time. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

/** After an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first -= 1;
  return (at - first) % 2 === 1;
}

function isName(text: string, end: number): boolean {
  let at = end;
  while (" \t\r\n".includes(text[at] ?? ".")) at++;
  return text[at] === ":";
}

function refuseCharacters(string: string): void {
  if (string.includes("\0")) throw refused("body_character", { which: "nul" });
  if (!string.isWellFormed()) {
    throw refused("body_character", { which: "surrogate" });
  }
}

function refuseRepeated(name: string, seen: Set<string>): void {
  if (seen.size >= MAX_NAMES) throw refused("body_too_complex", { how: "fields" });
  if (seen.has(name)) throw refused("body_field_twice", { name: shown(name) });
  seen.add(name);
}

/** Quotes a name only if it could be that of a field. */
function shown(name: string): string {
  return /^[a-z_]{1,40}$/.test(name) ? name : "a name";
}
