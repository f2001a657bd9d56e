import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";

/** Checks values against a schema. */
export interface Checker<Schema extends TSchema> {
  Check(value: unknown): value is Static<Schema>;
  Errors: Validator["Errors"];
  /** The value of a JSON text; null if it is none, or if it does not match. */
  read(text: string | null): Static<Schema> | null;
}

/** The value of a JSON text; null if it is none. */
export function jsonIn(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/** The schema is compiled when the first value is checked: to compile all of them would hold up a start by 10 ms. */
export function checkerOf<Schema extends TSchema>(schema: Schema): Checker<Schema> {
  let validator: Validator | null = null;
  const compiled = () => {
    validator ??= Compile(schema) as Validator;
    return validator;
  };
  return {
    Check: (value): value is Static<Schema> => compiled().Check(value),
    Errors: (value) => compiled().Errors(value),
    read: (text) => {
      const value = jsonIn(text);
      return compiled().Check(value) ? (value as Static<Schema>) : null;
    },
  };
}
