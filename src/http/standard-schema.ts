import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { sentenceFor } from "./validation.ts";

/** See https://standardschema.dev: what Elysia validates with. */
export interface StandardSchema<Value> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "typebox";
    readonly validate: (value: unknown) => { value: Value } | { issues: readonly { message: string }[] };
    readonly types?: { readonly input: Value; readonly output: Value };
  };
}

/**
 * Elysia 1.4 knows TypeBox 0.34 and Standard Schema; this gives a schema of TypeBox 1.x the latter. The
 * property is not enumerable, so that the schema stays plain JSON Schema for the OpenAPI document.
 */
export function standardSchema<Schema extends TSchema>(
  schema: Schema,
  whole = "body",
): Schema & StandardSchema<Static<Schema>> {
  const validator = Compile(schema);
  const validate = (value: unknown) =>
    validator.Check(value)
      ? { value }
      : { issues: [{ message: sentenceFor(schema, validator.Errors(value), whole) }] };
  const copy = { ...schema };
  Object.defineProperty(copy, "~standard", { value: { version: 1, vendor: "typebox", validate } });
  return copy as Schema & StandardSchema<Static<Schema>>;
}
