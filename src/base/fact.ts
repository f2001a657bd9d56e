import type { Static, TObject, TSchema } from "typebox";
import { objectOf } from "./object.ts";

/**
 * A fact about the gateway, a tunnel or a device, said once. From its row come the field of an answer with its
 * description, a metric, an entity of Home Assistant, and its line in the tables of `docs/`.
 */
export interface Fact<Source, Schema extends TSchema = TSchema> extends Shown<Schema> {
  /** Undefined if it is missing. */
  of: (source: Source) => Static<Schema> | undefined;
}

/** How a fact is shown. */
export interface Shown<Schema extends TSchema = TSchema> {
  schema: Schema;
  /** Unless the schema has one. */
  description?: string;
  metric?: Metric<Static<Schema> | undefined>;
  entity?: Entity;
  /** It stands in the JSON that Home Assistant gets, without an entity of its own. */
  isAttribute?: true | "quota";
}

/** A metric of Prometheus: a counter if its name ends so, or else a gauge. */
export interface Metric<Value> {
  /** Unless it has that of the fact. */
  name?: string;
  help: string;
  /** Without it, the fact itself is a number, or 1 if it is true. Null for no series. */
  value?(fact: Value): number | null;
  /** Of a fact that has one of these: a series for each, of which one is 1. */
  values?: readonly string[];
  /** Only while the tunnel has a session, with the labels of WireGuard exporters. */
  isOfSession?: true;
}

/** A sensor of Home Assistant, with options in the order in which they are sent. */
export interface Entity {
  /** What it is called in topics, unless by the fact's name; in the topic `state`, its field is called so too. */
  key?: string;
  name: string;
  /** The topic that it reads, unless it is `state`. */
  from?: "traffic" | "quota" | "dns";
  /** Unless it is the field. */
  value_template?: string;
  /** Whether the rest of the JSON is shown as attributes. */
  attributes?: true;
  device_class?: string;
  state_class?: "measurement" | "total_increasing";
  unit_of_measurement?: string;
  entity_category?: "diagnostic";
  icon?: string;
  options?: readonly string[];
}

export type Rows = Readonly<Record<string, Shown>>;

/** Rows that the compiler holds to their schemas. */
export function facts<Source>() {
  return <Schemas extends Record<string, TSchema>>(
    rows: {
      readonly [Name in keyof Schemas]: Fact<Source, Schemas[Name]>;
    },
  ) => rows;
}

/** The schema of an answer that has these facts. */
export function schemaOf<Facts extends Rows>(
  rows: Facts,
): TObject<{ -readonly [Name in keyof Facts]: Facts[Name]["schema"] }> {
  const schemas = Object.entries(rows).map(([name, row]) => [name, describedSchema(row)]);
  return objectOf(Object.fromEntries(schemas));
}

/** What TypeBox knows of a schema is in properties that a spread leaves out. */
function describedSchema({ schema, description }: Shown): TSchema {
  if (description === undefined) return schema;
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
  return Object.assign(copy, { description });
}

/** The facts as an answer has them. */
export function answerOf<Source, Facts extends Readonly<Record<string, Fact<Source>>>>(
  rows: Facts,
  source: Source,
): Static<ReturnType<typeof schemaOf<Facts>>> {
  const answer: Record<string, unknown> = {};
  // Many times faster than by entries: there can be 1,500 devices, and a turn of the event loop has 20 ms.
  for (const name in rows) {
    const value = rows[name]?.of(source);
    if (value !== undefined) answer[name] = value;
  }
  return answer as never;
}

/** The rows with these first: what follows them is in the order of the rows. */
export function inOrder<Facts extends object>(rows: Facts, first: readonly (keyof Facts)[]): Facts {
  const names = [...first, ...(Object.keys(rows) as (keyof Facts)[])];
  return Object.fromEntries(names.map((name) => [name, rows[name]])) as Facts;
}
