import { type Static, Type } from "typebox";

/** The result of one check. */
export const Check = Type.Object(
  {
    id: Type.String({ description: "for programs; does not change", examples: ["clock"] }),
    title: Type.String({ examples: ["Clock"] }),
    result: Type.Union([Type.Literal("ok"), Type.Literal("warning"), Type.Literal("fault")]),
    found: Type.String({ description: "what was found, for people" }),
    advice: Type.Union([Type.String(), Type.Null()], {
      description: "what to do about it; null if nothing needs to be done",
    }),
    because_of: Type.Optional(
      Type.String({ description: "the `id` of the fault that this one follows from: repair that first" }),
    ),
  },
  { additionalProperties: false },
);
export type Check = Static<typeof Check>;

/** GET /api/checks. */
export const Checks = Type.Object(
  {
    checks: Type.Array(Check),
    checked_at: Type.String({ description: "ISO 8601" }),
  },
  { additionalProperties: false },
);
export type Checks = Static<typeof Checks>;
