import { GatewayError } from "../base/errors.ts";

/**
 * Parses JSON (RFC 8259) and refuses what `JSON.parse` silently accepts: a name that is repeated in an object
 * (RFC 8259, section 4: "behavior is unpredictable"), NUL, lone surrogates and deep nesting.
 */
export function parseJson(text: string): unknown {
  const value = parsed(text);
  refuseSurprises(text);
  return value;
}

/** No valid request nests deeper than 1; the rest is margin. */
const MAX_DEPTH = 16;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own message quotes the text, keys included.
    throw new GatewayError("bad_request", "body is not valid JSON");
  }
}

/** Walks text that is known to be valid JSON. The stack has null for an array, the names seen for an object. */
function refuseSurprises(text: string): void {
  const stack: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case "{":
      case "[":
        stack.push(text[at] === "{" ? new Set() : null);
        if (stack.length > MAX_DEPTH) throw new GatewayError("bad_request", "body is nested too deeply");
        break;
      case "}":
      case "]":
        stack.pop();
        break;
      case '"': {
        const end = endOfString(text, at);
        const string: string = JSON.parse(text.slice(at, end));
        refuseCharacters(string);
        if (isName(text, end)) refuseRepeated(string, stack.at(-1) ?? new Set());
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
  if (string.includes("\0")) throw new GatewayError("bad_request", "body contains a NUL character");
  if (!string.isWellFormed()) {
    throw new GatewayError("bad_request", "body contains half of a surrogate pair, which is not a character");
  }
}

function refuseRepeated(name: string, seen: Set<string>): void {
  if (seen.has(name)) throw new GatewayError("bad_request", `body has ${shown(name)} twice`);
  seen.add(name);
}

/** Quotes a name only if it could be that of a field. */
function shown(name: string): string {
  return /^[a-z_]{1,40}$/.test(name) ? name : "a name";
}
