import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Work } from "../action.ts";
import { type Fault, faultIn } from "../fault.ts";

/** What the last attempt at the work of a form has found wrong with one of its fields. */
export interface Faults<Name extends string> {
  readonly form: RefObject<HTMLFormElement | null>;
  readonly fault: Fault<Name> | null;
  readonly textFor: (field: Name) => string | null;
  /** The same work; if its error names a field, that one gets the focus. */
  readonly watched: (work: Work) => Work;
}

/** The names of the fields, as errors have them, or what finds the field that an error is about. */
type Fields<Name extends string> = readonly Name[] | ((error: string) => Fault<Name> | null);

export function useFaults<Name extends string>(fields: Fields<Name>): Faults<Name> {
  const form = useRef<HTMLFormElement>(null);
  const [fault, setFault] = useState<Fault<Name> | null>(null);
  const watched = (work: Work) => async () => {
    setFault(null);
    try {
      return await work();
    } catch (error) {
      const text = error instanceof Error ? error.message : "";
      const found = typeof fields === "function" ? fields(text) : faultIn(text, fields);
      if (found !== null) focusOn(form.current, found.field);
      setFault(found);
      throw error;
    }
  };
  return { form, fault, watched, textFor: (field) => (fault?.field === field ? fault.text : null) };
}

/** After the fault is drawn, so that screen readers read it with the field. */
function focusOn(form: HTMLFormElement | null, name: string): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>(`[name="${name}"]`)?.focus());
}
