import type { TSchema } from "typebox";
import type { TLocalizedValidationError } from "typebox/error";
import type { GatewayError } from "../base/errors.ts";
import { redacted } from "../base/secrets.ts";
import { refused } from "./refusals.ts";

/**
 * An error that names the field and says what it must be. It never quotes the value, which may be a key.
 * `whole` names the value itself, in case it is not an object.
 */
export function faultFor(
  schema: TSchema,
  errors: readonly TLocalizedValidationError[],
  whole: string,
): GatewayError {
  // An unknown field comes first: a mistyped name explains the missing one.
  const error =
    errors.find((each) => each.keyword === "additionalProperties") ??
    errors.find((each) => each.keyword === "required") ??
    errors[0];
  if (error === undefined) return refused("invalid", { field: whole });
  const within = error.instancePath.split("/").slice(1);
  if (error.keyword === "additionalProperties")
    return unknownField(within, error.params.additionalProperties[0] ?? "", schemaAt(schema, within));
  if (error.keyword === "required")
    return refused("required", { field: `${placeOf(within)}${error.params.requiredProperties[0]}` });
  const [field, ...inner] = within;
  if (field === undefined) return unwanted(whole, schema);
  if (error.keyword === "uniqueItems") return refused("entry_twice", { field: named(field) });
  if (inner.length > 0) return refused("entry_invalid", { field: named(field) });
  const wantedField = propertiesOf(schema)[field] ?? {};
  if (error.keyword === "minItems" || error.keyword === "maxItems")
    return refused("entry_count", { field: named(field), ...countIn(wantedField) });
  return unwanted(named(field), wantedField);
}

function countIn({ minItems = 0, maxItems }: JsonSchema): { min: number; max: number | string } {
  return { min: minItems, max: maxItems ?? "any" };
}

interface JsonSchema {
  type?: unknown;
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  pattern?: string;
  example?: unknown;
  description?: string;
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return schema.properties ?? {};
}

/** The schema of the value at this place. */
function schemaAt(schema: JsonSchema, within: readonly string[]): JsonSchema {
  return within.reduce((outer, part) => propertiesOf(outer)[part] ?? outer.items ?? {}, schema);
}

function unknownField(within: readonly string[], name: string, schema: JsonSchema): GatewayError {
  const known = Object.keys(propertiesOf(schema));
  return refused("field_unknown", { field: `${placeOf(within)}${named(name)}`, known: known.join(", ") });
}

/** `targets[1].` for the second one of `targets`. */
function placeOf(within: readonly string[]): string {
  return (
    within
      .map((part, at) => (/^\d+$/.test(part) ? `[${part}]` : `${at > 0 ? "." : ""}${named(part)}`))
      .join("") + (within.length > 0 ? "." : "")
  );
}

/** A field's name is the client's text: it is quoted, and not shown if it is long or looks like a secret. */
function named(field: string): string {
  if (/^[a-z_]{1,40}[0-9]?$/.test(field)) return field;
  if (field.length > MAX_NAME) return "(a long name)";
  return redacted(field) === field ? JSON.stringify(field) : "(a secret)";
}

/** A key without its padding is longer. */
const MAX_NAME = 40;

function unwanted(field: string, schema: JsonSchema): GatewayError {
  const known = constsIn(schema);
  if (known !== null) return refused("must_be_one_of", { field, ...choiceIn(known) });
  const { type, minimum: min = "any", maximum: max = "any", example, description: about = "none" } = schema;
  switch (schema.anyOf === undefined ? type : "several") {
    case "integer":
      return refused("must_be_integer", { field, min, max });
    case "string":
      if (schema.pattern !== undefined && example !== undefined)
        return refused("must_be_like", { field, example: `${example}`, about });
      return refused((schema.minLength ?? 0) > 0 ? "must_not_be_empty" : "must_be_text", { field });
    case "object":
      return refused("must_be_object", { field });
    case "array":
      return refused("must_be_list", { field });
    default:
      return refused("must_be", { field, reason: wanted(schema) });
  }
}

/** The last of several stands behind a word of the reader's language. */
function choiceIn(known: readonly string[]): { known: string; last: string; count: number } {
  const others = known.length < 2 ? known : known.slice(0, -1);
  return { known: others.join(", "), last: known.at(-1) ?? "", count: known.length };
}

/** The values that a field can have; null if there are others. */
function constsIn(schema: JsonSchema): string[] | null {
  const all = schema.anyOf ?? [schema];
  const known = all.flatMap(({ const: value }) => (value === undefined ? [] : [String(value)]));
  return known.length === all.length ? known : null;
}

function wanted(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return listed(schema.anyOf.map(wanted));
  if (schema.const !== undefined) return String(schema.const);
  switch (schema.type) {
    case "string":
      if (schema.pattern !== undefined && schema.example !== undefined) return patterned(schema);
      return (schema.minLength ?? 0) > 0 ? "a non-empty string" : "a string";
    case "integer":
      return `a whole number${rangeOf(schema)}`;
    case "null":
      return "null";
    case "object":
      return "a JSON object";
    case "array":
      return "a list";
    default:
      return typeof schema.type === "string" ? `of type ${schema.type}` : "of another type";
  }
}

/** Text in a path or a query. The documentation shows the same example and description. */
function patterned({ example, description }: JsonSchema): string {
  return `like ${example}${description === undefined ? "" : ` (${description})`}`;
}

function rangeOf({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined) return "";
  return maximum === undefined ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
