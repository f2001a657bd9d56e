import {
  type TLiteral,
  type TLiteralValue,
  type TSchema,
  type TSchemaOptions,
  type TUnion,
  Type,
} from "typebox";

type Literals<Values extends readonly TLiteralValue[]> = {
  -readonly [At in keyof Values]: TLiteral<Values[At]>;
};

/** The schema of one of these values. */
export function enumOf<const Values extends readonly TLiteralValue[]>(
  values: Values,
  options: TSchemaOptions = {},
): TUnion<Literals<Values>> {
  const literals = values.map((each) => Type.Literal(each));
  return Type.Union(literals, options) as TSchema as TUnion<Literals<Values>>;
}
