import { Type } from "typebox";
import type { Args } from "./message.ts";

/** The arguments of a sentence on the wire, beside that sentence in English. */
export function argumentsOf(more: string) {
  return Type.Optional(
    Type.Unsafe<Args>(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([Type.String(), Type.Number()]),
          description: `what the sentence is about, by name, to say it in another language; ${more}`,
        },
      ),
    ),
  );
}
