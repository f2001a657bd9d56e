import type { Static, TSchema } from "typebox";
import { checkerOf } from "../base/checker.ts";
import type { GatewayError } from "../base/errors.ts";
import { faultFor } from "./validation.ts";

/** The interface that Elysia validates with; see https://standardschema.dev. */
export interface StandardSchema<Value> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "typebox";
    readonly validate: (value: unknown) => { value: Value } | { issues: readonly Issue[] };
    readonly types?: { readonly input: Value; readonly output: Value };
  };
}

/** What is wrong with a value, in words and as the error that the client gets. */
export interface Issue {
  readonly message: string;
  readonly fault: GatewayError;
}

/**
 * Makes a TypeBox 1.x schema a Standard Schema, because Elysia 1.4 accepts only that and TypeBox 0.34. The property
 * is not enumerable, so that the schema stays plain JSON Schema for the OpenAPI document.
 */
export function standardSchema<Schema extends TSchema>(
  schema: Schema,
  whole = "body",
): Schema & StandardSchema<Static<Schema>> {
  const validator = checkerOf(schema);
  const validate = (value: unknown) =>
    validator.Check(value)
      ? { value }
      : { issues: [issueOf(faultFor(schema, validator.Errors(value), whole))] };
  const copy = { ...schema };
  Object.defineProperty(copy, "~standard", { value: { version: 1, vendor: "typebox", validate } });
  return copy as Schema & StandardSchema<Static<Schema>>;
}

function issueOf(fault: GatewayError): Issue {
  return { message: fault.message, fault };
}
