import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";

/** Checks values against a schema. */
export interface Checker<Schema extends TSchema> {
  Check(value: unknown): value is Static<Schema>;
  Errors: Validator["Errors"];
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
  };
}

/** The list that a stored text holds; empty if it holds none. */
export function listIn(text: string | null): unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
