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
 * To compile a schema takes memory, and 1 to 10 ms, as long as hundreds of checks of a small value without. Most schemas
 * are used less often.
 */
const COMPILED_AFTER_CHECKS = 100;
/** A check without takes some microseconds for each part: one of thousands would take long for a turn of the event loop. */
const LARGE_PARTS = 500;

/** The schema is compiled only once that is worthwhile: a start and a first answer do not wait for it. */
export function checkerOf<Schema extends TSchema>(schema: Schema): Checker<Schema> {
  let validator: Validator | null = null;
  let checks = 0;
  const check = (value: unknown): value is Static<Schema> => {
    checks += 1;
    if (validator === null && (checks > COMPILED_AFTER_CHECKS || isLarge(value)))
      validator = Compile(schema) as Validator;
    return validator === null ? Value.Check(schema, value) : validator.Check(value);
  };
  return {
    Check: check,
    Errors: (value) => Value.Errors(schema, value),
    read: (text) => {
      // What was never written is not checked: a start reads many of those.
      if (text === null) return null;
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
    const inside: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    parts += inside.length;
    if (parts > LARGE_PARTS) return true;
    waiting.push(...inside);
  }
  return false;
}
