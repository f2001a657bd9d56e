import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import type { Args } from "../base/message.ts";
import { objectOf } from "../base/object.ts";

/** The result of one check. */
export const Check = objectOf({
  id: Type.String({ description: "for programs; does not change", examples: ["clock"] }),
  title: Type.String({ examples: ["Clock"] }),
  result: enumOf(["ok", "warning", "fault"]),
  code: Type.String({ description: "which sentence `found` is, for programs", examples: ["clock_behind"] }),
  args: Type.Unsafe<Args>(
    Type.Object(
      {},
      {
        additionalProperties: Type.Union([Type.String(), Type.Number()]),
        description:
          "what `found` and `advice` are about, by name, to say them in another language; a `reason` is in English",
      },
    ),
  ),
  found: Type.String({ description: "what was found, for people" }),
  advice: Type.Union([Type.String(), Type.Null()], {
    description: "what to do about it; null if nothing needs to be done",
  }),
  because_of: Type.Optional(
    Type.String({ description: "the `id` of the fault that this one follows from: repair that first" }),
  ),
});
export type Check = Static<typeof Check>;

/** GET /api/checks. */
export const Checks = objectOf({
  checks: Type.Array(Check),
  checked_at: Type.String({ description: "ISO 8601" }),
});
export type Checks = Static<typeof Checks>;
