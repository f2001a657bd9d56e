import type { TSchema } from "typebox";
import { SCHEMAS } from "./schema-names.ts";

type Made = Record<string, unknown>;

const NAMED: Record<string, TSchema> = SCHEMAS;

/**
 * Schemas as the document has them: what has a name is a reference. It is found by its content, because TypeBox copies
 * what becomes optional or gets a description of its own.
 */
export class Components {
  private readonly used = new Map<string, Made>();
  private readonly names = new Map(Object.entries(NAMED).map(([name, schema]) => [keyOf(schema), name]));

  /** Those that were referred to, in the order of the list. */
  get schemas(): Record<string, Made> {
    const order = Object.keys(NAMED);
    return Object.fromEntries(
      [...this.used].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other)),
    );
  }

  nameOf(schema: TSchema): string | undefined {
    return this.names.get(keyOf(schema));
  }

  of(schema: TSchema): Made {
    const name = this.nameOf(schema);
    if (name === undefined) return this.inline(schema as Made);
    const named = NAMED[name] as Made;
    if (!this.used.has(name)) this.used.set(name, this.inline(named));
    const { description } = schema as Made;
    return { $ref: refTo(name), ...(description !== named.description && { description }) };
  }

  private inline(schema: Made): Made {
    const { anyOf, ...rest } = schema;
    const made: Made = Array.isArray(anyOf) ? this.union(anyOf) : {};
    for (const [keyword, value] of Object.entries(rest))
      made[keyword] = KEYED.has(keyword)
        ? Object.fromEntries(Object.entries(value as object).map(([key, each]) => [key, this.of(each)]))
        : keyword === "items"
          ? this.of(value as TSchema)
          : value;
    return made;
  }

  /** Words as one `enum`: for a union of constants, many generators make a type for each. */
  private union(members: readonly Made[]): Made {
    const words = members.filter(isWord).map((each) => each.const);
    const others = members.filter((each) => !isWord(each)).map((each) => this.of(each));
    const all = words.length === 0 ? others : [{ type: "string", enum: words }, ...others];
    return all.length === 1 ? { ...all[0] } : { anyOf: all };
  }
}

/** Keywords with a schema for each key. */
const KEYED: ReadonlySet<string> = new Set(["properties", "patternProperties"]);

export function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}

function isWord(schema: Made): boolean {
  return schema.type === "string" && "const" in schema && Object.keys(schema).length === 2;
}

/** What a schema permits: the same for copies with another description. */
function keyOf(schema: TSchema): string {
  const key = KEYS.get(schema) ?? JSON.stringify({ ...schema, ...SAID });
  KEYS.set(schema, key);
  return key;
}
const KEYS = new WeakMap<TSchema, string>();
const SAID = { description: undefined, examples: undefined, example: undefined };
