import { useState } from "preact/hooks";
import { type Faults, useFaults } from "./faults.ts";

/** The texts of a form's fields, and what the gateway has found wrong with them. */
interface Fields<Name extends string> {
  readonly texts: Readonly<Record<Name, string>>;
  /** For the form. */
  readonly faults: Faults<Name>;
  /** What ties a field or a choice to its text and its fault; names are those of errors. */
  readonly bind: <Own extends Name>(
    name: Own,
  ) => { name: Own; value: string; onValue: (text: string) => void; fault: string | null };
  readonly set: (some: Partial<Record<Name, string>>) => void;
  /** As at the beginning. */
  readonly clear: () => void;
}

/** The fields of a form by their names, with what is in them at the beginning. */
export function useFields<Name extends string>(initial: Readonly<Record<Name, string>>): Fields<Name> {
  const [texts, setTexts] = useState(initial);
  const faults = useFaults(Object.keys(initial) as Name[]);
  const set = (some: Partial<Record<Name, string>>) => setTexts((before) => ({ ...before, ...some }));
  return {
    texts,
    faults,
    bind: (name) => ({
      name,
      value: texts[name],
      onValue: (text) => set({ [name]: text } as Partial<Record<Name, string>>),
      fault: faults.textFor(name),
    }),
    set,
    clear: () => setTexts(initial),
  };
}
