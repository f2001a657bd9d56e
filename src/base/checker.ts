import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { Value } from "typebox/value";

/** Checks values against a schema. */
export interface Checker<Schema extends TSchema> {
  Check(value: unknown): value is Static<Schema>;
  Errors(value: unknown): ReturnType<Validator["Errors"]>;
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

/**
 * To compile a schema takes as long as this many checks without: 1 to 10 ms, which would hold up a start and a first
 * answer, and memory. Most schemas are used less often.
 */
const COMPILED_AFTER_CHECKS = 100;
/** A value with more parts takes longer than a turn of the event loop may, unless its schema is compiled. */
const LARGE_PARTS = 500;

export function checkerOf<Schema extends TSchema>(schema: Schema): Checker<Schema> {
  let validator: Validator | null = null;
  let checks = 0;
  const check = (value: unknown): value is Static<Schema> => {
    checks += 1;
    if (checks > COMPILED_AFTER_CHECKS || isLarge(value)) validator ??= Compile(schema) as Validator;
    return validator === null ? Value.Check(schema, value) : validator.Check(value);
  };
  return {
    Check: check,
    Errors: (value) => Value.Errors(schema, value),
    read: (text) => {
      const value = jsonIn(text);
      return check(value) ? value : null;
    },
  };
}

/** Looks no further than it has to. */
function isLarge(value: unknown): boolean {
  const waiting = [value];
  for (let parts = 0; waiting.length > 0; ) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null) continue;
    const inside = Object.values(next);
    parts += inside.length;
    if (parts > LARGE_PARTS) return true;
    waiting.push(...inside);
  }
  return false;
}
