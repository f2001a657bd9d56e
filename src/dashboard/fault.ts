import { faultText, itsWords } from "./codes.ts";
import { faultFrom } from "./format.ts";

/** What is wrong with a field of a form. */
export interface Fault<Name extends string> {
  field: Name;
  text: string;
}

/** The field that an error names, and what is wrong with it: "endpoint: must be host:port", "Name is required." */
export function faultIn<Name extends string>(error: string, names: readonly Name[]): Fault<Name> | null {
  const [, word = "", fault = ""] = /^([A-Za-z_]+):? (.*)$/s.exec(itsWords(error)) ?? [];
  const field = names.find((name) => name === word.toLowerCase());
  return field === undefined ? null : { field, text: faultText(faultFrom(fault)) };
}
