import { createContext } from "preact";
import { say } from "../language.ts";

/** What is wrong with the fields of a form, by their names. */
export type Lacks = ReadonlyMap<string, string>;

export const NO_LACKS: Lacks = new Map();

/** What the form around a field has found when someone wanted to send it. */
export const FormLacks = createContext(NO_LACKS);

/** Whether the fields of the form are only to be read. */
export const FormLocked = createContext(false);

/** What all fields lack that the browser itself can check. */
export function lacksIn(form: HTMLFormElement): Lacks {
  const fields = [...form.elements].filter((each) => each instanceof HTMLInputElement);
  return new Map(fields.filter(({ validity }) => !validity.valid).map((each) => [each.name, lackOf(each)]));
}

function lackOf({ validity, title, min, max, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return say("It is required.");
  if (validity.patternMismatch && title !== "") return say("It must be {what}.", { what: title });
  if (validity.rangeUnderflow || validity.rangeOverflow)
    return say("It must be from {min} to {max}.", { min, max });
  return validationMessage;
}
