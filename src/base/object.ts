import { type TObject, type TObjectOptions, type TProperties, Type } from "typebox";

/** The schema of an object with these fields and no others. */
export function objectOf<Fields extends TProperties>(
  fields: Fields,
  options: TObjectOptions = {},
): TObject<Fields> {
  return Type.Object(fields, { additionalProperties: false, ...options });
}
