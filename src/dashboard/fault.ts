import { faultText, fromItsField, isTold } from "./codes.ts";
import { faultFrom } from "./format.ts";

/** What is wrong with a field of a form. */
export interface Fault<Name extends string> {
  field: Name;
  text: string;
}

/** The field that an error names, and what is wrong with it: "endpoint: must be host:port", "Line.up is required." */
export function faultIn<Name extends string>(error: string, names: readonly Name[]): Fault<Name> | null {
  const isIn = isTold(error);
  // "Name is required" has no colon in English.
  const field = isIn ? /^(?:[\w[\]]+\.)*([A-Za-z_]+): (.*)$/s : /^(?:[\w[\]]+\.)*([A-Za-z_]+):? (.*)$/s;
  const [, word = "", fault = ""] = field.exec(fromItsField(error)) ?? [];
  const name = names.find((each) => each === word.toLowerCase());
  return name === undefined ? null : { field: name, text: faultText(faultFrom(fault), isIn) };
}
