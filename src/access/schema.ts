import { type Static, Type } from "typebox";

const NAME = Type.String({ description: "as the operator has named it", examples: ["phone"] });
const READ_ONLY = Type.Boolean({ description: "whether the token may only read" });

/** GET /api/access. */
export const Access = Type.Object(
  {
    auth: Type.Union([Type.Literal("off"), Type.Literal("write"), Type.Literal("on")], {
      description: "what needs a token: nothing, changes, or everything but `/health`",
    }),
    token: Type.Union(
      [Type.Object({ name: NAME, read_only: READ_ONLY }, { additionalProperties: false }), Type.Null()],
      { description: "the token of this request; null if it has none, or if none is needed" },
    ),
  },
  { additionalProperties: false },
);
export type Access = Static<typeof Access>;

/** A token as the gateway keeps it. */
export const StoredToken = Type.Object(
  {
    name: Type.String(),
    /** SHA-256 of the token, in hexadecimal. */
    hash: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    read_only: Type.Boolean(),
    /** ISO 8601. */
    created_at: Type.String(),
  },
  { additionalProperties: false },
);
export type StoredToken = Static<typeof StoredToken>;

/** The operator's view of a token. */
export type ShownToken = Omit<StoredToken, "hash">;

/** A token that was just made. Its text is shown only this once. */
export type NewToken = ShownToken & { token: string };
