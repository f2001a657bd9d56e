import { Type } from "typebox";
import { MAX_NAME_CHARACTERS } from "../shared/bounds.ts";
import { refused } from "./refusals.ts";

type NameFault = "length" | "surrogate" | "control" | "slash" | "path" | "space" | "form";

/**
 * Checks the name that identifies a server: 1 to 64 characters in NFC, so that equal-looking names are equal.
 * Messages call it `field`.
 */
export function nameIn(field: string, text: string): string {
  const fault = faultOf(text);
  if (fault !== null) throw refused("name_malformed", { field, fault, max: MAX_NAME_CHARACTERS });
  return text;
}

/** Whether `nameIn` would accept it. */
export function isName(text: string): boolean {
  return faultOf(text) === null;
}

/** The same as a schema, for what is kept. */
export const Name = Type.Refine(Type.String({ maxLength: 2 * MAX_NAME_CHARACTERS }), isName);

/** What people read, such as the name of a place. */
export const Shown = Type.String({ pattern: "^\\P{Cc}{0,256}$" });

function faultOf(name: string): NameFault | null {
  const length = [...name].length;
  if (length < 1 || length > MAX_NAME_CHARACTERS) return "length";
  if (!name.isWellFormed()) return "surrogate";
  if (/\p{Cc}/u.test(name)) return "control";
  if (name.includes("/")) return "slash";
  // No client can put these into the path of a request (RFC 3986, 5.2.4), encoded or not (WHATWG URL).
  if (name === "." || name === "..") return "path";
  if (name.trim() !== name) return "space";
  if (name.normalize("NFC") !== name) return "form";
  return null;
}

/** Characters that change the direction of the text after them (UAX #9, 2), so that a sentence would read as another. */
const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Whether a device may name itself so: people read such names in sentences. */
export function isToldName(text: string): boolean {
  return isName(text) && !DIRECTIONS.test(text);
}
